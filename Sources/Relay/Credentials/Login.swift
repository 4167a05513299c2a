import NATS

/// The user, the credentials and the exclusive session of a client: drives ``SignIn``, ``SessionClaim`` and
/// ``ControlVerifier``. Belongs to the client's isolation.
final class Login {
    private var signIn: SignIn
    /// The exclusive session; nil where sessions are shared.
    private(set) var claim: SessionClaim?
    private var verifier = ControlVerifier()
    /// The call of the token provider, which tells whether it has brought other credentials.
    private(set) var request: Task<Bool, Never>?
    /// Waits for the provider after a refusal.
    private var renewal: Task<Void, Never>?

    init(_ configuration: RelayConfiguration) {
        signIn = SignIn(configuration)
        claim = SessionClaim(configuration)
    }

    deinit {
        renewal?.cancel()
        request?.cancel()
    }

    /// Whether there is a provider to ask for other credentials.
    var hasProvider: Bool { signIn.credentials.provider != nil }

    /// Whether dialling is of no use before the token provider has given another token.
    func isExpired(at now: Int64) -> Bool { signIn.isExpired(at: now) }

    /// Takes in credentials that the application gives.
    ///
    /// - Returns: whether they may be taken now.
    func use(_ credentials: RelayCredentials, for client: isolated RelayClient) -> Bool {
        handle(.given(credentials, hasSession: client.connection.hasSession), for: client)
    }

    /// A dial or a connection has failed.
    ///
    /// - Returns: the reason as the token itself explains it.
    func explained(_ reason: ConnectionReason, at now: Int64) -> ConnectionReason {
        _ = signIn.handle(.failed(reason))
        return signIn.explained(reason, at: now)
    }

    // MARK: The token provider

    /// The request for the first credentials; nil when there are some already.
    func missingCredentials(for client: isolated RelayClient) -> Task<Bool, Never>? {
        signIn.credentials.isMissing ? askProvider(for: client) : nil
    }

    /// Asks the provider once; the connection's machine counts.
    func renewCredentials(generation: UInt64, for client: isolated RelayClient) {
        renewal?.cancel()
        guard let request = askProvider(for: client) else {
            return client.connection.handle(.credentialsUnavailable(generation: generation), for: client)
        }
        renewal = Self.renewing(by: request, generation: generation, for: client)
    }

    private static func renewing(
        by request: Task<Bool, Never>, generation: UInt64, for client: RelayClient
    ) -> Task<Void, Never> {
        let (limit, clock) = (client.limits.provider, client.surroundings.clock)
        return Task { [weak client] in
            let isRenewed = await answer(of: request, within: limit, clock)
            guard !Task.isCancelled else { return }
            let event: ConnectionMachine.Event =
                isRenewed
                ? .credentialsRenewed(generation: generation) : .credentialsUnavailable(generation: generation)
            await client?.run { $0.connection.handle(event, for: $0) }
        }
    }

    /// Waits for a request's answer; false when the provider takes longer than the limit, which cancels the call.
    static func answer(
        of request: Task<Bool, Never>, within limit: Duration, _ clock: any Timekeeper
    ) async -> Bool {
        if let answer = await within(limit, clock, { await request.value }) { return answer }
        if !Task.isCancelled { request.cancel() }
        return false
    }

    /// Asks the provider, unless it is being asked already; nil without a provider.
    private func askProvider(for client: isolated RelayClient) -> Task<Bool, Never>? {
        switch signIn.ask() {
        case .wait: break
        case .none: return nil
        case .ask(let provider, let epoch): request = Self.asking(provider, epoch, for: client)
        }
        return request
    }

    private static func asking(
        _ provider: @escaping RelayCredentials.Provider, _ epoch: UInt64, for client: RelayClient
    ) -> Task<Bool, Never> {
        Task { [weak client] in
            let credentials = try? await provider()
            return await client?.run { $0.login.handle(.answered(credentials, epoch: epoch), for: $0) } ?? false
        }
    }

    /// - Returns: whether anything was to be done.
    @discardableResult
    private func handle(_ event: SignIn.Event, for client: isolated RelayClient) -> Bool {
        let actions = signIn.handle(event)
        for action in actions {
            switch action {
            case .cancelRequest: request?.cancel()
            case .forgetNames: client.userChanged()
            case .discardOutbox: client.publisher.discardAll()
            case .adopt(let credentials, let user):
                client.settings.withLockedValue { settings in
                    settings.configuration.user = user
                    settings.configuration.credentials = credentials
                }
            case .signLines(let user): client.signLines(as: user)
            }
        }
        return !actions.isEmpty
    }

    // MARK: The exclusive session, and the administrator

    /// This client holds the exclusive session, with this revision of its entry.
    func sessionWritten(_ revision: UInt64) { claim?.wrote(revision) }

    /// The entry of the user's exclusive session has changed.
    func sessionChanged(to holder: SessionClaim.Holder?, revision: UInt64, for client: isolated RelayClient) {
        if let device = claim?.changed(to: holder, revision: revision) { end(.kickedByOtherDevice(device), client) }
    }

    /// Another device has the session that this one came to take.
    func sessionIsHeld(by device: String, for client: isolated RelayClient) {
        _ = claim?.release()
        end(.kickedByOtherDevice(device), client)
    }

    /// Gives the exclusive session up.
    ///
    /// - Returns: the entry to be deleted; nil if this client holds none.
    func release() -> SessionClaim? { claim?.release() }

    /// The administrator has said something to this user.
    func heardControl(_ bytes: [UInt8], for user: String, of client: isolated RelayClient) {
        let now = client.surroundings.clock.secondsSince1970
        let credentials = signIn.credentials
        let reason = verifier.reason(
            in: bytes, for: user, issuers: credentials.issuers, at: now, key: credentials.key)
        if let reason { end(reason, client) }
    }

    /// The network's service keeps this user out, and has signed why.
    ///
    /// - Returns: whether that was believed, and has ended the session.
    func heardRefusal(_ proof: String, for client: isolated RelayClient) -> Bool {
        guard let user = signIn.credentials.user else { return false }
        let reason = ControlVerifier.reason(ofRefusal: proof, for: user, issuers: signIn.credentials.issuers)
        if let reason { end(reason, client) }
        return !client.connection.hasSession
    }

    private func end(_ reason: ConnectionReason, _ client: isolated RelayClient) {
        let generation = client.connection.generation
        client.connection.handle(.serverControl(generation: generation, reason: reason), for: client)
    }
}

extension RelayClient {
    /// Uses these credentials for the session that begins, or for the next dial of one that runs for the same user.
    /// What an earlier user's session left in the outbox is discarded; with a local store in a file, ``notSent()``
    /// lists it.
    ///
    /// - Throws: ``RelayError/notInitialized`` before the servers are known, ``RelayError/alreadyConnected`` while a
    ///   session of another user runs.
    public func use(_ credentials: RelayCredentials) throws(RelayError) {
        guard settings.withLockedValue(\.isPrepared) else { throw .notInitialized }
        guard login.use(credentials, for: self) else { throw .alreadyConnected }
        applyPolicy()
        // A session that waits for its provider has what it waits for.
        connection.handle(.credentialsRenewed(generation: connection.generation), for: self)
    }

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
                if let error = RelayError(await waiter.value()) { throw error }
                completed(.success(self?.user ?? ""))
            } catch {
                completed(.failure(error))
            }
        }
    }

    private func beginSigningIn(token: String, timeLimit: Int) throws(RelayError) -> Completion<ConnectOutcome> {
        let credentials = try RelayCredentials.accessToken(token)
        // The caller is told who has signed in.
        if credentials.user == nil, configuration.user == nil, let name = credentials.statedName {
            throw .invalidArgument(
                "The token is for “\(name.prefix(64))”, which cannot be a user's name: that has 1 to 64 letters, digits, "
                    + "and characters such as + = - _")
        }
        try use(credentials)
        return try startConnecting(within: Self.limit(timeLimit)).outcome
    }
}
