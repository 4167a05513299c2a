extension OutboxMessage {
    /// A letter on its way to somebody's postbox.
    ///
    /// - Parameters:
    ///   - recipient: whose postbox it is.
    ///   - postbox: the postbox's identifier.
    ///   - text: the letter.
    ///   - id: the letter's identifier; a new one when nil.
    ///   - pending: what tells the letter's end to whoever waits for it.
    /// - Throws: ``RelayError/invalidArgument(_:)`` for names that no user and no postbox can have.
    init(
        letterTo recipient: String, postbox: String, text: String, id: String?, pending: PendingPublish? = nil
    ) throws(RelayError) {
        guard recipient.isSubjectToken, postbox.isSubjectToken else {
            throw .invalidArgument("Name the postbox as USER/POSTBOX")
        }
        let id = id ?? RandomText.identifier()
        let letter = PostboxLetter(id: id, createdAt: Timestamp.now.milliseconds, message: text)
        self.init(
            id: id, destination: .postbox(user: recipient, postbox: postbox), payload: letter.encoded(),
            unsigned: nil, pending: pending)
    }
}
