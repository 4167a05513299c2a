import NATS

extension TopicEvent {
    /// What a stored message says, and the identifier that its sender gave it.
    ///
    /// Only a reader who asks for the payload pays for reading it a second time.
    ///
    /// - Parameter bytes: the message's payload. Many messages share a buffer, and each thread that takes hold of it waits
    ///   for the others.
    static func reading(
        _ message: StoredMessage, _ bytes: UnsafeRawBufferPointer, isRecovered: Bool, withPayload: Bool = false
    ) -> (TopicEvent, id: String?) {
        let topic = topic(ofSubject: message.subject)
        let time = Timestamp(milliseconds: message.time.milliseconds)
        let payload = withPayload ? MessageMap(payload: message.payload.readableBytesView) : nil
        do throws(EnvelopeError) {
            let read = try TopicMessage(
                decoding: bytes, topic: topic, sequence: message.sequence, time: time, isRecovered: isRecovered,
                payload: payload)
            return (.message(read), read.id)
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

extension TopicMessage {
    /// A map that is no message of this network's, as a message of itself.
    init(whole payload: MessageMap, topic: String, sequence: UInt64, time: Timestamp, isRecovered: Bool = false) {
        let whole = MessageValue.map(payload)
        self.init(
            id: TopicMessage.id(ofSequence: sequence), topic: topic, sequence: sequence, from: nil,
            text: TopicMessage.text(of: whole),
            message: whole, time: time, sentAt: time, isRecovered: isRecovered, payload: payload)
    }
}
