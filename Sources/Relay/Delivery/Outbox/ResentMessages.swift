/// A message that waited in the outbox for a connection (RelayX's MESSAGE_RESEND).
public struct ResentMessage: Hashable, Sendable {
    /// The message's identifier.
    public var id: String
    /// Its topic. Of a change to a key it is `$KV.` with the key, as no topic is.
    public var topic: String
    /// Whether the server has stored it.
    public var wasStored: Bool
}

/// What waited for the present connection, and what became of it. Letters to postboxes are not RelayX's.
struct ResentMessages: Sendable {
    private(set) var messages: [ResentMessage] = []
    private var places: [String: Int] = [:]
    /// More are still sent, but not listed.
    private static let limit = 10_000

    /// Notes what waits. What was stored before the last connection broke while it was flushed stays on the list.
    mutating func note(_ waiting: [OutboxMessage]) {
        let stored = messages.filter(\.wasStored)
        let new = waiting.compactMap { message -> ResentMessage? in
            if case .postbox = message.destination { return nil }
            return ResentMessage(id: message.id, topic: "\(message.destination)", wasStored: false)
        }
        messages = Array((stored + new).suffix(Self.limit))
        places = [:]
        for (place, message) in messages.enumerated() { places[message.id] = place }
    }

    mutating func stored(_ id: String) {
        guard !places.isEmpty, let place = places[id] else { return }
        messages[place].wasStored = true
    }

    /// The list, which is empty from then on.
    mutating func take() -> [ResentMessage] {
        defer { self = ResentMessages() }
        return messages
    }
}
