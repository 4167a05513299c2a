/// What servers keep of an account.
enum StoredToken: Hashable, Sendable {
    /// This token.
    case token(String)
    /// Nothing: each of them said so.
    case none
    /// Not all of them said.
    case unknown
}

/// Of which accounts a cluster's servers keep tokens, as each of them said: a pure value.
struct KeptAccounts: Hashable, Sendable {
    /// How many servers there are.
    let servers: Int
    private var answering: Set<String> = []
    private var accounts: Set<String> = []

    /// Nobody has said anything yet.
    init(servers: Int) { self.servers = servers }

    /// A server has told its accounts.
    mutating func answered(_ server: String, _ accounts: [String]) {
        answering.insert(server)
        self.accounts.formUnion(accounts)
    }

    /// How many servers have said what they keep.
    var answers: Int { answering.count }
    /// Whether all have.
    var isComplete: Bool { answers >= servers }

    /// What is known of an account without its token; nil for one that a server has, which is to be asked for the
    /// token.
    func standing(of account: String) -> StoredToken? {
        if accounts.contains(account) { return nil }
        return isComplete ? StoredToken.none : .unknown
    }
}
