import NATS
import NIOCore

/// Messages that came together, as bytes: the form in which they wait to be kept, and in which those of a burst are kept
/// until there is time to make rows of them.
///
/// Hundreds of thousands a second pass here, from the task that received them to the store's own: a message is a copy of
/// its bytes and no object, which one thread would make and another destroy. SQLite takes some 3 µs for a message as a
/// row, and a tenth of that for its part of a large value. A value names its streams and topics itself, so that it says
/// all about its messages.
package struct EncodedMessages: Hashable, Sendable {
    /// The value.
    let bytes: ByteBuffer
    /// How many messages there are.
    package let count: Int
    /// How many bytes their payloads have.
    package let payloadBytes: Int
    /// How many messages were left out, as they have no place in a store.
    let refused: Int

    /// A value ends with the message that makes it larger than this. To make rows of it takes some ten milliseconds.
    static let usualBytes = 1 << 20

    private static let version: UInt8 = 1
    /// The version, and where the names begin.
    private static let headBytes = 1 + MemoryLayout<UInt32>.size

    /// The messages, in the order in which they came.
    package var messages: [KeptMessage] { Self.messages(in: bytes) ?? [] }

    /// Encodes messages, in as few values as bounded ones allow.
    package static func encoding(_ messages: [KeptMessage]) -> [EncodedMessages] {
        var writer = Writer()
        var values: [EncodedMessages] = []
        for message in messages {
            writer.write(message)
            if writer.isFull { values.append(writer.take()) }
        }
        return writer.isEmpty ? values : values + [writer.take()]
    }

    /// Writes one value after another.
    struct Writer {
        private var names = Names()
        private var buffer = ByteBuffer()
        private var (count, payloadBytes, refused) = (0, 0, 0)

        /// Whether a value has nothing yet.
        var isEmpty: Bool { count == 0 && refused == 0 }
        /// Whether the next message belongs to another value.
        var isFull: Bool { buffer.writerIndex >= EncodedMessages.usualBytes }

        /// Adds a message.
        mutating func write(_ message: KeptMessage) {
            let place = message.place
            let isKept = write(
                place.stream, place.sequence, message.topic, id: message.id, from: message.from, message.time,
                bytes: message.payload.count)
            if isKept { buffer.writeBytes(message.payload) }
        }

        /// Adds a message as the server sent it, with what the reading of it found.
        ///
        /// - Parameters:
        ///   - stored: the message as the server sent it.
        ///   - stream: the stream that holds it.
        ///   - read: what it says; nil where it cannot be read.
        mutating func write(_ stored: StoredMessage, of stream: StreamIdentity, _ read: KeptReading) {
            let payload = stored.payload
            let isKept = write(
                stream, stored.sequence, read.topic, id: read.message?.id, from: read.message?.from,
                Timestamp(milliseconds: stored.time.milliseconds), bytes: payload.readableBytes)
            if isKept { buffer.writeImmutableBuffer(payload) }
        }

        /// Writes all but the payload.
        ///
        /// - Returns: whether the message has a place in a store.
        private mutating func write(
            _ stream: StreamIdentity, _ sequence: UInt64, _ topic: String, id: String?, from: String?,
            _ time: Timestamp, bytes payload: Int
        ) -> Bool {
            guard sequence < RowNumber.sequences else {
                refused += 1
                return false
            }
            if buffer.writerIndex == 0 { buffer.writeMultipleIntegers(EncodedMessages.version, UInt32(0)) }
            let (stream, topic) = names.indices(of: stream, topic)
            buffer.writeMultipleIntegers(
                sequence, time.milliseconds, stream, topic, Names.length(of: id), Names.length(of: from),
                UInt32(clamping: payload))
            if let id { buffer.writeString(id) }
            if let from { buffer.writeString(from) }
            count += 1
            payloadBytes += payload
            return true
        }

        /// Returns the finished value and starts an empty one.
        mutating func take() -> EncodedMessages {
            if count > 0 {
                buffer.setInteger(UInt32(clamping: buffer.writerIndex), at: 1)
                names.write(to: &buffer)
            }
            defer { self = Writer() }
            return EncodedMessages(bytes: buffer, count: count, payloadBytes: payloadBytes, refused: refused)
        }
    }

    /// Reads a value's messages; nil where it is damaged.
    static func messages(in bytes: ByteBuffer) -> [KeptMessage]? {
        var head = bytes
        guard let (version, bodyEnd) = head.readMultipleIntegers(as: (UInt8, UInt32).self), version == Self.version,
            bodyEnd >= Self.headBytes, bodyEnd <= bytes.readableBytes,
            var body = head.readSlice(length: Int(bodyEnd) - Self.headBytes), let names = Names(reading: &head)
        else { return nil }
        var messages: [KeptMessage] = []
        while body.readableBytes > 0 {
            guard let message = names.readMessage(from: &body) else { return nil }
            messages.append(message)
        }
        return messages
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

        static func length(of text: String?) -> Int32 { text.map { Int32(clamping: $0.utf8.count) } ?? absent }

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

        mutating func indices(of stream: StreamIdentity, _ topic: String) -> (stream: UInt32, topic: UInt32) {
            if let newest, newest.topic == topic, newest.stream == stream {
                return (newest.streamIndex, newest.topicIndex)
            }
            let streamIndex = streamIndices[stream] ?? UInt32(clamping: streams.count)
            if streamIndex == streams.count {
                streams.append(stream)
                streamIndices[stream] = streamIndex
            }
            let topicIndex = topicIndices[topic] ?? UInt32(clamping: topics.count)
            if topicIndex == topics.count {
                topics.append(topic)
                topicIndices[topic] = topicIndex
            }
            newest = (stream, streamIndex, topic, topicIndex)
            return (streamIndex, topicIndex)
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
