/// A letter that is neither in the form of this network's letters nor a text. It can be deleted.
public struct UnreadableLetter: Hashable, Sendable, Identifiable {
    /// The opaque identifier to delete it by; see ``PostboxMessageID``.
    public var id: String
    /// When the server stored it.
    public var createdAt: Timestamp
    /// The postbox it was sent to.
    public var postboxId: String
    /// Who sent it: the server's word; nil for letters from before the server told.
    public var from: String?
    /// How many bytes it has.
    public var bytes: Int

    /// Describes a letter.
    public init(id: String, createdAt: Timestamp, postboxId: String, from: String? = nil, bytes: Int) {
        self.id = id
        self.createdAt = createdAt
        self.postboxId = postboxId
        self.from = from
        self.bytes = bytes
    }
}
