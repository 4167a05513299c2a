/// A named place where others can leave messages for a user, enabled and disabled by its owner.
public struct Postbox: Hashable, Sendable, Identifiable {
    /// The postbox's identifier, a single subject token.
    public var id: String
    /// Its name, which is part of its address and never changes.
    public var name: String
    /// The owner's title for it, by default its name. It is not part of the address.
    public var title: String
    /// The identity (Sudo) that it belongs to.
    public var sudoId: String
    /// Whether it accepts messages. A disabled postbox refuses them and keeps those it has.
    public var isEnabled: Bool
    /// When it was created.
    public var createdAt: Timestamp

    /// Whether its title differs from its name.
    public var hasTitle: Bool { title != name }

    /// Creates a description of a postbox.
    ///
    /// - Parameter title: The owner's title; nil for its name.
    public init(id: String, name: String, title: String? = nil, sudoId: String, isEnabled: Bool, createdAt: Timestamp) {
        self.id = id
        self.name = name
        self.title = title ?? name
        self.sudoId = sudoId
        self.isEnabled = isEnabled
        self.createdAt = createdAt
    }
}

/// The user's postboxes as stored on this machine.
public struct KeptPostboxes: Hashable, Sendable {
    /// The postboxes.
    public var items: [Postbox]
    /// When the network reported them; later changes are unknown.
    public var asOf: Timestamp

    /// Creates a list.
    public init(items: [Postbox], asOf: Timestamp) {
        self.items = items
        self.asOf = asOf
    }
}
