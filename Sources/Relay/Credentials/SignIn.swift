/// When a token provider is asked for another token, and for how long.
///
/// It is asked before the first dial without a token, before a dial with one that has expired by the clock here, and
/// after the server has refused one or the administrator has revoked it.
public struct TokenRenewalPolicy: Hashable, Sendable {
    /// How many times in a row it is asked because a token has expired or is refused, before the session ends. A
    /// connection that lasts as long as ``ReconnectPolicy/stableAfter`` begins a new row, and so does a new session.
    public var attempts: Int
    /// How long one answer may take.
    public var timeout: Duration

    /// Makes a policy.
    public init(attempts: Int = 2, timeout: Duration = .seconds(30)) {
        self.attempts = attempts
        self.timeout = timeout
    }
}

/// The user and credentials of the next dial, and the question to the token provider, as a pure value.
struct SignIn: Sendable {
    /// What the driver does as other credentials are taken, which ``credentials`` and ``user`` are by then.
    struct Change: Sendable {
        /// Whether to cancel the call of the provider, which nobody waits for any more.
        var cancelsRequest = false
        /// Whether to forget the names of the network's topics, which were another user's, and to put the new name
        /// under the lines that wait for one.
        var isOtherUser = false
        /// Whether to discard what waits to be sent: what one user wrote is never sent as another.
        var discardsOutbox = false
    }

    /// When the provider is asked for another token.
    let policy: TokenRenewalPolicy
    private(set) var credentials: RelayCredentials
    /// The user's name; nil when neither credentials nor configuration have it.
    private(set) var user: String?
    /// The epoch of the credentials that the provider is being asked to replace; nil while it is not asked.
    private var request: UInt64?
    /// Counts the credentials that the application gave.
    private var epoch: UInt64 = 0
    /// Whether the provider gave a token that no server has refused yet; it is tried even if it seems to have expired.
    private var trustsProvidedToken = false
    /// How many times in a row the provider was asked because a token has expired or was refused.
    private var renewals = 0
    /// How long a connection has to be open to begin a new row.
    private let stableAfter: Duration
    private var connectedSince: ContinuousClock.Instant?

    init(_ configuration: RelayConfiguration) {
        policy = configuration.tokenRenewal
        stableAfter = configuration.reconnect.stableAfter
        credentials = configuration.credentials
        user = configuration.user
    }

    /// Whether the provider is being asked. It is never asked twice at the same time.
    var isAsking: Bool { request != nil }

    /// Other credentials are needed.
    ///
    /// - Returns: the provider to ask, whose answer goes to ``answered(_:epoch:)``; nil without one, and while it is
    ///   being asked.
    mutating func ask() -> (provider: RelayCredentials.Provider, epoch: UInt64)? {
        guard !isAsking, let provider = credentials.provider else { return nil }
        request = epoch
        return (provider, epoch)
    }

    /// The application gives other credentials. Another user's are taken only where no session runs.
    ///
    /// - Returns: nil for those that may not be taken.
    mutating func given(_ credentials: RelayCredentials, hasSession: Bool) -> Change? {
        guard var change = replace(credentials, mayChangeUser: !hasSession) else { return nil }
        change.cancelsRequest = isAsking
        (epoch, request, trustsProvidedToken) = (epoch + 1, nil, false)
        return change
    }

    /// The provider has answered, perhaps too late for the dial that asked: the next dial uses its answer.
    ///
    /// - Parameter credentials: nil where it gave none.
    /// - Returns: nil where no credentials came of it.
    mutating func answered(_ credentials: RelayCredentials?, epoch: UInt64) -> Change? {
        if request == epoch { request = nil }
        // What the application gave meanwhile is newer.
        guard epoch == self.epoch else { return Change() }
        guard let credentials else { return nil }
        let isFirst = self.credentials.isMissing && user == nil
        let provided = credentials.keepingProvider(self.credentials.provider)
        guard let change = replace(provided, mayChangeUser: isFirst) else { return nil }
        trustsProvidedToken = true
        return change
    }

    /// Takes these credentials; nil, with nothing changed, where they belong to another user who may not sign in now.
    private mutating func replace(_ credentials: RelayCredentials, mayChangeUser: Bool) -> Change? {
        // A name that came from the old credentials goes with them.
        let user = credentials.user ?? (self.user == self.credentials.user ? nil : self.user)
        let earlier = self.user
        guard mayChangeUser || user == earlier else { return nil }
        (self.credentials, self.user) = (credentials, user)
        return Change(isOtherUser: user != earlier, discardsOutbox: user != earlier && earlier != nil)
    }

    /// A dial has failed, or a connection ends.
    ///
    /// - Returns: whether the provider is to be asked for another token before the next dial.
    mutating func needsToken(after reason: ConnectionReason, at now: ContinuousClock.Instant) -> Bool {
        switch reason {
        case .tokenExpired, .credentialsRevoked, .authenticationFailed: break
        default: return false
        }
        // The server has refused the token, so the provider's next one is another.
        trustsProvidedToken = false
        connectionChanged(isConnected: false, at: now)
        guard credentials.provider != nil, renewals < policy.attempts else { return false }
        renewals += 1
        return true
    }

    /// The client is connected, or is not any more. Repetitions are harmless.
    mutating func connectionChanged(isConnected: Bool, at now: ContinuousClock.Instant) {
        if let connectedSince, now - connectedSince >= stableAfter { renewals = 0 }
        connectedSince = isConnected ? connectedSince ?? now : nil
    }

    /// The session has ended: the next one begins a new row.
    mutating func sessionEnded() { (renewals, connectedSince) = (0, nil) }

    /// Whether dialling is of no use, by the wall's clock.
    func isExpired(at now: Int64) -> Bool {
        // The server judges a token that has just been made: the clock here may be wrong.
        credentials.provider != nil && !trustsProvidedToken && credentials.isExpired(at: now)
    }

    /// The server never says why it refuses a token; the token itself may.
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
