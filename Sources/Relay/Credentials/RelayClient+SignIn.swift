import NATS

// The user and the credentials that the client connects with.
extension RelayClient {
    /// Opens the store and connects. The client may be released meanwhile, which ends the attempt.
    ///
    /// - Parameters:
    ///   - opened: called once, before the network is touched, unless the token is refused unseen.
    ///   - completed: called exactly once, after `opened`.
    nonisolated func connect(
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
    /// an earlier user's session left in the outbox is discarded; with a local store in a file, ``notSent()`` lists it.
    ///
    /// - Throws: ``RelayError/notInitialized`` before the servers are known, ``RelayError/alreadyConnected`` while a
    ///   session of another user runs.
    public func use(_ credentials: RelayCredentials) throws(RelayError) {
        guard settings.withLockedValue(\.isPrepared) else { throw .notInitialized }
        let change = signIn.use(credentials, mayChangeUser: !hasSession)
        guard change != .refused else { throw .alreadyConnected }
        identityChanged(change)
        applyPolicy()
        // A session that waits for its provider has what it waits for.
        handle(.credentialsRenewed(generation: generation))
    }

    /// The request for the first credentials; nil when there are some already.
    func missingCredentials() -> SignIn.TokenRequest? { signIn.credentials.isMissing ? askProvider() : nil }

    /// Asks the provider once; the machine counts.
    func renewCredentials(_ generation: UInt64) {
        guard let tokenRequest = askProvider() else { return handle(.credentialsUnavailable(generation: generation)) }
        renewal?.cancel()
        renewal = Task { [weak self, limits, surroundings] in
            let isRenewed = await tokenRequest.wait(limits.provider, surroundings.clock)
            guard !Task.isCancelled else { return }
            await self?.handle(
                isRenewed
                    ? .credentialsRenewed(generation: generation) : .credentialsUnavailable(generation: generation))
        }
    }

    /// Asks the provider, unless it is being asked already; nil without a provider.
    private func askProvider() -> SignIn.TokenRequest? {
        if let tokenRequest = signIn.tokenRequest { return tokenRequest }
        guard let provider = signIn.credentials.provider else { return nil }
        let epoch = signIn.epoch
        let answer = Task { [weak self] in
            let credentials = try? await provider()
            return await self?.providerAnswered(credentials, epoch: epoch) ?? false
        }
        let tokenRequest = SignIn.TokenRequest(answer: answer, epoch: epoch)
        signIn.asked(tokenRequest)
        return tokenRequest
    }

    /// - Returns: whether the call has brought other credentials than there were before it.
    private func providerAnswered(_ credentials: RelayCredentials?, epoch: UInt64) -> Bool {
        guard let change = signIn.answered(credentials, epoch: epoch), change != .refused else { return false }
        identityChanged(change)
        return true
    }

    private func identityChanged(_ change: SignIn.Change) {
        if change == .firstUser || change == .otherUser {
            namespace = configuration.namespace
            // What one user wrote is never sent as another.
            if change == .otherUser { publisher.discardAll() }
        }
        settings.withLockedValue { [signIn] settings in
            settings.configuration.user = signIn.user
            settings.configuration.credentials = signIn.credentials
        }
        if change != .sameUser, let user = signIn.user { signLines(as: user) }
    }
}
