/// Returns when `condition` holds, which is looked at every 5 ms.
///
/// For what cannot be awaited otherwise: a file that another program writes, a count on a server.
///
/// The deadline is one of time in which this process ran: a look that comes late, since others had the processors, counts
/// as ``usualLook`` however late it is. So a crowd of tests does not use up the time of what one of them waits for.
///
/// - Throws: `TestFailure` at the deadline; what `condition` throws.
public func eventually(
    _ what: String = "the condition", deadline: Duration = .seconds(20), isolation: isolated (any Actor)? = #isolation,
    fileID: String = #fileID, line: Int = #line, _ condition: () async throws -> Bool
) async throws {
    var left = deadline
    var last = ContinuousClock.now
    while true {
        if try await condition() { return }
        guard left > .zero else {
            throw TestFailure("\(what) did not come within \(deadline)", fileID: fileID, line: line)
        }
        try await ContinuousClock().sleep(for: .milliseconds(5))
        let now = ContinuousClock.now
        left -= min(now - last, usualLook)
        last = now
    }
}

/// What a look and the pause before it take at most where the processors are free.
private let usualLook = Duration.milliseconds(25)
