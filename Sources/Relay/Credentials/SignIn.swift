/// When a token provider is asked for another token, and for how long.
///
/// It is asked before the first dial without a token, before a dial with one that has expired by the local clock, and
/// after the server has refused one or the administrator has revoked it.
public struct TokenRenewalPolicy: Hashable, Sendable {
    /// How many times in a row it is asked because a token expired or was refused, before the session ends. A
    /// connection that lasts ``ReconnectPolicy/stableAfter`` resets the count, and so does a new session.
    public var attempts: Int
    /// The time limit of one answer.
    public var timeout: Duration

    /// Creates a policy.
    public init(attempts: Int = 2, timeout: Duration = .seconds(30)) {
        self.attempts = attempts
        self.timeout = timeout
    }
}

/// The user and credentials of the next dial, and the request to the token provider, as a pure value.
struct SignIn: Sendable {
    /// What the driver must do after other credentials were accepted, which ``credentials`` and ``user`` then are.
    struct Change: Sendable {
        /// Whether to cancel the call of the provider, which is no longer needed.
        var cancelsRequest = false
        /// Whether to forget another user's names of the network's topics, and to sign the lines that wait for a name.
        var isOtherUser = false
        /// Whether to discard queued messages: one user's messages are never sent as another's.
        var discardsOutbox = false
    }

    let policy: TokenRenewalPolicy
    private(set) var credentials: RelayCredentials
    /// The user's name; nil if neither the credentials nor the configuration contain it.
    private(set) var user: String?
    /// The epoch of the credentials that the provider is being asked to replace; nil while it is not asked.
    private var request: UInt64?
    /// The number of times that the application gave credentials.
    private var epoch: UInt64 = 0
    /// Whether the provider's token has not been refused yet; it is tried even if it seems to have expired.
    private var trustsProvidedToken = false
    /// How many times in a row the provider was asked because a token expired or was refused.
    private var renewals = 0
    /// How long a connection must be open to reset that count.
    private let stableAfter: Duration
    private var connectedSince: ContinuousClock.Instant?

    init(_ configuration: RelayConfiguration) {
        policy = configuration.tokenRenewal
        stableAfter = configuration.reconnect.stableAfter
        credentials = configuration.credentials
        user = configuration.user
    }

    /// Whether the provider is being asked, which happens once at a time.
    var isAsking: Bool { request != nil }

    /// Other credentials are needed.
    ///
    /// - Returns: The provider to ask, whose answer goes to ``answered(_:epoch:)``; nil without one, and while it is
    ///   being asked.
    mutating func ask() -> (provider: RelayCredentials.Provider, epoch: UInt64)? {
        guard !isAsking, let provider = credentials.provider else { return nil }
        request = epoch
        return (provider, epoch)
    }

    /// The application gives other credentials. Those of another user are accepted only without a session.
    ///
    /// - Returns: Nil if they are not accepted.
    mutating func given(_ credentials: RelayCredentials, hasSession: Bool) -> Change? {
        guard var change = replace(credentials, mayChangeUser: !hasSession) else { return nil }
        change.cancelsRequest = isAsking
        (epoch, request, trustsProvidedToken) = (epoch + 1, nil, false)
        return change
    }

    /// The provider has answered, perhaps too late for the dial that asked: the next dial uses its answer.
    ///
    /// - Parameter credentials: Nil if it gave none.
    /// - Returns: Nil if that brought no credentials.
    mutating func answered(_ credentials: RelayCredentials?, epoch: UInt64) -> Change? {
        if request == epoch { request = nil }
        // The application gave newer ones meanwhile.
        guard epoch == self.epoch else { return Change() }
        guard let credentials else { return nil }
        let isFirst = self.credentials.isMissing && user == nil
        let provided = credentials.keepingProvider(self.credentials.provider)
        guard let change = replace(provided, mayChangeUser: isFirst) else { return nil }
        trustsProvidedToken = true
        return change
    }

    /// Accepts these credentials; nil, with nothing changed, if they are another user's who may not sign in now.
    private mutating func replace(_ credentials: RelayCredentials, mayChangeUser: Bool) -> Change? {
        // A name from the old credentials is dropped with them.
        let user = credentials.user ?? (self.user == self.credentials.user ? nil : self.user)
        let earlier = self.user
        guard mayChangeUser || user == earlier else { return nil }
        (self.credentials, self.user) = (credentials, user)
        return Change(isOtherUser: user != earlier, discardsOutbox: user != earlier && earlier != nil)
    }

    /// A dial has failed, or a connection ends.
    ///
    /// - Returns: Whether to ask the provider for another token before the next dial.
    mutating func needsToken(after reason: ConnectionReason, at now: ContinuousClock.Instant) -> Bool {
        switch reason {
        case .tokenExpired, .credentialsRevoked, .authenticationFailed: break
        default: return false
        }
        // The server has refused the provider's token.
        trustsProvidedToken = false
        connectionChanged(isConnected: false, at: now)
        guard credentials.provider != nil, renewals < policy.attempts else { return false }
        renewals += 1
        return true
    }

    /// The client is connected, or no longer. Repetitions are harmless.
    mutating func connectionChanged(isConnected: Bool, at now: ContinuousClock.Instant) {
        if let connectedSince, now - connectedSince >= stableAfter { renewals = 0 }
        connectedSince = isConnected ? connectedSince ?? now : nil
    }

    /// The session has ended, which resets the count.
    mutating func sessionEnded() { (renewals, connectedSince) = (0, nil) }

    /// Whether dialling is useless, by the wall clock.
    func isExpired(at now: Int64) -> Bool {
        // The local clock may be wrong, so the server judges a token that was just issued.
        credentials.provider != nil && !trustsProvidedToken && credentials.isExpired(at: now)
    }

    /// The server never says why it refuses a token, but the token may show it.
    func explained(_ reason: ConnectionReason, at now: Int64) -> ConnectionReason {
        guard case .authenticationFailed = reason else { return reason }
        if credentials.isExpired(at: now) { return .tokenExpired }
        if credentials.lackSignature {
            return .authenticationFailed(
                "this token counts with the secret of its key alone; `parley network token` prints one that does without"
            )
        }
        guard credentials.areOfSharedAccount else { return reason }
        return .authenticationFailed(
            "they are of the kind that private networks gave before every user had an account, and none takes any more")
    }
}
