import NIOCore

/// Messages that came in a burst, many in one value: the form in which they are kept until there is time to make rows of
/// them.
///
/// SQLite takes some 3 µs for a message as a row, and a tenth of that for its part of a large value, which is little more
/// than a copy. A value names its streams and topics itself, so that it says all about its messages.
struct StagedMessages: Hashable, Sendable {
    /// The messages, in the order in which they came.
    var messages: [KeptMessage]

    /// A value ends with the message that makes it larger than this. To make rows of it takes some ten milliseconds.
    static let usualBytes = 1 << 20

    fileprivate static let version: UInt8 = 1
    /// The version, and where the names begin.
    fileprivate static let headBytes = 1 + MemoryLayout<UInt32>.size

    /// Writes one value after another.
    struct Writer {
        private var names = Names()
        private var buffer = Writer.head

        private static let head: ByteBuffer = {
            var buffer = ByteBuffer()
            buffer.writeInteger(StagedMessages.version)
            buffer.writeInteger(UInt32(0))
            return buffer
        }()

        /// Whether a value has no message yet.
        var isEmpty: Bool { buffer.writerIndex == StagedMessages.headBytes }
        /// Whether the next message belongs to another value.
        var isFull: Bool { buffer.writerIndex >= StagedMessages.usualBytes }

        /// Adds a message.
        mutating func write(_ message: KeptMessage) { names.write(message, to: &buffer) }

        /// The value; what is written then is another's.
        mutating func take() -> ByteBuffer {
            buffer.setInteger(UInt32(clamping: buffer.writerIndex), at: 1)
            names.write(to: &buffer)
            defer { (names, buffer) = (Names(), Writer.head) }
            return buffer
        }
    }

    /// Reads a value; nil where it is damaged.
    init?(_ bytes: ByteBuffer) {
        var head = bytes
        guard let (version, bodyEnd) = head.readMultipleIntegers(as: (UInt8, UInt32).self), version == Self.version,
            bodyEnd >= Self.headBytes, bodyEnd <= bytes.readableBytes,
            var body = head.readSlice(length: Int(bodyEnd) - Self.headBytes), let names = Names(reading: &head)
        else { return nil }
        messages = []
        while body.readableBytes > 0 {
            guard let message = names.readMessage(from: &body) else { return nil }
            messages.append(message)
        }
    }

    /// The streams and topics of a value's messages, each once.
    fileprivate struct Names {
        private var streams: [StreamIdentity] = []
        private var topics: [String] = []
        private var streamIndices: [StreamIdentity: UInt32] = [:]
        private var topicIndices: [String: UInt32] = [:]
        /// The length of no text, as against an empty one.
        private static let absent: Int32 = -1
        /// Messages of one topic mostly come together.
        private var newest: (stream: StreamIdentity, streamIndex: UInt32, topic: String, topicIndex: UInt32)?

        init() {}

        // MARK: Writing

        mutating func write(_ message: KeptMessage, to buffer: inout ByteBuffer) {
            let (stream, topic) = indices(of: message)
            buffer.writeMultipleIntegers(
                message.place.sequence, message.time.milliseconds, stream, topic,
                Self.length(of: message.id), Self.length(of: message.from), UInt32(clamping: message.payload.count))
            if let id = message.id { buffer.writeString(id) }
            if let from = message.from { buffer.writeString(from) }
            buffer.writeBytes(message.payload)
        }

        private static func length(of text: String?) -> Int32 { text.map { Int32(clamping: $0.utf8.count) } ?? absent }

        func write(to buffer: inout ByteBuffer) {
            buffer.writeMultipleIntegers(UInt32(clamping: streams.count), UInt32(clamping: topics.count))
            for stream in streams {
                buffer.writeInteger(stream.incarnation)
                Self.write(stream.name, to: &buffer)
            }
            for topic in topics { Self.write(topic, to: &buffer) }
        }

        private static func write(_ name: String, to buffer: inout ByteBuffer) {
            buffer.writeInteger(UInt32(clamping: name.utf8.count))
            buffer.writeString(name)
        }

        private mutating func indices(of message: KeptMessage) -> (stream: UInt32, topic: UInt32) {
            if let newest, newest.topic == message.topic, newest.stream == message.place.stream {
                return (newest.streamIndex, newest.topicIndex)
            }
            let stream = streamIndices[message.place.stream] ?? UInt32(clamping: streams.count)
            if stream == streams.count {
                streams.append(message.place.stream)
                streamIndices[message.place.stream] = stream
            }
            let topic = topicIndices[message.topic] ?? UInt32(clamping: topics.count)
            if topic == topics.count {
                topics.append(message.topic)
                topicIndices[message.topic] = topic
            }
            newest = (message.place.stream, stream, message.topic, topic)
            return (stream, topic)
        }

        // MARK: Reading

        init?(reading buffer: inout ByteBuffer) {
            guard let (streamCount, topicCount) = buffer.readMultipleIntegers(as: (UInt32, UInt32).self) else {
                return nil
            }
            for _ in 0..<streamCount {
                guard let incarnation = buffer.readInteger(as: UInt64.self), let name = Self.readName(from: &buffer)
                else { return nil }
                streams.append(StreamIdentity(name: name, incarnation: incarnation))
            }
            for _ in 0..<topicCount {
                guard let name = Self.readName(from: &buffer) else { return nil }
                topics.append(name)
            }
        }

        private static func readName(from buffer: inout ByteBuffer) -> String? {
            guard let length = buffer.readInteger(as: UInt32.self), length <= buffer.readableBytes else { return nil }
            return buffer.readString(length: Int(length))
        }

        func readMessage(from buffer: inout ByteBuffer) -> KeptMessage? {
            guard
                let (sequence, time, stream, topic, idBytes, fromBytes, payloadBytes) = buffer.readMultipleIntegers(
                    as: (UInt64, Int64, UInt32, UInt32, Int32, Int32, UInt32).self),
                stream < streams.count, topic < topics.count,
                let id = Self.readText(idBytes, from: &buffer), let from = Self.readText(fromBytes, from: &buffer),
                let payload = buffer.readBytes(length: Int(payloadBytes))
            else { return nil }
            return KeptMessage(
                place: KeptPlace(stream: streams[Int(stream)], sequence: sequence), topic: topics[Int(topic)],
                id: id, from: from, time: Timestamp(milliseconds: time), payload: payload)
        }

        /// Nil where the value ends too early, and an absent text otherwise.
        private static func readText(_ length: Int32, from buffer: inout ByteBuffer) -> String?? {
            if length == absent { return .some(nil) }
            guard length >= 0, let text = buffer.readString(length: Int(length)) else { return nil }
            return text
        }
    }
}
