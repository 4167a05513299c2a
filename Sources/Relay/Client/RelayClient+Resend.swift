/// A message that waited in the outbox for a connection (RelayX's MESSAGE_RESEND).
public struct ResentMessage: Hashable, Sendable {
    /// The message's identifier.
    public var id: String
    /// Its topic.
    public var topic: String
    /// Whether the server has stored it.
    public var wasStored: Bool
}

/// What waited for the present connection, and what became of it.
struct Resends: Sendable {
    private(set) var messages: [ResentMessage] = []
    private var places: [String: Int] = [:]
    /// More are sent all the same, and not listed.
    private static let limit = 10_000

    /// Notes what waits. What was stored before the last connection broke while it was flushed stays on the list.
    mutating func note(_ waiting: [OutboxMessage]) {
        let stored = messages.filter(\.wasStored)
        let new = waiting.map { ResentMessage(id: $0.id, topic: $0.topic, wasStored: false) }
        messages = Array((stored + new).suffix(Self.limit))
        places = [:]
        for (place, message) in messages.enumerated() { places[message.id] = place }
    }

    mutating func stored(_ id: String) {
        guard let place = places[id] else { return }
        messages[place].wasStored = true
    }

    /// The list, which is empty from then on.
    mutating func take() -> [ResentMessage] {
        defer { self = Resends() }
        return messages
    }
}

// RelayX's MESSAGE_RESEND: what became of the messages that waited.
extension RelayClient {
    /// Notes what waits, before it is sent. Letters to postboxes are not RelayX's.
    func noteResends() { resends.note(outbox.messages.filter { !$0.topic.hasPrefix("@") }) }

    /// Tells the listener of ``SystemEvent/messageResend``, with an array of ``ResentMessage``, and whoever reads
    /// ``events``.
    func reportResends() {
        let messages = resends.take()
        guard !messages.isEmpty else { return }
        systemEvents.post(.messageResend, keepsCurrent: false)
        listeners[SystemEvent.messageResend.topic]?.listener.onMessage(messages)
    }
}
