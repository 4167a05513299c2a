import Relay

/// One credential of a user: a key pair of its own, whose secret the network does not keep.
public struct UserKey: Codable, Hashable, Sendable {
    /// How a key came about.
    public enum Kind: String, Codable, Hashable, Sendable {
        /// A credentials file that was handed out.
        case file
        /// An invitation, or the credentials that it was exchanged for.
        case invitation
        /// The key by which `--as` uses the network on this machine.
        case identity = "as"
        /// A bearer token.
        case token
    }

    static let limit = 1_000
    /// How long a key is remembered after its end, in seconds: no server's clock lags behind by more.
    static let memory: Int64 = 7 * 86_400
    /// How many keys that ended unrevoked are remembered: the newest. Only revocations have to be.
    static let endedLimit = 100

    /// The public key.
    public let publicKey: String
    /// How it came about.
    public var kind: Kind
    /// When it was made, in seconds since 1970.
    public let created: Int64
    /// When its token ends, in seconds since 1970; nil means without end.
    public var expires: Int64?
    /// The account that the key belongs to; nil for its user's own, whose rights it has.
    var account: String?
    /// When it was revoked, in seconds since 1970; nil for one that was not. There is no way back.
    public internal(set) var revoked: Int64?

    init(_ publicKey: String, _ kind: Kind, created: Int64, expires: Int64? = nil) {
        (self.publicKey, self.kind, self.created, self.expires) = (publicKey, kind, created, expires)
    }

    /// The short name of the key: what tells it from others, without the letters with which all begin.
    public var id: String { String(publicKey.dropFirst(2).prefix(8)) }

    /// Whether the key may be used.
    public func holds(at now: Int64) -> Bool { revoked == nil && expires.map { $0 > now } ?? true }

    fileprivate func hasEndedUnrevoked(at now: Int64) -> Bool { revoked == nil && !holds(at: now) }
}

extension [UserKey] {
    mutating func add(_ key: UserKey, of user: UserName, at now: Int64) throws(NetworkError) {
        guard !contains(where: { $0.publicKey == key.publicKey }) else { return }
        forgetEnded(at: now)
        guard count(where: { $0.holds(at: now) }) < UserKey.limit else { throw .tooManyKeys(user.text) }
        append(key)
    }

    /// Forgets the keys that ended so long ago that no server takes their tokens, and what nobody looks up among those
    /// that were never revoked: an app's server may have tokens made by the thousand.
    private mutating func forgetEnded(at now: Int64) {
        removeAll { key in key.expires.map { $0 + UserKey.memory <= now } ?? false }
        var surplus = count { $0.hasEndedUnrevoked(at: now) } - UserKey.endedLimit
        removeAll { key in
            guard surplus > 0, key.hasEndedUnrevoked(at: now) else { return false }
            surplus -= 1
            return true
        }
    }

    func meant(by text: String, of user: UserName) throws(NetworkError) -> UserKey {
        let start = text.uppercased()
        let found = filter { $0.publicKey == start || !start.isEmpty && $0.publicKey.dropFirst(2).hasPrefix(start) }
        if let key = found.first, found.count == 1 { return key }
        throw .unknownKey(
            found.isEmpty
                ? "\(user) has no key \(text.debugDescription): `parley network key list \(user)` shows all."
                : "\(text.debugDescription) may be any of \(found.map(\.id).joined(separator: ", ")): write more of it."
        )
    }
}

extension AccessRights {
    func check(within others: AccessRights, of user: UserName) throws(NetworkError) {
        guard !isWithin(others) else { return }
        let beyond = publish.first { !others.mayPublish(to: $0) } ?? subscribe.first { !others.mayRead($0) }
        throw .invalidGrant(
            topics: beyond ?? "", reason: "a key may do no more than its user: grant it to \(user) first, or name less."
        )
    }
}

/// The rights that an act names; what it does not name stays as it is.
public struct RightsChange: Hashable, Sendable {
    /// The topics that may be written to, as patterns; nil where they are not named.
    public var publish: [String]?
    /// The topics that may be read, as patterns; nil where they are not named.
    public var subscribe: [String]?
    /// The use of the network's key-value store; nil where it is not named.
    public var keyValue: AccessRights.KeyValueAccess?
    /// Whether letters may be sent and read; nil where that is not named.
    public var letters: Bool?

    /// Names topics in both directions.
    public init(topics: [String]? = nil) { (publish, subscribe) = (topics, topics) }

    /// Whether nothing is named.
    public var isEmpty: Bool { self == RightsChange() }

    /// Where the topics of one direction alone are named, the other one has none.
    func applied(to rights: AccessRights) -> AccessRights {
        var rights = rights
        if publish != nil || subscribe != nil {
            (rights.publish, rights.subscribe) = (publish ?? [], subscribe ?? [])
        }
        if let keyValue { rights.keyValue = keyValue }
        if let letters { rights.letters = letters }
        return rights
    }
}
