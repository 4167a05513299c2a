import Relay

extension AccessRights {
    /// Refuses rights that a user does not have.
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

    /// The rights after the change. Where the topics of one direction alone are named, the other one has none.
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
