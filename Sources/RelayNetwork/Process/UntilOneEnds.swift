/// Runs all of these until one of them ends, and cancels the others then. All have ended when this returns.
/// - Returns: what the first one returned; nil where there are none.
/// - Throws: what the first one threw.
func untilOneEnds<R: Sendable>(_ works: (@Sendable () async throws -> R)...) async throws(NetworkError) -> R? {
    try await withTaskGroup(of: Result<R, NetworkError>.self) { group in
        for work in works {
            group.addTask {
                do { return .success(try await work()) } catch { return .failure(NetworkError(error)) }
            }
        }
        let first = await group.next()
        group.cancelAll()
        await group.waitForAll()
        return first
    }?.get()
}
