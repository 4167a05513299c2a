/// Which user the next dial signs in as, and what the token provider is being asked, as a value.
struct SignIn: Sendable {
    /// A call of the token provider, until it returns. Callers that need a token meanwhile wait for the same one.
    struct TokenRequest: Sendable {
        /// Whether the call has brought other credentials than there were before it.
        let answer: Task<Bool, Never>
        /// The epoch of the credentials that it is to replace.
        let epoch: UInt64

        /// Waits for the answer; false when the provider takes longer than `limit`, which cancels the call.
        func wait(_ limit: Duration, _ clock: any Timekeeper) async -> Bool {
            if let answer = await within(limit, clock, { [answer] in await answer.value }) { return answer }
            if !Task.isCancelled { answer.cancel() }
            return false
        }
    }

    /// What other credentials bring.
    enum Change: Hashable, Sendable {
        /// They belong to another user, who may not sign in now: nothing has changed.
        case refused
        /// They belong to the same user.
        case sameUser
        /// The user, who was not known before, is known now.
        case firstUser
        /// They belong to another user, or to none.
        case otherUser
    }

    private(set) var credentials: RelayCredentials
    /// The user's name; nil when neither credentials nor configuration have it.
    private(set) var user: String?
    /// The call of the provider that is under way.
    private(set) var tokenRequest: TokenRequest?
    /// Counts the credentials that the application gave.
    private(set) var epoch: UInt64 = 0
    /// Whether the provider gave a token that no server has refused yet; it is tried even if it seems to have expired.
    private var trustsProvidedToken = false

    init(_ configuration: RelayConfiguration) {
        credentials = configuration.credentials
        user = configuration.user
    }

    /// Takes other credentials from the application.
    ///
    /// - Parameter mayChangeUser: whether they may be another user's.
    mutating func use(_ credentials: RelayCredentials, mayChangeUser: Bool) -> Change {
        let change = replace(credentials, mayChangeUser: mayChangeUser)
        guard change != .refused else { return .refused }
        epoch += 1
        tokenRequest?.answer.cancel()
        tokenRequest = nil
        trustsProvidedToken = false
        return change
    }

    /// The provider is being asked. It is never asked twice at the same time.
    mutating func asked(_ tokenRequest: TokenRequest) { self.tokenRequest = tokenRequest }

    /// The provider has answered, perhaps too late for the dial that asked: the next dial uses its answer.
    ///
    /// - Returns: what that changes; nil when there is nothing to take, and ``Change/refused`` when it may not be taken.
    mutating func answered(_ credentials: RelayCredentials?, epoch: UInt64) -> Change? {
        if tokenRequest?.epoch == epoch { tokenRequest = nil }
        // What the application gave meanwhile is newer.
        guard epoch == self.epoch else { return .sameUser }
        guard let credentials else { return nil }
        let isFirst = self.credentials.isMissing && user == nil
        let change = replace(credentials.keepingProvider(self.credentials.provider), mayChangeUser: isFirst)
        if change != .refused { trustsProvidedToken = true }
        return change
    }

    private mutating func replace(_ credentials: RelayCredentials, mayChangeUser: Bool) -> Change {
        // A name that came from the old credentials goes with them.
        let user = credentials.user ?? (self.user == self.credentials.user ? nil : self.user)
        guard mayChangeUser || user == self.user else { return .refused }
        defer { (self.credentials, self.user) = (credentials, user) }
        if user == self.user { return .sameUser }
        return self.user == nil ? .firstUser : .otherUser
    }

    /// The server has refused the token, or the connection that it opened: the provider's next one is another.
    mutating func wasRefused(for reason: ConnectionReason) {
        if reason.isRenewable { trustsProvidedToken = false }
    }

    /// Whether dialling is of no use, by the wall's clock.
    func isExpired(at now: Int64) -> Bool {
        // The server judges a token that has just been made: the clock here may be wrong.
        credentials.provider != nil && !trustsProvidedToken && credentials.isExpired(at: now)
    }

    /// The server never says why it refuses a token; the token itself may.
    func explained(_ reason: ConnectionReason, at now: Int64) -> ConnectionReason {
        guard case .authenticationFailed = reason else { return reason }
        if credentials.isExpired(at: now) { return .tokenExpired }
        guard credentials.areOfSharedAccount else { return reason }
        return .authenticationFailed(
            "they are of the kind that private networks gave before every user had an account, and none takes any more")
    }
}
