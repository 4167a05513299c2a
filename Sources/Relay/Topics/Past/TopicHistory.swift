/// A part of a topic's history, oldest first: a collection of its messages.
public struct TopicHistory: Hashable, Sendable {
    /// The messages, oldest first.
    public var messages: [TopicMessage]
    /// The position of the next part; nil if there is none within the range.
    public var next: UInt64?
    /// Whether there was no connection, so that the messages are only those of the local store.
    public var isOffline: Bool
    /// Messages of this part that cannot be decoded, oldest first.
    public var unreadable: [KeptMessage] = []
    /// Where messages are missing between the others.
    public var gaps: [KeptGap] = []
    /// For a part requested from its end: whether nothing precedes it. While offline, nothing in the local store; the
    /// network may have more.
    public var isComplete = false
    /// Whether the requested place is in an earlier incarnation of the stream, so that this part begins with the
    /// stream.
    public var isRestarted = false
    /// While offline: the server time up to which everything was received; nil without any messages.
    public var asOf: Timestamp?
    /// The stream of the messages; nil if unknown.
    public var stream: StreamIdentity?

    /// Creates a part.
    public init(messages: [TopicMessage], next: UInt64? = nil, isOffline: Bool = false) {
        self.messages = messages
        self.next = next
        self.isOffline = isOffline
    }

    /// The place of the newest message, to continue after it another time; nil without messages.
    public var place: KeptPlace? {
        guard let stream, let last = messages.last else { return nil }
        return KeptPlace(stream: stream, sequence: last.sequence)
    }
}

extension TopicHistory: RandomAccessCollection {
    /// The position of the oldest message.
    public var startIndex: Int { messages.startIndex }
    /// The position after the newest message.
    public var endIndex: Int { messages.endIndex }
    /// A message by its position.
    public subscript(position: Int) -> TopicMessage { messages[position] }
}
