import NATS
import NIOConcurrencyHelpers

/// The identifiers of stored messages that were gone through on one connection: however many messages of a topic are
/// looked for, each that is stored is read once.
final class StoredIdentifiers: Sendable {
    /// A part of a topic, with the places of its identifiers.
    struct Part: Sendable {
        /// Where it begins.
        let first: UInt64
        /// Whether it has as many of the topic's newest messages as are gone through for one that may be stored
        /// anywhere.
        let isFarBack: Bool
        /// Whether it has all that the topic's stream has.
        let isWhole: Bool
        /// Where to go on.
        fileprivate(set) var next: UInt64
        fileprivate(set) var places: [String: UInt64] = [:]

        /// Begins a part.
        init(from first: UInt64, isFarBack: Bool, isWhole: Bool) {
            self.first = max(1, first)
            (self.isFarBack, self.isWhole) = (isFarBack, isWhole)
            next = self.first
        }

        /// Where the first message under what was sent as its `Nats-Msg-Id` is stored; nil where it is not in this
        /// part.
        func place(of id: String) -> UInt64? { places[id] }

        /// Adds messages that follow.
        mutating func add(_ messages: [StoredMessage]) {
            for message in messages {
                // Whoever has read a message can send another one under its hash.
                if let id = message.headers["Nats-Msg-Id"], places[id] == nil { places[id] = message.sequence }
                next = max(next, message.sequence + 1)
            }
        }

        /// Nothing else is stored through this sequence.
        mutating func reach(_ sequence: UInt64) { next = max(next, sequence + 1) }
    }

    /// So many identifiers are remembered, each about a hundred bytes.
    static let limit = 200_000

    private let parts = NIOLockedValueBox<[String: Part]>([:])

    /// What is known of a topic behind a sequence, or of as much of it as is gone through where that is nil.
    func part(of topic: String, behind sequence: UInt64?) -> Part? {
        guard let part = parts.withLockedValue({ $0[topic] }) else { return nil }
        if let sequence { return part.first <= sequence + 1 ? part : nil }
        return part.isFarBack || part.isWhole ? part : nil
    }

    /// Remembers a part. Others give way where all together are too many.
    func keep(_ part: Part, of topic: String) {
        parts.withLockedValue { parts in
            parts[topic] = part
            if parts.values.reduce(0, { $0 + $1.places.count }) > Self.limit { parts = [topic: part] }
        }
    }

    /// Forgets all: nothing is looked for any more.
    func removeAll() { parts.withLockedValue { $0 = [:] } }
}
