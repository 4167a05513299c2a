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

/// Where a postbox message is stored: its stream's incarnation and its sequence there.
///
/// Callers see ``text``, which is opaque. An identifier from a stream that was deleted and made again names the old
/// incarnation, so it finds nothing instead of another message.
public struct PostboxMessageID: Hashable, Sendable {
    /// When the stream was created, in nanoseconds since 1970.
    public var incarnation: UInt64
    /// The message's sequence in the stream.
    public var sequence: UInt64

    /// Makes an identifier.
    public init(incarnation: UInt64, sequence: UInt64) {
        self.incarnation = incarnation
        self.sequence = sequence
    }

    /// Reads an identifier; nil for a damaged or foreign one.
    public init?(_ text: String) {
        guard let (incarnation, sequence) = OpaqueCode.decode(.message, text), sequence <= ServerNumber.limit else {
            return nil
        }
        self.init(incarnation: incarnation, sequence: sequence)
    }

    /// The identifier as callers hold it: 32 letters and digits.
    public var text: String { OpaqueCode.encode(.message, incarnation, sequence) }
}

/// Where a stored letter went and who sent it, as its subject `postbox.<user>.<postbox>.<sender>` says. The server puts
/// the sender there, so that no user can send under another name.
struct PostboxAddress: Hashable, Sendable {
    /// Whose postbox it is.
    let user: String
    /// The postbox.
    let postbox: String
    /// Who sent the letter; nil for letters from before senders were known.
    let sender: String?

    /// Reads a subject; nil for one that is no postbox's.
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

    /// Reads a stored letter. Whose persona it is for, only its postbox says: until that is known it is the owner's.
    ///
    /// - Parameters:
    ///   - message: the letter, which anybody may have written with any client.
    ///   - incarnation: when its stream was made, in nanoseconds since 1970.
    ///   - owner: whose postbox it is in.
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
