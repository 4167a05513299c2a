/// Returns when `condition` holds, which is looked at every 5 ms.
///
/// For what cannot be awaited otherwise: a file that another program writes, a count on a server. The deadline is there
/// for what never comes: a machine that has much else to do may take many seconds for what it does in no time. For the
/// same reason no look counts for more than a second: where a thousand tests have just begun, this one's next turn may
/// be long in coming, and so is that of what it waits for.
///
/// - Throws: `TestFailure` at the deadline; what `condition` throws.
public func eventually(
    _ what: String = "the condition", deadline: Duration = .seconds(60), isolation: isolated (any Actor)? = #isolation,
    fileID: String = #fileID, line: Int = #line, _ condition: () async throws -> Bool
) async throws {
    var waited = Duration.zero
    while true {
        let began = ContinuousClock.now
        if try await condition() { return }
        guard waited < deadline else {
            throw TestFailure("\(what) did not come within \(deadline)", fileID: fileID, line: line)
        }
        try await ContinuousClock().sleep(for: .milliseconds(5))
        waited += min(began.duration(to: .now), .seconds(1))
    }
}
