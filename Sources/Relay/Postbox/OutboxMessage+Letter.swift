extension OutboxMessage {
    /// A letter on its way to somebody's postbox.
    ///
    /// - Parameters:
    ///   - recipient: whose postbox it is.
    ///   - postbox: the postbox's identifier.
    ///   - subject: what it is about, in a line; nil or empty for none.
    ///   - text: the letter.
    ///   - id: the letter's identifier; a new one when nil.
    ///   - pending: what tells the letter's end to whoever waits for it.
    /// - Throws: ``RelayError/invalidArgument(_:)`` for names that no user and no postbox can have, and for a subject
    ///   of several lines or more than ``PostboxLetter/maximumSubjectBytes``.
    init(
        letterTo recipient: String, postbox: String, subject: String? = nil, text: String, id: String?,
        pending: PendingPublish? = nil
    ) throws(RelayError) {
        guard recipient.isSubjectToken, postbox.isSubjectToken else {
            throw .invalidArgument("Name the postbox as USER/POSTBOX")
        }
        let subject = subject.flatMap { $0.isEmpty ? nil : $0 }
        if let subject {
            let breaks = "\n\r\u{2028}\u{2029}".unicodeScalars
            guard !subject.unicodeScalars.contains(where: breaks.contains) else {
                throw .invalidArgument("A subject is one line")
            }
            guard subject.utf8.count <= PostboxLetter.maximumSubjectBytes else {
                throw .invalidArgument("A subject has \(PostboxLetter.maximumSubjectBytes) bytes at most")
            }
        }
        let id = id ?? RandomText.identifier()
        let letter = PostboxLetter(id: id, createdAt: Timestamp.now.milliseconds, message: text, subject: subject)
        self.init(
            id: id, destination: .postbox(user: recipient, postbox: postbox), payload: letter.encoded(),
            unsigned: nil, pending: pending)
    }
}
