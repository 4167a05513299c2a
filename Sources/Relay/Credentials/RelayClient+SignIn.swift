import NATS

// Connecting as whom a token names, with callbacks.
extension RelayClient {
    /// Opens the store and connects. The client may be released meanwhile, which ends the attempt.
    ///
    /// - Parameters:
    ///   - opened: called once, before the network is touched, unless the token is refused unseen.
    ///   - completed: called exactly once, after `opened`.
    nonisolated func signIn(
        token: String, timeLimit: Int, opened: @escaping @Sendable (LocalStore.Opening) -> Void,
        completed: @escaping @Sendable (Result<String, RelayError>) -> Void
    ) {
        let openings = storeOpenings
        Task { [weak self] in
            do throws(RelayError) {
                guard let waiter = try await self?.beginSigningIn(token: token, timeLimit: timeLimit) else {
                    throw .cancelled
                }
                for await opening in openings {
                    opened(opening)
                    break
                }
                if let error = await waiter.value() { throw error }
                completed(.success(self?.user ?? ""))
            } catch {
                completed(.failure(error))
            }
        }
    }

    private func beginSigningIn(token: String, timeLimit: Int) throws(RelayError) -> Completion<RelayError?> {
        try use(.accessToken(token))
        return try startConnecting(timeLimit: timeLimit).waiter
    }

    /// Uses these credentials for the session that begins, or for the next dial of one that runs for the same user. What
    /// an earlier user's session left in the outbox is discarded.
    ///
    /// - Throws: ``RelayError/notInitialized`` before the servers are known, ``RelayError/alreadyConnected`` while a
    ///   session of another user runs.
    public func use(_ credentials: RelayCredentials) throws(RelayError) {
        guard settings.withLockedValue(\.isPrepared) else { throw .notInitialized }
        let hasSession = machine.status.state != .initialized && machine.status.state != .disconnected
        guard replaceCredentials(credentials, mayChangeUser: !hasSession) else { throw .alreadyConnected }
        credentialsEpoch += 1
        question?.answer.cancel()
        question = nil
        hasUnrefusedToken = false
        applyPolicy()
        // A session that waits for its provider has what it waits for.
        handle(.credentialsRenewed(generation: machine.generation))
    }
}
