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
