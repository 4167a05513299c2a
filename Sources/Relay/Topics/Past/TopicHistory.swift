/// A part of a topic's past, oldest first: a collection of its messages.
public struct TopicHistory: Hashable, Sendable {
    /// The messages, oldest first.
    public var messages: [TopicMessage]
    /// What to ask for the next part with; nil when nothing was left out but what the limit left out.
    public var next: UInt64?
    /// Whether there was no connection: the messages are then what the local store has, which may be none.
    public var isOffline: Bool
    /// What belongs to this part and cannot be read, oldest first.
    public var unreadable: [KeptMessage] = []
    /// Where messages are missing between those that came.
    public var gaps: [KeptGap] = []
    /// Of a part that was asked for from its end: whether nothing is before it. While offline, nothing in the local
    /// store; the network may have more.
    public var isComplete = false
    /// Whether the place that was asked for is in an earlier life of the stream, so that this part begins with the
    /// stream.
    public var isRestarted = false
    /// Of what is told while offline: up to when all was received that this machine has, by the server's clock. Nil
    /// where it has nothing.
    public var asOf: Timestamp?
    /// The stream that has the messages; nil where that is not known.
    public var stream: StreamIdentity?

    /// Makes a part.
    public init(messages: [TopicMessage], next: UInt64? = nil, isOffline: Bool = false) {
        self.messages = messages
        self.next = next
        self.isOffline = isOffline
    }

    /// The place of the newest message, to go on behind it another time; nil without messages.
    public var place: KeptPlace? {
        guard let stream, let last = messages.last else { return nil }
        return KeptPlace(stream: stream, sequence: last.sequence)
    }
}

extension TopicHistory: RandomAccessCollection {
    /// The place of the oldest message.
    public var startIndex: Int { messages.startIndex }
    /// The place behind the newest message.
    public var endIndex: Int { messages.endIndex }
    /// A message by its place.
    public subscript(position: Int) -> TopicMessage { messages[position] }
}
