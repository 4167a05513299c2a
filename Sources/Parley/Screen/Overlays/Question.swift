/// A question that y answers with yes, and n, Escape and Enter with no.
struct Question: Equatable, Sendable {
    enum Act: Equatable, Sendable {
        case quit, disconnect, openLab
        case delete([String])
        case deletePostbox(String)
        /// Have letters leave that could still be brought back, and quit.
        case quitDeleting
        /// Leave while letters are being deleted, of which nobody will tell what became of them.
        case leaveDeletion
        case overwrite(text: String, path: String)
        case send(text: String, topic: String)
        case run(SlashCommand)
    }

    let act: Act
    let text: String
}
