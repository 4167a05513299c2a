import NATS
import NIOCore

/// A message in one of the user's postboxes (Sudo relay's `Message`).
public struct PostboxMessage: Hashable, Sendable, Identifiable {
    /// The opaque identifier to delete it by; see ``PostboxMessageID``.
    public var id: String
    /// When the server stored it.
    public var createdAt: Timestamp
    /// When it last changed; messages do not change, so this equals ``createdAt``.
    public var updatedAt: Timestamp
    /// The postbox's owner.
    public var ownerId: String
    /// The identity (Sudo) of the postbox.
    public var sudoId: String
    /// The postbox it was sent to.
    public var postboxId: String
    /// The body as it was sent. Remote text: make it safe before showing it.
    public var message: String
    /// The sender, according to the server. A name that begins with `~` is the network's own; nil for letters from
    /// before the server recorded it.
    public var from: String?
    /// The subject line, if the sender gave one. Remote text, like ``message``.
    public var subject: String?

    /// Creates a message.
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

/// A letter that is neither in this network's format nor plain text. It can be deleted.
public struct UnreadableLetter: Hashable, Sendable, Identifiable {
    /// The opaque identifier to delete it by; see ``PostboxMessageID``.
    public var id: String
    /// When the server stored it.
    public var createdAt: Timestamp
    /// The postbox it was sent to.
    public var postboxId: String
    /// The sender, according to the server; nil for letters from before the server recorded it.
    public var from: String?
    /// Its size in bytes.
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

/// The location of a stored postbox message: its stream's incarnation and its sequence there.
///
/// Callers see ``text``, which is opaque. An identifier from a stream that was deleted and recreated contains the old
/// incarnation, so it finds nothing instead of another message.
public struct PostboxMessageID: Hashable, Sendable {
    /// When the stream was created, in nanoseconds since 1970.
    public var incarnation: UInt64
    /// The message's sequence in the stream.
    public var sequence: UInt64

    /// Creates an identifier.
    public init(incarnation: UInt64, sequence: UInt64) {
        self.incarnation = incarnation
        self.sequence = sequence
    }

    /// Parses an identifier; nil for a damaged or foreign one.
    public init?(_ text: String) {
        guard let (incarnation, sequence) = OpaqueCode.decode(.message, text), sequence <= ServerNumber.limit else {
            return nil
        }
        self.init(incarnation: incarnation, sequence: sequence)
    }

    /// The identifier as callers hold it: 32 letters and digits.
    public var text: String { OpaqueCode.encode(.message, incarnation, sequence) }
}

/// A stored letter's recipient and sender, from its subject `postbox.<user>.<postbox>.<sender>`. The server adds the
/// sender, so that no user can send under another name.
struct PostboxAddress: Hashable, Sendable {
    let user: String
    let postbox: String
    /// Nil for letters from before senders were recorded.
    let sender: String?

    /// Parses a subject; nil if it is no postbox's.
    init?(_ subject: String) {
        let tokens = subject.split(separator: ".", omittingEmptySubsequences: false)
        guard (3...4).contains(tokens.count), tokens[0] == "postbox" else { return nil }
        user = String(tokens[1])
        postbox = String(tokens[2])
        sender = tokens.count == 4 ? String(tokens[3]) : nil
    }
}

/// A stored letter, as far as it can be read.
enum ReadLetter: Sendable {
    case readable(PostboxMessage)
    case unreadable(UnreadableLetter)

    /// Decodes a stored letter. Its persona is that of its postbox; until that is known, it is the owner.
    ///
    /// - Parameters:
    ///   - message: The letter, which anyone may have written with any client.
    ///   - incarnation: When its stream was created, in nanoseconds since 1970.
    ///   - owner: The postbox's owner.
    init(_ message: StoredMessage, incarnation: UInt64, owner: String) {
        let id = PostboxMessageID(incarnation: incarnation, sequence: message.sequence).text
        let stored = Timestamp(milliseconds: message.time.milliseconds)
        let address = PostboxAddress(message.subject)
        guard let letter = PostboxLetter(reading: Array(message.payload.readableBytesView)) else {
            let letter = UnreadableLetter(
                id: id, createdAt: stored, postboxId: address?.postbox ?? "", from: address?.sender,
                bytes: message.payload.readableBytes)
            self = .unreadable(letter)
            return
        }
        let read = PostboxMessage(
            id: id, createdAt: stored, updatedAt: stored, ownerId: owner, sudoId: owner,
            postboxId: address?.postbox ?? "", message: letter.message, from: address?.sender,
            subject: letter.subject)
        self = .readable(read)
    }
}
