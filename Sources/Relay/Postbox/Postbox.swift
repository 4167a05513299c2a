/// A named place where others can leave messages for a user, switched on and off by its owner.
public struct Postbox: Hashable, Sendable, Identifiable {
    /// The postbox's identifier, a single subject token.
    public var id: String
    /// The owner's name for it.
    public var name: String
    /// The identity (Sudo) that it belongs to.
    public var sudoId: String
    /// Whether it accepts messages. A disabled postbox refuses them and keeps those it has.
    public var isEnabled: Bool
    /// When it was made.
    public var createdAt: Timestamp

    /// Makes a description of a postbox.
    public init(id: String, name: String, sudoId: String, isEnabled: Bool, createdAt: Timestamp) {
        self.id = id
        self.name = name
        self.sudoId = sudoId
        self.isEnabled = isEnabled
        self.createdAt = createdAt
    }
}
