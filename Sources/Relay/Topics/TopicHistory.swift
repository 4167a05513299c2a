/// A part of a topic's past, oldest first: a collection of its messages.
public struct TopicHistory: Hashable, Sendable {
    /// The messages, oldest first.
    public var messages: [TopicMessage]
    /// What to ask for the next part with; nil when nothing was left out but what the limit left out.
    public var next: UInt64?
    /// Whether there was no connection: the messages are then what the local store has, which may be none.
    public var isOffline: Bool

    /// Makes a part.
    public init(messages: [TopicMessage], next: UInt64? = nil, isOffline: Bool = false) {
        self.messages = messages
        self.next = next
        self.isOffline = isOffline
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
