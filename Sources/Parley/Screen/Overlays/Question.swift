/// A question that y answers with yes; n, Escape and Enter answer no.
struct Question: Equatable, Sendable {
    enum Act: Equatable, Sendable {
        case quit, disconnect, openLab
        case delete([String])
        case deletePostbox(String)
        /// Delete letters that could still be restored, and quit.
        case quitDeleting
        /// Leave while letters are being deleted; the outcome will not be shown.
        case leaveDeletion
        case overwrite(text: String, path: String)
        case send(text: String, topic: String)
        case run(SlashCommand)
    }

    let act: Act
    let text: String
}
