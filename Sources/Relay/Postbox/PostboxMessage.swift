/// A message in one of the user's postboxes (Sudo relay's `Message`).
public struct PostboxMessage: Hashable, Sendable, Identifiable {
    /// The opaque identifier to delete it by; see ``PostboxMessageID``.
    public var id: String
    /// When the server stored it.
    public var createdAt: Timestamp
    /// When it last changed; messages do not change, so this equals ``createdAt``.
    public var updatedAt: Timestamp
    /// The user whose postbox it is.
    public var ownerId: String
    /// The identity (Sudo) that the postbox belongs to.
    public var sudoId: String
    /// The postbox it was sent to.
    public var postboxId: String
    /// The body as it was sent. Remote text, to be made safe before it is shown.
    public var message: String
    /// Who sent it: the server's word. A name that begins with `~` is the network's own; nil for letters from before
    /// the server told.
    public var from: String?
    /// What it is about, as its sender says; nil where that says nothing. Remote text, as ``message`` is.
    public var subject: String?

    /// Makes a message.
    public init(
        id: String,
        createdAt: Timestamp,
        updatedAt: Timestamp,
        ownerId: String,
        sudoId: String,
        postboxId: String,
        message: String,
        from: String? = nil,
        subject: String? = nil
    ) {
        self.id = id
        self.createdAt = createdAt
        self.updatedAt = updatedAt
        self.ownerId = ownerId
        self.sudoId = sudoId
        self.postboxId = postboxId
        self.message = message
        self.from = from
        self.subject = subject
    }
}
