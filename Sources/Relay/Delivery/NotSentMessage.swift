/// A message in the local store that was accepted but not sent, or perhaps not sent, and waits for the person's
/// decision.
public struct NotSentMessage: Hashable, Sendable, Identifiable {
    /// The message's identifier, which it keeps if it is sent again.
    public var id: String
    /// Its destination.
    public var destination: Destination
    /// The text to show: ``MessageContent/text``, which for a key is its value as JSON; empty for the deletion of a
    /// key.
    public var text: String
    /// Why it was not sent, as a sentence for a person.
    public var reason: String
    /// When the person sent it.
    public var since: Timestamp
    /// Whether the network may have stored it all the same. Before a message on a topic is sent again, the client looks
    /// for it; for a letter it cannot, so sending it again may duplicate it.
    public var mayBeStored: Bool

    init(_ kept: KeptPublish) {
        (id, destination, mayBeStored) = (kept.message.id, kept.message.destination, kept.message.mayBeStored)
        (text, reason, since) = (kept.text, kept.state.reason ?? "", kept.since)
    }
}

extension KeptPublish {
    /// The text to show: ``MessageContent/text``.
    package var text: String { message.content?.text ?? "" }

    /// The subject line of a letter that has one.
    package var subject: String? { if case .letter(let letter)? = message.content { letter.subject } else { nil } }
}
