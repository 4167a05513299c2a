/// A message that was accepted and not sent, or perhaps not, and waits for the person in the local store.
public struct NotSentMessage: Hashable, Sendable, Identifiable {
    /// The message's identifier, which it keeps when it is sent again.
    public var id: String
    /// Where it was to go.
    public var destination: Destination
    /// What to show of it: ``MessageContent/text``, which for a key is its value as JSON; empty for the deletion of a
    /// key.
    public var text: String
    /// Why it was not sent, in words for a person.
    public var reason: String
    /// When the person sent it.
    public var since: Timestamp
    /// Whether the network may have stored it all the same. A message on a topic is looked for before it is sent again;
    /// a letter is not, so that sending it again may repeat it.
    public var mayBeStored: Bool

    /// A message that the local store keeps.
    init(_ kept: KeptPublish) {
        (id, destination, mayBeStored) = (kept.message.id, kept.message.destination, kept.message.mayBeStored)
        (text, reason, since) = (kept.text, kept.state.reason ?? "", kept.since)
    }
}

extension KeptPublish {
    /// What to show of it: ``MessageContent/text``.
    package var text: String { message.content?.text ?? "" }

    /// What it is about, where it is a letter that says so.
    package var subject: String? {
        if case .letter(let letter)? = message.content { letter.subject } else { nil }
    }
}
