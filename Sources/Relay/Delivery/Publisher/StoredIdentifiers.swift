import NATS
import NIOConcurrencyHelpers

/// The identifiers of stored messages that were read on one connection: however many messages of a topic are looked up,
/// each stored one is read once.
final class StoredIdentifiers: Sendable {
    /// A part of a topic, with the sequences of its identifiers.
    struct Part: Sendable {
        let first: UInt64
        /// Whether it covers the topic's newest messages up to the search limit.
        let isFarBack: Bool
        /// Whether it covers all of the topic's stream.
        let isWhole: Bool
        /// The sequence to continue at.
        fileprivate(set) var next: UInt64
        fileprivate(set) var places: [String: UInt64] = [:]

        init(from first: UInt64, isFarBack: Bool, isWhole: Bool) {
            self.first = max(1, first)
            (self.isFarBack, self.isWhole) = (isFarBack, isWhole)
            next = self.first
        }

        /// The sequence of the first message with this `Nats-Msg-Id`; nil if it is not in this part.
        func place(of id: String) -> UInt64? { places[id] }

        /// Adds the messages that follow.
        mutating func add(_ messages: [StoredMessage]) {
            for message in messages {
                // Anyone who has read a message can send another one with its hash.
                if let id = message.headers["Nats-Msg-Id"], places[id] == nil { places[id] = message.sequence }
                next = max(next, message.sequence + 1)
            }
        }

        /// Nothing else is stored through this sequence.
        mutating func reach(_ sequence: UInt64) { next = max(next, sequence + 1) }
    }

    /// The most identifiers remembered, each about a hundred bytes.
    static let limit = 200_000

    private let parts = NIOLockedValueBox<[String: Part]>([:])

    /// The known part of a topic after a sequence; nil for the sequence asks for one up to the search limit.
    func part(of topic: String, behind sequence: UInt64?) -> Part? {
        guard let part = parts.withLockedValue({ $0[topic] }) else { return nil }
        if let sequence { return part.first <= sequence + 1 ? part : nil }
        return part.isFarBack || part.isWhole ? part : nil
    }

    /// Remembers a part, dropping the others if all together are too many.
    func keep(_ part: Part, of topic: String) {
        parts.withLockedValue { parts in
            parts[topic] = part
            if parts.values.reduce(0, { $0 + $1.places.count }) > Self.limit { parts = [topic: part] }
        }
    }

    /// Forgets all identifiers once no search is left.
    func removeAll() { parts.withLockedValue { $0 = [:] } }
}
