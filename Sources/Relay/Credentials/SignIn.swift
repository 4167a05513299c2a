/// As whom the next dial goes, and what the token provider is being asked, as a value.
struct SignIn: Sendable {
    /// What the provider was asked, until it returns. Askers that come meanwhile join it.
    struct Question: Sendable {
        /// Whether there are other credentials now than when it was asked.
        let answer: Task<Bool, Never>
        /// Which credentials it is to replace.
        let epoch: UInt64

        /// As the answer; false when the provider takes longer than this, which calls it off.
        func wait(_ limit: Duration, _ clock: any Timekeeper) async -> Bool {
            if let answer = await within(limit, clock, { [answer] in await answer.value }) { return answer }
            if !Task.isCancelled { answer.cancel() }
            return false
        }
    }

    /// What other credentials bring.
    enum Change: Hashable, Sendable {
        /// They are another user's, which may not be now: nothing has changed.
        case refused
        /// They are the same user's.
        case sameUser
        /// There is a user now where none was known.
        case firstUser
        /// They belong to another user, or to none.
        case otherUser
    }

    private(set) var credentials: RelayCredentials
    /// Who this is; nil when neither credentials nor configuration tell.
    private(set) var user: String?
    /// What the provider is being asked.
    private(set) var question: Question?
    /// Counts the credentials that the application gave.
    private(set) var epoch: UInt64 = 0
    /// Whether the provider gave a token that no server has refused yet.
    private var hasUnrefusedToken = false

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
        question?.answer.cancel()
        question = nil
        hasUnrefusedToken = false
        return change
    }

    /// The provider is being asked. It never has two questions at the same time.
    mutating func asked(_ question: Question) { self.question = question }

    /// The provider has answered, perhaps too late for the dial that asked: the next dial uses its answer.
    ///
    /// - Returns: what that changes; nil when there is nothing to take, and ``Change/refused`` when it may not be taken.
    mutating func answered(_ credentials: RelayCredentials?, epoch: UInt64) -> Change? {
        if question?.epoch == epoch { question = nil }
        // What the application gave meanwhile is newer.
        guard epoch == self.epoch else { return .sameUser }
        guard let credentials else { return nil }
        let isFirst = self.credentials.isMissing && user == nil
        let change = replace(credentials.keepingProvider(self.credentials.provider), mayChangeUser: isFirst)
        if change != .refused { hasUnrefusedToken = true }
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
        if reason.isRenewable { hasUnrefusedToken = false }
    }

    /// Whether dialling is of no use, by the wall's clock.
    func isExpired(at now: Int64) -> Bool {
        // A token that has just been made is the server's to judge: the clock here may be wrong.
        credentials.provider != nil && !hasUnrefusedToken && credentials.isExpired(at: now)
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
