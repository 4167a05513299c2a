import NATS
import Relay

/// What the network keeps of a user: the account's token is made from it, anew with each change. Times are in seconds
/// since 1970.
struct UserRecord: Codable, Hashable, Sendable {
    var name: String
    /// The public key of the user's account. Its secret is not kept: the host's signing key is used instead.
    var account: String
    var rights: AccessRights
    /// When the account ends; nil means without end.
    var expires: Int64?
    var created: Int64
    /// When the newest token of the account was signed.
    var signed: Int64
    var standing = UserStanding()
    /// The newest invitation, as long as it was not revoked.
    var invitation: InvitationRecord?
    var keys: [UserKey] = []
    /// The accounts of keys that may do less than the user, besides the user's own account.
    var narrowAccounts: [NarrowAccount] = []

    /// The account of all keys of a user that may do the same, which is less than the user may.
    struct NarrowAccount: Codable, Hashable, Sendable {
        var account: String
        /// What was asked for the keys; what the user has lost since is not theirs either.
        var rights: AccessRights
    }

    /// How long a record may be with its keys, in bytes of JSON: with what later acts add to it, it has to fit into one
    /// message of a server's, as do the revocations of its account.
    static let maximumLength = 512 << 10

    /// A time by which tokens are void that a wrong clock dates later, too.
    private static let endOfTime: Int64 = 253_402_300_799

    /// All public keys, the one of the user's own account first.
    var accounts: [String] { [account] + narrowAccounts.map(\.account) }

    func rights(ofAccount account: String) -> AccessRights {
        guard let narrow = narrowAccounts.first(where: { $0.account == account }) else { return rights }
        return narrow.rights.intersection(rights)
    }

    mutating func account(for rights: AccessRights) -> String {
        if let known = narrowAccounts.first(where: { $0.rights == rights }) { return known.account }
        let account = NKeyPair.generate(.account).publicKey.text
        narrowAccounts.append(NarrowAccount(account: account, rights: rights))
        return account
    }

    mutating func add(_ key: UserKey, of user: UserName, at now: Int64) throws(NetworkError) {
        guard !keys.contains(where: { $0.publicKey == key.publicKey }) else { return }
        try keys.add(key, of: user, at: now)
        guard Wire.json(self).count <= Self.maximumLength else { throw .tooManyKeys(user.text) }
    }

    func rights(of key: UserKey) -> AccessRights { rights(ofAccount: key.account ?? account) }

    var allKeys: [UserKey] {
        guard let invitation, invitation.usedBy == nil, !keys.contains(where: { $0.publicKey == invitation.key })
        else { return keys }
        return keys + [UserKey(invitation.key, .invitation, created: invitation.created, expires: invitation.expires)]
    }

    /// Whether this machine may make itself a key: not after the one that it had was revoked, or all that there were.
    var mayMakeIdentity: Bool {
        let own = keys.filter { $0.kind == .identity }
        let deciding = own.isEmpty ? keys : own
        return deciding.isEmpty || deciding.contains { $0.revoked == nil }
    }

    /// What voids single keys. Each act signs it again: a server takes a key whose entry is missing. An invitation to
    /// an account that is closed is void meanwhile.
    func revocations(isClosed: Bool) -> [String: Int64] {
        var void = keys.filter { $0.revoked != nil }.map(\.publicKey)
        if isClosed, let invitation { void.append(invitation.key) }
        return Dictionary(void.map { ($0, Self.endOfTime) }) { first, _ in first }
    }

    func accountKey(_ text: String? = nil) throws(NetworkError) -> NKey { try translated { try NKey(text ?? account) } }

    func isOver(at now: Int64) -> Bool { expires.map { $0 <= now } ?? false }

    /// Refuses a user whom new credentials would not let in.
    func checkAdmitted(_ user: UserName, at now: Int64) throws(NetworkError) {
        try standing.check(user)
        if let expires, isOver(at: now) { throw .userExpired(user.text, end: expires) }
    }

    /// Why the account is closed, as its user is told; nil while it is open.
    func closure(block: UserStanding.Decision?, at now: Int64) -> ControlMessage? {
        if let banned = standing.banned { return ControlMessage(kind: .banned, reason: banned.reason) }
        if let closed = standing.deactivated { return ControlMessage(kind: .deactivated, reason: closed.reason) }
        if let block { return ControlMessage(kind: .applicationBlocked, reason: block.reason) }
        return isOver(at: now) ? ControlMessage(kind: .accessExpired) : nil
    }
}

/// Whether a user may use the network, as its administrator decided.
public struct UserStanding: Codable, Hashable, Sendable {
    /// One decision of the administrator.
    public struct Decision: Codable, Hashable, Sendable {
        /// When it was made, in seconds since 1970.
        public var since: Int64
        /// The administrator's words, if any.
        public var reason: String?
    }

    /// The ban, while there is one.
    public internal(set) var banned: Decision?
    /// The closing of the user's account, while it is closed.
    public internal(set) var deactivated: Decision?

    func check(_ name: UserName) throws(NetworkError) {
        if let decision = banned { throw .userBanned(name.text, reason: decision.reason) }
        if let decision = deactivated { throw .userDeactivated(name.text, reason: decision.reason) }
    }
}
