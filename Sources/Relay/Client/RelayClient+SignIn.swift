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

    /// Uses these credentials for the session that begins, or for the next dial of one that runs for the same user.
    ///
    /// - Throws: ``RelayError/notInitialized`` before the servers are known, ``RelayError/alreadyConnected`` while a
    ///   session of another user runs.
    public func use(_ credentials: RelayCredentials) throws(RelayError) {
        guard settings.withLockedValue(\.isPrepared) else { throw .notInitialized }
        switch status.state {
        case .initialized, .disconnected: break
        case .connecting, .connected, .reconnecting, .suspended:
            guard credentials.user == user else { throw .alreadyConnected }
        }
        if credentials.user != user { namespace = configuration.namespace }
        settings.withLockedValue { settings in
            if let user = credentials.user { settings.configuration.user = user }
            settings.configuration.credentials = credentials
        }
    }
}
