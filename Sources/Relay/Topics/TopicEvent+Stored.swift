import NATS

extension TopicEvent {
    /// What a stored message says, and the identifier that its sender gave it.
    ///
    /// Only a reader who asks for the payload pays for reading it a second time.
    static func reading(
        _ message: StoredMessage, isRecovered: Bool, withPayload: Bool = false
    ) -> (TopicEvent, id: String?) {
        let topic = topic(ofSubject: message.subject)
        let time = Timestamp(milliseconds: message.time.milliseconds)
        let payload = withPayload ? MessageMap(payload: message.payload.readableBytesView) : nil
        do throws(EnvelopeError) {
            let envelope = try Envelope(
                decoding: message.payload.readableBytesView, fallbackID: "sequence-\(message.sequence)",
                fallbackRoom: topic, fallbackStart: time)
            let read = TopicMessage(
                envelope, topic: topic, sequence: message.sequence, time: time, isRecovered: isRecovered,
                payload: payload)
            return (.message(read), envelope.id)
        } catch {
            guard let payload else {
                return (
                    .unreadable(sequence: message.sequence, topic: topic, bytes: message.payload.readableBytes), nil
                )
            }
            let whole = MessageValue.map(payload)
            let read = TopicMessage(
                id: "sequence-\(message.sequence)", topic: topic, sequence: message.sequence, from: nil,
                text: TopicMessage.text(of: whole), message: whole, time: time, sentAt: time, isRecovered: isRecovered,
                payload: payload)
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

extension TopicMessage {
    /// What a stored message says; nil where it cannot be read.
    init?(reading message: StoredMessage, withPayload: Bool = false) {
        let event = TopicEvent.reading(message, isRecovered: false, withPayload: withPayload).0
        guard case .message(let read) = event else { return nil }
        self = read
    }
}
