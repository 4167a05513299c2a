/// A message received on a topic.
public struct TopicMessage: Hashable, Sendable, Identifiable {
    /// The sender's identifier for it, the same on every retry.
    public var id: String
    /// The concrete topic it was published to.
    public var topic: String
    /// Its place in the network's stream, which is the order of delivery.
    public var sequence: UInt64
    /// The chat line's user name, else the sending client's identifier. Unauthenticated.
    public var from: String?
    /// What to show: a chat line's text, a bare string, or JSON; nothing for an empty message. Remote text, to be made
    /// safe before it is shown.
    public var text: String
    /// The message as it was sent; null for an empty one.
    public var message: MessageValue
    /// When the server stored it.
    public var time: Timestamp
    /// When the sender sent it, by the sender's clock.
    public var sentAt: Timestamp
    /// Whether it was missed during an outage and recovered afterwards.
    public var isRecovered: Bool
    /// Whether it is the user's own: it has the user's name, and the user's key or this client has sent a message to
    /// its topic under its identifier. Who has read that message can send another one under the identifier later: the
    /// first one in the stream is the own one.
    public var isOwn: Bool
    /// Everything that the payload holds, including keys that this version gives no meaning to; nil unless it was asked
    /// for.
    public var payload: MessageMap?

    /// Whether it came without a single byte: no null has a text that is empty.
    public var isEmpty: Bool { text.isEmpty && message == .null }

    /// Makes a message.
    public init(
        id: String,
        topic: String,
        sequence: UInt64,
        from: String?,
        text: String,
        message: MessageValue,
        time: Timestamp,
        sentAt: Timestamp,
        isRecovered: Bool = false,
        isOwn: Bool = false,
        payload: MessageMap? = nil
    ) {
        self.id = id
        self.topic = topic
        self.sequence = sequence
        self.from = from
        self.text = text
        self.message = message
        self.time = time
        self.sentAt = sentAt
        self.isRecovered = isRecovered
        self.isOwn = isOwn
        self.payload = payload
    }

    /// What an envelope that arrived on a topic says.
    public init(
        _ envelope: Envelope, topic: String, sequence: UInt64, time: Timestamp, isRecovered: Bool = false,
        payload: MessageMap? = nil
    ) {
        let line = ChatLine.words(in: envelope.message)
        self.init(
            id: envelope.id,
            topic: topic,
            sequence: sequence,
            from: line?.username ?? envelope.clientID,
            text: line?.text ?? TopicMessage.text(of: envelope.message),
            message: envelope.message,
            time: time,
            sentAt: envelope.start,
            isRecovered: isRecovered,
            payload: payload
        )
    }

    /// What to show for any message: a chat line's text, a bare string as it is, anything else as JSON.
    public static func text(of message: MessageValue) -> String {
        if case .string(let text) = message { return text }
        return ChatLine.words(in: message)?.text ?? JSONText.text(message)
    }
}
