import Relay

extension RelayClient {
    /// Runs the body until it returns. A session that ends meanwhile ends it too: a kick or a ban, say.
    ///
    /// - Throws: what the body throws, or ``RelayError/connection(_:)`` with the reason of the session's end.
    nonisolated func whileInSession(_ body: @escaping @Sendable () async throws -> Void) async throws {
        do {
            try await race(body)
        } catch {
            // What was under way fails with the connection; why the session ended says more.
            guard status.state == .disconnected, let reason = status.reason else { throw error }
            throw RelayError.connection(reason)
        }
    }

    private nonisolated func race(_ body: @escaping @Sendable () async throws -> Void) async throws {
        let statuses = statuses
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await body() }
            group.addTask {
                for await status in statuses where status.state == .disconnected {
                    throw RelayError.connection(status.reason ?? .closedByUser)
                }
            }
            defer { group.cancelAll() }
            _ = try await group.next()
        }
    }
}
