/// A message that waited in the outbox for a connection (RelayX's MESSAGE_RESEND).
public struct ResentMessage: Hashable, Sendable {
    /// The message's identifier.
    public var id: String
    /// Its topic. For a change to a key, `$KV.` and the key, which no topic can be.
    public var topic: String
    /// Whether the server has stored it.
    public var wasStored: Bool
}

/// The messages that waited for the present connection, and their outcomes. RelayX has no letters, so these are left
/// out.
struct ResentMessages: Sendable {
    private(set) var messages: [ResentMessage] = []
    private var places: [String: Int] = [:]
    /// Further messages are sent but not listed.
    private static let limit = 10_000

    /// Adds waiting messages. Those stored before a connection broke during its flush stay listed.
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

    /// Returns the list and empties it.
    mutating func take() -> [ResentMessage] { exchange(&self, with: ResentMessages()).messages }
}
