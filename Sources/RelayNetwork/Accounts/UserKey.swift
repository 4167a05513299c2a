import Relay

/// One credential of a user: a key pair whose secret the network does not keep.
public struct UserKey: Codable, Hashable, Sendable {
    /// How a key was made.
    public enum Kind: String, Codable, Hashable, Sendable {
        /// A credentials file.
        case file
        /// An invitation, or the credentials it was exchanged for.
        case invitation
        /// The key that `--as` uses on this machine.
        case identity = "as"
        /// A bearer token.
        case token
    }

    static let limit = 1_000
    /// How long a key is remembered after it expires, in seconds: no server's clock lags by more.
    static let memory: Int64 = 7 * 86_400
    /// How many expired, unrevoked keys are remembered, newest first. Only revocations must be.
    static let endedLimit = 100

    /// The public key.
    public let publicKey: String
    /// How it was made.
    public var kind: Kind
    /// When it was made, in seconds since 1970.
    public let created: Int64
    /// When its token expires, in seconds since 1970; nil if never.
    public var expires: Int64?
    /// The key's account; nil for its user's own account and rights.
    var account: String?
    /// When it was revoked, in seconds since 1970; nil if it was not. Revocation is final.
    public internal(set) var revoked: Int64?

    init(_ publicKey: String, _ kind: Kind, created: Int64, expires: Int64? = nil) {
        (self.publicKey, self.kind, self.created, self.expires) = (publicKey, kind, created, expires)
    }

    /// A short id: the part of the public key after the prefix that all keys share.
    public var id: String { String(publicKey.dropFirst(2).prefix(8)) }

    /// Whether the key is neither revoked nor expired.
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

    /// Forgets keys that expired so long ago that no server accepts their tokens, and the oldest expired ones that were
    /// never revoked: an app's server may request thousands of tokens.
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

/// A change of rights; whatever it does not name stays as it is.
public struct RightsChange: Hashable, Sendable {
    /// The topics to publish to, as patterns; nil if unchanged.
    public var publish: [String]?
    /// The topics to read, as patterns; nil if unchanged.
    public var subscribe: [String]?
    /// Access to the network's key-value store; nil if unchanged.
    public var keyValue: AccessRights.KeyValueAccess?
    /// Whether letters may be sent and read; nil if unchanged.
    public var letters: Bool?

    /// Names topics for both directions.
    public init(topics: [String]? = nil) { (publish, subscribe) = (topics, topics) }

    /// Whether nothing is named.
    public var isEmpty: Bool { self == RightsChange() }

    /// If only one direction is named, the other one gets no topics.
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
