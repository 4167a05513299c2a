/// A named place where others can leave messages for a user, switched on and off by its owner.
public struct Postbox: Hashable, Sendable, Identifiable {
    /// The postbox's identifier, a single subject token.
    public var id: String
    /// Its name, a part of the address that others write to. It stays for as long as the postbox is there.
    public var name: String
    /// What its owner calls it; the name where the owner has given it no title. It is no part of the address.
    public var title: String
    /// The identity (Sudo) that it belongs to.
    public var sudoId: String
    /// Whether it accepts messages. A disabled postbox refuses them and keeps those it has.
    public var isEnabled: Bool
    /// When it was made.
    public var createdAt: Timestamp

    /// Whether its owner calls it something else than its name.
    public var hasTitle: Bool { title != name }

    /// Makes a description of a postbox.
    ///
    /// - Parameter title: what its owner calls it; nil for its name.
    public init(
        id: String, name: String, title: String? = nil, sudoId: String, isEnabled: Bool, createdAt: Timestamp
    ) {
        self.id = id
        self.name = name
        self.title = title ?? name
        self.sudoId = sudoId
        self.isEnabled = isEnabled
        self.createdAt = createdAt
    }
}

/// The user's postboxes as this machine keeps them.
public struct KeptPostboxes: Hashable, Sendable {
    /// The postboxes.
    public var items: [Postbox]
    /// When the network told them: what has been changed since then is not known.
    public var asOf: Timestamp

    /// Describes postboxes.
    public init(items: [Postbox], asOf: Timestamp) {
        self.items = items
        self.asOf = asOf
    }
}
