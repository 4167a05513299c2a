import NATS

/// A client's user, credentials and exclusive session: drives ``SignIn``, ``SessionClaim`` and ``ControlVerifier``.
/// Belongs to the client's isolation.
final class Login {
    private var signIn: SignIn
    /// The exclusive session; nil if sessions are shared.
    private(set) var claim: SessionClaim?
    private var verifier = ControlVerifier()
    /// Whether the administrator ended this user's session and no other has begun: only the network's own answer then
    /// says whether one may.
    private(set) var isPutOut = false
    /// The call of the token provider, which returns whether it brought other credentials.
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

    /// Accepts credentials from the application.
    ///
    /// - Returns: Whether they can be accepted now.
    func use(_ credentials: RelayCredentials, for client: isolated RelayClient) -> Bool {
        carryOut(signIn.given(credentials, hasSession: client.connection.hasSession), for: client)
    }

    /// A dial or a connection has failed.
    ///
    /// - Returns: The reason as the token itself explains it, and whether the next dial needs another token.
    func failed(
        _ reason: ConnectionReason, for client: isolated RelayClient
    ) -> (reason: ConnectionReason, needsCredentials: Bool) {
        let clock = client.surroundings.clock
        return (signIn.explained(reason, at: clock.secondsSince1970), signIn.needsToken(after: reason, at: clock.now))
    }

    func statusChanged(to status: ConnectionStatus, for client: isolated RelayClient) {
        let isConnected = status.state == .connected
        if isConnected { isPutOut = false }
        signIn.connectionChanged(isConnected: isConnected, at: client.surroundings.clock.now)
    }

    func sessionEnded() { signIn.sessionEnded() }

    // MARK: The token provider

    /// Makes sure that there are credentials for a dial.
    ///
    /// - Throws: The reason why dialling is useless before the token provider has returned some.
    static func prepare(for link: LiveLink) async throws(ConnectionReason) {
        let clock = link.surroundings.clock
        guard let limit = await link.inOwner({ $0.login.signIn.policy.timeout }) else { return }
        if let request = await link.inOwner({ $0.login.missingCredentials(for: $0) }) ?? nil,
            await !answer(of: request, within: limit, clock)
        {
            throw .invalidCredentials("the token provider gave none")
        }
        if await link.inOwner({ $0.login.signIn.isExpired(at: clock.secondsSince1970) }) == true {
            throw .tokenExpired
        }
    }

    /// The request for the first credentials; nil if there are some already.
    private func missingCredentials(for client: isolated RelayClient) -> Task<Bool, Never>? {
        signIn.credentials.isMissing ? askProvider(for: client) : nil
    }

    func renewCredentials(generation: UInt64, for client: isolated RelayClient) {
        renewal?.cancel()
        guard let request = askProvider(for: client) else {
            return client.connection.handle(.credentialsUnavailable(generation: generation), for: client)
        }
        renewal = Self.renewing(by: request, within: signIn.policy.timeout, generation: generation, for: client)
    }

    private static func renewing(
        by request: Task<Bool, Never>, within limit: Duration, generation: UInt64, for client: RelayClient
    ) -> Task<Void, Never> {
        let clock = client.surroundings.clock
        return Task { [weak client] in
            let isRenewed = await answer(of: request, within: limit, clock)
            guard !Task.isCancelled else { return }
            let event: ConnectionMachine.Event =
                isRenewed
                ? .credentialsRenewed(generation: generation) : .credentialsUnavailable(generation: generation)
            await client?.run { $0.connection.handle(event, for: $0) }
        }
    }

    /// Waits for a request's answer; false if the provider takes longer than the limit, which cancels the call.
    private static func answer(
        of request: Task<Bool, Never>, within limit: Duration, _ clock: any Timekeeper
    ) async -> Bool {
        if let answer = await within(limit, clock, { await request.value }) { return answer }
        if !Task.isCancelled { request.cancel() }
        return false
    }

    /// Asks the provider unless it is being asked already; nil without a provider.
    private func askProvider(for client: isolated RelayClient) -> Task<Bool, Never>? {
        if signIn.isAsking { return request }
        guard let (provider, epoch) = signIn.ask() else { return nil }
        request = Self.asking(provider, epoch, for: client)
        return request
    }

    private static func asking(
        _ provider: @escaping RelayCredentials.Provider, _ epoch: UInt64, for client: RelayClient
    ) -> Task<Bool, Never> {
        Task { [weak client] in
            let credentials = try? await provider()
            return await client?.run {
                $0.login.carryOut($0.login.signIn.answered(credentials, epoch: epoch), for: $0)
            } ?? false
        }
    }

    /// - Returns: Whether there was a change.
    private func carryOut(_ change: SignIn.Change?, for client: isolated RelayClient) -> Bool {
        guard let change else { return false }
        if change.cancelsRequest { request?.cancel() }
        if change.isOtherUser {
            isPutOut = false
            client.userChanged()
        }
        if change.discardsOutbox { client.publisher.discardAll() }
        client.settings.withLockedValue { settings in
            settings.configuration.user = signIn.user
            settings.configuration.credentials = signIn.credentials
        }
        if change.isOtherUser, let user = signIn.user { client.signLines(as: user) }
        return true
    }

    // MARK: The exclusive session, and the administrator

    /// This client holds the exclusive session, with this revision of its entry.
    func sessionWritten(_ revision: UInt64) { claim?.wrote(revision) }

    /// The entry of the user's exclusive session has changed.
    func sessionChanged(to holder: SessionClaim.Holder?, revision: UInt64, for client: isolated RelayClient) {
        if let device = claim?.changed(to: holder, revision: revision) { end(.kickedByOtherDevice(device), client) }
    }

    /// Another device has the session that this one tried to claim.
    func sessionIsHeld(by device: String, for client: isolated RelayClient) {
        _ = claim?.release()
        end(.kickedByOtherDevice(device), client)
    }

    /// Gives up the exclusive session.
    ///
    /// - Returns: The entry to delete; nil if this client holds none.
    func release() -> SessionClaim? { claim?.release() }

    /// The administrator has sent a message to this user.
    func heardControl(_ bytes: [UInt8], for user: String, of client: isolated RelayClient) {
        let now = client.surroundings.clock.secondsSince1970
        let credentials = signIn.credentials
        let reason = verifier.reason(in: bytes, for: user, issuers: credentials.issuers, at: now, key: credentials.key)
        if let reason { putOut(reason, client) }
    }

    /// The network's service rejects this user, with a signed reason.
    ///
    /// - Returns: Whether the proof was valid and has ended the session.
    func heardRefusal(_ proof: String, for client: isolated RelayClient) -> Bool {
        guard let user = signIn.credentials.user else { return false }
        let reason = ControlVerifier.reason(ofRefusal: proof, for: user, issuers: signIn.credentials.issuers)
        if let reason { putOut(reason, client) }
        return !client.connection.hasSession
    }

    private func putOut(_ reason: ConnectionReason, _ client: isolated RelayClient) {
        isPutOut = reason.isFinal
        end(reason, client)
    }

    private func end(_ reason: ConnectionReason, _ client: isolated RelayClient) {
        let generation = client.connection.generation
        let event: ConnectionMachine.Event =
            signIn.needsToken(after: reason, at: client.surroundings.clock.now)
            ? .credentialsNeeded(generation: generation, reason: reason)
            : .serverControl(generation: generation, reason: reason)
        client.connection.handle(event, for: client)
    }
}

extension RelayClient {
    /// Uses these credentials for the next session, or for the next dial of a running session of the same user.
    /// Messages that an earlier user's session left in the outbox are discarded; with a local store in a file,
    /// ``notSent()`` lists them.
    ///
    /// - Throws: ``RelayError/notInitialized`` before the servers are known, ``RelayError/alreadyConnected`` during a
    ///   session of another user.
    public func use(_ credentials: RelayCredentials) throws(RelayError) {
        guard settings.withLockedValue(\.isPrepared) else { throw .notInitialized }
        guard login.use(credentials, for: self) else { throw .alreadyConnected }
        // A session that waits for its provider can continue.
        connection.handle(.credentialsRenewed(generation: connection.generation), for: self)
    }
}
