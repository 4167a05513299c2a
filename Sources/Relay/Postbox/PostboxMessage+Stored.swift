import NATS
import NIOCore

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
