import NATS
import NIOCore

extension PostboxMessage {
    /// What a stored letter says. Whose persona it is for, only its postbox says: until that is known it is the owner's.
    ///
    /// - Parameters:
    ///   - message: the letter, which anybody may have written with any client.
    ///   - incarnation: when its stream was made, in nanoseconds since 1970.
    ///   - owner: whose postbox it is in.
    init(reading message: StoredMessage, incarnation: UInt64, owner: String) {
        let letter = PostboxLetter(reading: Array(message.payload.readableBytesView))
        let stored = Timestamp(milliseconds: message.time.milliseconds)
        let address = PostboxAddress(message.subject)
        self.init(
            id: PostboxMessageID(incarnation: incarnation, sequence: message.sequence).text, createdAt: stored,
            updatedAt: stored, ownerId: owner, sudoId: owner, postboxId: address?.postbox ?? "",
            message: letter.message, from: address?.sender, subject: letter.subject)
    }
}
