import NATS
import Relay

/// The network's data of a user, from which the account's token is signed. Times are in seconds since 1970.
struct UserRecord: Codable, Hashable, Sendable {
    var name: String
    /// The public key of the user's account. Its secret is not kept: the host's signing key replaces it.
    var account: String
    var rights: AccessRights
    var expires: Int64?
    var created: Int64
    /// When the newest token of the account was signed.
    var signed: Int64
    var standing = UserStanding()
    /// The newest invitation, unless it was revoked.
    var invitation: InvitationRecord?
    var keys: [UserKey] = []
    /// The accounts of keys with fewer rights than the user.
    var narrowAccounts: [NarrowAccount] = []

    struct NarrowAccount: Codable, Hashable, Sendable {
        var account: String
        /// The rights that were requested; rights that the user has since lost do not apply.
        var rights: AccessRights
    }

    /// Maximum size of a record with its keys, in bytes of JSON: it must fit into one message together with later
    /// changes, and so must the revocations of its account.
    static let maximumLength = 512 << 10

    /// Revokes even tokens that a wrong clock has dated later.
    private static let endOfTime: Int64 = 253_402_300_799

    /// The public keys of all accounts, the user's own first.
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

    /// Whether this machine may make itself a key: not after its own key, or else every key, was revoked.
    var mayMakeIdentity: Bool {
        let own = keys.filter { $0.kind == .identity }
        let deciding = own.isEmpty ? keys : own
        return deciding.isEmpty || deciding.contains { $0.revoked == nil }
    }

    /// All revocations of keys: a server accepts a key without one. A closed account voids its invitation meanwhile.
    func revocations(isClosed: Bool) -> [String: Int64] {
        var void = keys.filter { $0.revoked != nil }.map(\.publicKey)
        if isClosed, let invitation { void.append(invitation.key) }
        return Dictionary(void.map { ($0, Self.endOfTime) }) { first, _ in first }
    }

    func accountKey(_ text: String? = nil) throws(NetworkError) -> NKey { try translated { try NKey(text ?? account) } }

    func isOver(at now: Int64) -> Bool { expires.map { $0 <= now } ?? false }

    func checkAdmitted(_ user: UserName, at now: Int64) throws(NetworkError) {
        try standing.check(user)
        if let expires, isOver(at: now) { throw .userExpired(user.text, end: expires) }
    }

    /// The message that tells the user why the account is closed; nil while it is open.
    func closure(block: UserStanding.Decision?, at now: Int64) -> ControlMessage? {
        if let banned = standing.banned { return ControlMessage(kind: .banned, reason: banned.reason) }
        if let closed = standing.deactivated { return ControlMessage(kind: .deactivated, reason: closed.reason) }
        if let block { return ControlMessage(kind: .applicationBlocked, reason: block.reason) }
        return isOver(at: now) ? ControlMessage(kind: .accessExpired) : nil
    }
}

/// Whether the administrator has banned or deactivated a user.
public struct UserStanding: Codable, Hashable, Sendable {
    /// A decision of the administrator.
    public struct Decision: Codable, Hashable, Sendable {
        /// When it was made, in seconds since 1970.
        public var since: Int64
        /// The administrator's reason, if any.
        public var reason: String?
    }

    /// The ban, if any.
    public internal(set) var banned: Decision?
    /// The deactivation, if any.
    public internal(set) var deactivated: Decision?

    func check(_ name: UserName) throws(NetworkError) {
        if let decision = banned { throw .userBanned(name.text, reason: decision.reason) }
        if let decision = deactivated { throw .userDeactivated(name.text, reason: decision.reason) }
    }
}
