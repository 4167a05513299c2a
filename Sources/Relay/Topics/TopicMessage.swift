import NATS

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
    /// What to show of it: ``MessageContent/text``; nothing for an empty message. Remote text, to be made safe before
    /// it is shown.
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

    /// What it says, by the kind of message that it is.
    public var content: MessageContent { MessageContent(message) }
}

extension TopicEvent {
    /// What a stored message says, and what tells it from all others but its own repetitions.
    ///
    /// Only a reader who asks for the payload pays for reading it a second time.
    ///
    /// - Parameter bytes: the message's payload. Many messages share a buffer, and each thread that takes hold of it
    ///   waits for the others.
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
            // Nothing asks it any more: it is not copied.
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
    /// What stands behind the first token, which is the network's.
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

/// Recognises messages that the user has sent, whoever's name others write.
struct OwnMessages: Sendable {
    let user: @Sendable () -> String?
    let publisher: Publisher

    /// Whether a message is the user's own.
    func holds(_ stored: StoredMessage, _ read: TopicMessage) -> Bool {
        guard let from = read.from, let user = self.user(), from.isSame(as: user) else { return false }
        return publisher.isOwn(read.id, on: stored.subject, under: stored.headers["Nats-Msg-Id"])
    }
}

extension TopicMessage {
    /// What a message has in common with its own repetition, which its sender published once more beyond the server's
    /// own duplicate window, and with no other: anybody can use another's identifier.
    var repetition: Int {
        var hasher = Hasher()
        hasher.combine(bytesOf: id)
        hasher.combine(bytesOf: topic)
        hasher.combine(from == nil)
        hasher.combine(bytesOf: from ?? "")
        hasher.combine(bytesOf: text)
        return hasher.finalize()
    }

    /// A map that is no message of this network's, as a message of itself.
    init(whole payload: MessageMap, topic: String, sequence: UInt64, time: Timestamp, isRecovered: Bool = false) {
        let whole = MessageValue.map(payload)
        self.init(
            id: TopicMessage.id(ofSequence: sequence), topic: topic, sequence: sequence, from: nil,
            text: MessageContent(whole).text, message: whole, time: time, sentAt: time, isRecovered: isRecovered,
            payload: payload)
    }
}
