import Relay

/// A place in a conversation. Rows are in stream order; own lines that the stream does not hold yet come last.
struct RowPosition: Hashable, Comparable, Sendable {
    /// The stream's sequence, or `UInt64.max` for an own line that has none yet.
    let sequence: UInt64
    /// 0 for the message itself, more for what follows it (gaps, outages), or the number of an own line.
    let order: UInt64

    static func message(_ sequence: UInt64) -> RowPosition { RowPosition(sequence: sequence, order: 0) }
    static func pending(_ number: UInt64) -> RowPosition { RowPosition(sequence: .max, order: number) }

    static func < (left: RowPosition, right: RowPosition) -> Bool {
        left.sequence == right.sequence ? left.order < right.order : left.sequence < right.sequence
    }
}

/// A line that the stream holds.
struct StoredLine: Hashable, Sendable {
    let id: String
    let topic: String
    let sequence: UInt64
    /// The name that the sender claims, cut to a bounded length: unauthenticated text.
    let name: String
    let text: String
    var time: Timestamp
    /// Whether this user sent it, from here or another device, as the network proves. A name alone proves nothing.
    var isOwn: Bool
    /// Whether someone else has used the user's name, or one reserved for the network.
    var isClaimed = false
    /// Delivered after an outage, in its place.
    let isRecovered: Bool
    var isMention = false

    /// Whether a message with the same id says the same, to the byte: its sender published it twice.
    func isRepeated(by message: TopicMessage) -> Bool {
        name.utf8.elementsEqual(NameBook.cut(message.from ?? "").utf8)
            && text.utf8.elementsEqual(message.shownText.utf8)
    }

    /// The name as shown: one that is only claimed has a mark.
    var shownName: String { name.isEmpty ? "?" : isClaimed ? name + "?" : name }
}

/// An own line that the stream does not hold yet, or never will.
///
/// This is the row on the screen. The core's ``OutboxMessage`` has the line as it is sent, but not before the core has
/// accepted it, nor if it refused.
struct PendingLine: Hashable, Sendable {
    /// The message's id, the same for every attempt to send it.
    let id: String
    /// The line's place among the own lines.
    let number: UInt64
    let topic: String
    let text: String
    let composedAt: Timestamp
    var state: State

    /// How far the line has got.
    enum State: Hashable, Sendable {
        /// The core has not accepted it yet; that takes as long as the disk does.
        case typed
        case queued
        case sending
        /// Not sent, or perhaps not, and why. It stays until the person sends it again or discards it.
        case failed(String)
    }

    /// Whether it waits for the network rather than for the person.
    var isOutgoing: Bool { if case .failed = state { false } else { true } }
}

/// An outage that is over.
struct Outage: Hashable, Sendable {
    var began: Timestamp
    var lasted: Duration
    /// The number of outages in a row, ending with this one.
    var count = 1
}

enum ConversationRow: Hashable, Sendable {
    case message(StoredLine)
    /// The stream no longer holds `lost` messages that belong here.
    case gap(RowPosition, lost: UInt64)
    /// The stream was recreated, and begins here.
    case restart
    /// The connection was lost here, and came back.
    case outage(RowPosition, Outage)
    case pending(PendingLine)

    var position: RowPosition {
        switch self {
        case .message(let line): .message(line.sequence)
        case .gap(let position, _), .outage(let position, _): position
        case .restart: RowPosition(sequence: 0, order: 0)
        case .pending(let line): .pending(line.number)
        }
    }

    /// When the row was written, for date separators; gaps and outages have none.
    var time: Timestamp? {
        switch self {
        case .message(let line): line.time
        case .gap, .restart, .outage: nil
        case .pending(let line): line.composedAt
        }
    }
}
