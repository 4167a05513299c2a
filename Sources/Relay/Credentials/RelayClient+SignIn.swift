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
        let credentials = try RelayCredentials.accessToken(token)
        // The caller is told who has signed in.
        if credentials.user == nil, configuration.user == nil, let name = credentials.statedName {
            throw .invalidArgument(
                "The token is for “\(name.prefix(64))”, which cannot be a user's name: that has 1 to 64 letters, digits, "
                    + "and characters such as + = - _")
        }
        try use(credentials)
        return try startConnecting(within: Self.limit(timeLimit)).waiter
    }

    /// Uses these credentials for the session that begins, or for the next dial of one that runs for the same user.
    /// What an earlier user's session left in the outbox is discarded; with a local store in a file, ``notSent()``
    /// lists it.
    ///
    /// - Throws: ``RelayError/notInitialized`` before the servers are known, ``RelayError/alreadyConnected`` while a
    ///   session of another user runs.
    public func use(_ credentials: RelayCredentials) throws(RelayError) {
        guard settings.withLockedValue(\.isPrepared) else { throw .notInitialized }
        guard handleSignIn(.given(credentials, hasSession: hasSession)) else { throw .alreadyConnected }
        applyPolicy()
        // A session that waits for its provider has what it waits for.
        handle(.credentialsRenewed(generation: generation))
    }

    /// The request for the first credentials; nil when there are some already.
    func missingCredentials() -> SignIn.TokenRequest? {
        configuration.credentials.isMissing ? askProvider() : nil
    }

    /// Asks the provider once; the machine counts.
    ///
    /// - Returns: what waits for its answer; nil where there is nobody to ask.
    func renewCredentials(_ generation: UInt64) -> Task<Void, Never>? {
        guard let tokenRequest = askProvider() else {
            handle(.credentialsUnavailable(generation: generation))
            return nil
        }
        return Task { [weak self, limits, surroundings] in
            let isRenewed = await tokenRequest.wait(limits.provider, surroundings.clock)
            guard !Task.isCancelled else { return }
            await self?.handle(
                isRenewed
                    ? .credentialsRenewed(generation: generation) : .credentialsUnavailable(generation: generation))
        }
    }

    /// Asks the provider, unless it is being asked already; nil without a provider.
    private func askProvider() -> SignIn.TokenRequest? {
        switch tokenSupply {
        case .asked(let tokenRequest): return tokenRequest
        case .nobody: return nil
        case .ask(let provider, let epoch):
            let answer = Task { [weak self] in
                let credentials = try? await provider()
                return await self?.handleSignIn(.answered(credentials, epoch: epoch)) ?? false
            }
            let tokenRequest = SignIn.TokenRequest(answer: answer, epoch: epoch)
            handleSignIn(.asked(tokenRequest))
            return tokenRequest
        }
    }

    /// Carries out what other credentials bring.
    func perform(_ action: SignIn.Action) {
        switch action {
        case .cancel(let tokenRequest): tokenRequest.answer.cancel()
        case .forgetNames:
            leftConsumers.forget()
            subscriptions.handle(.userChanged(configuration.namespace), for: self)
        case .discardOutbox: publisher.discardAll()
        case .adopt(let credentials, let user):
            settings.withLockedValue { settings in
                settings.configuration.user = user
                settings.configuration.credentials = credentials
            }
        case .signLines(let user): signLines(as: user)
        }
    }
}
