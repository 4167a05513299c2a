import NATS

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
    ) -> (TopicEvent, id: String?) {
        let topic = topic(ofSubject: message.subject)
        let time = Timestamp(milliseconds: message.time.milliseconds)
        let payload = withPayload ? MessageMap(payload: message.payload.readableBytesView) : nil
        do throws(EnvelopeError) {
            var read = try TopicMessage(
                decoding: bytes, topic: topic, sequence: message.sequence, time: time, isRecovered: isRecovered,
                payload: payload)
            if let own, own.holds(message, read) { read.isOwn = true }
            return (.message(read), read.repetition)
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

extension TopicEvent {
    /// What stands behind the first token, which is the network's.
    private static func topic(ofSubject subject: String) -> String {
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
        guard let from = read.from, from == user() else { return false }
        return publisher.isOwn(read.id, on: stored.subject, under: stored.headers["Nats-Msg-Id"])
    }
}

extension TopicMessage {
    /// What a message has in common with its own repetition, which its sender published once more beyond the server's
    /// own duplicate window, and with no other: anybody can use another's identifier.
    var repetition: String {
        var hasher = Hasher()
        hasher.combine(id)
        hasher.combine(topic)
        hasher.combine(from)
        hasher.combine(text)
        return String(UInt(bitPattern: hasher.finalize()), radix: 36)
    }

    /// A map that is no message of this network's, as a message of itself.
    init(whole payload: MessageMap, topic: String, sequence: UInt64, time: Timestamp, isRecovered: Bool = false) {
        let whole = MessageValue.map(payload)
        self.init(
            id: TopicMessage.id(ofSequence: sequence), topic: topic, sequence: sequence, from: nil,
            text: TopicMessage.text(of: whole),
            message: whole, time: time, sentAt: time, isRecovered: isRecovered, payload: payload)
    }
}
