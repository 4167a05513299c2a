import NATS

/// A message received on a topic.
public struct TopicMessage: Hashable, Sendable, Identifiable {
    /// The sender's identifier for it, the same on every retry.
    public var id: String
    /// The concrete topic it was published to.
    public var topic: String
    /// Its sequence in the network's stream, which is the order of delivery.
    public var sequence: UInt64
    /// The chat line's user name, else the sending client's identifier. Unauthenticated.
    public var from: String?
    /// The text to show: ``MessageContent/text``, empty for an empty message. Remote text: make it safe before showing
    /// it.
    public var text: String
    /// The message as it was sent; null for an empty one.
    public var message: MessageValue
    /// When the server stored it.
    public var time: Timestamp
    /// When the sender sent it, by the sender's clock.
    public var sentAt: Timestamp
    /// Whether it was missed during an outage and recovered later.
    public var isRecovered: Bool
    /// Whether it is the user's own: it has the user's name, and the user's key or this client has sent a message with
    /// its identifier to its topic. Anyone who has read that message can later send another one with the identifier:
    /// the first one in the stream is the user's own.
    public var isOwn: Bool
    /// The entire payload, including keys without a meaning here; nil unless it was requested.
    public var payload: MessageMap?

    /// Whether it had no bytes: a null has a text that is not empty.
    public var isEmpty: Bool { text.isEmpty && message == .null }

    /// Creates a message.
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

    /// The content, by its kind.
    public var content: MessageContent { MessageContent(message) }
}

extension TopicEvent {
    /// Decodes a stored message, and returns a hash that only it and its repetitions share.
    ///
    /// Only a reader who requests the payload pays for decoding it a second time.
    ///
    /// - Parameter bytes: The message's payload. Many messages share a buffer, so each additional retain would contend
    ///   with other threads.
    static func reading(
        _ message: StoredMessage, _ bytes: UnsafeRawBufferPointer, isRecovered: Bool, withPayload: Bool = false,
        own: OwnMessages?
    ) -> (TopicEvent, repetition: Int?) {
        let topic = TopicMessage.topic(ofSubject: message.subject)
        let time = Timestamp(milliseconds: message.time.milliseconds)
        let payload = withPayload ? MessageMap(payload: message.payload.readableBytesView) : nil
        do throws(EnvelopeError) {
            var read = try TopicMessage(
                decoding: bytes, topic: topic, sequence: message.sequence, time: time, isRecovered: isRecovered,
                payload: payload)
            if let own, own.holds(message, read) { read.isOwn = true }
            let repetition = read.repetition
            // Consumed, because a copy would be costly.
            return (.message(consume read), repetition)
        } catch {
            guard let payload else {
                return (.unreadable(sequence: message.sequence, topic: topic, bytes: bytes.count), nil)
            }
            let read = TopicMessage(
                whole: payload, topic: topic, sequence: message.sequence, time: time, isRecovered: isRecovered)
            return (.message(read), nil)
        }
    }
}

extension TopicMessage {
    /// The topic of a subject: everything after the first token, which is the network's.
    static func topic(ofSubject subject: String) -> String {
        var subject = subject
        return subject.withUTF8 { bytes in
            guard let dot = bytes.firstIndex(of: UInt8(ascii: ".")) else {
                return String(decoding: bytes, as: UTF8.self)
            }
            return String(decoding: UnsafeBufferPointer(rebasing: bytes[(dot + 1)...]), as: UTF8.self)
        }
    }
}

/// Recognises the user's own messages, whatever name others use.
struct OwnMessages: Sendable {
    let user: @Sendable () -> String?
    let publisher: Publisher

    func holds(_ stored: StoredMessage, _ read: TopicMessage) -> Bool {
        guard let from = read.from, let user = self.user(), from.isSame(as: user) else { return false }
        return publisher.isOwn(read.id, on: stored.subject, under: stored.headers["Nats-Msg-Id"])
    }
}

extension TopicMessage {
    /// A hash that a message shares only with repetitions, which its sender published outside the server's duplicate
    /// window. It covers more than the identifier, which others could copy.
    var repetition: Int {
        var hasher = Hasher()
        hasher.combine(bytesOf: id)
        hasher.combine(bytesOf: topic)
        hasher.combine(from == nil)
        hasher.combine(bytesOf: from ?? "")
        hasher.combine(bytesOf: text)
        return hasher.finalize()
    }

    /// A message for a map that is no message of this network.
    init(whole payload: MessageMap, topic: String, sequence: UInt64, time: Timestamp, isRecovered: Bool = false) {
        let whole = MessageValue.map(payload)
        self.init(
            id: TopicMessage.id(ofSequence: sequence), topic: topic, sequence: sequence, from: nil,
            text: MessageContent(whole).text, message: whole, time: time, sentAt: time, isRecovered: isRecovered,
            payload: payload)
    }
}
