import NATS
import NIOCore

/// Messages that came together, as bytes: the form in which they wait to be kept, and in which those of a burst are
/// kept until there is time to make rows of them.
///
/// Hundreds of thousands a second pass here, from the task that received them to the store's own: a message is a copy
/// of its bytes and no object, which one thread would make and another destroy. SQLite takes some 3 µs for a message as
/// a row, and a tenth of that for its part of a large value. A value names its streams and topics itself, so that it
/// says all about its messages.
package struct EncodedMessages: Hashable, Sendable {
    /// The value behind its length, as it stands in a file.
    let framed: ByteBuffer
    /// How many messages there are.
    package let count: Int
    /// How many bytes their payloads have.
    package let payloadBytes: Int
    /// How many messages were left out, as they have no place in a store.
    let refused: Int

    /// A value ends with the message that makes it larger than this. To make rows of it takes some ten milliseconds.
    static let usualBytes = 1 << 20

    /// The bytes of the length before a value.
    static let lengthBytes = MemoryLayout<UInt32>.size
    private static let version: UInt8 = 2
    /// The version, and where the names begin.
    private static let headBytes = 1 + MemoryLayout<UInt32>.size

    /// The value.
    var bytes: ByteBuffer {
        var bytes = framed
        bytes.moveReaderIndex(forwardBy: min(Self.lengthBytes, bytes.readableBytes))
        return bytes.slice()
    }

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
        /// So many bytes are expected for the first value.
        private let expected: Int

        /// Makes a writer.
        ///
        /// - Parameter expected: so many bytes may come together; it saves the growing.
        init(expecting expected: Int = 0) { self.expected = min(max(expected, 512), 2 * EncodedMessages.usualBytes) }

        /// Whether a value has nothing yet.
        var isEmpty: Bool { count == 0 && refused == 0 }
        /// Whether the next message belongs to another value.
        var isFull: Bool { buffer.writerIndex >= EncodedMessages.usualBytes }
        /// How many bytes have been written.
        var bytes: Int { buffer.writerIndex }

        /// Adds a message.
        mutating func write(_ message: KeptMessage) {
            let place = message.place
            message.payload.withUnsafeBytes { payload in
                write(
                    place.stream, place.sequence, message.topic, id: message.id, from: message.from, message.time,
                    message.isOwn, payload)
            }
        }

        /// Adds a message as the server sent it, with what the reading of it found.
        ///
        /// - Parameters:
        ///   - stored: the message as the server sent it.
        ///   - payload: its payload's bytes.
        ///   - stream: the stream that holds it.
        ///   - topic: the topic that its subject stands for.
        ///   - id: the sender's identifier for it; nil where it has none or cannot be read.
        ///   - from: whom it says it is from.
        ///   - isOwn: whether it is the user's own.
        mutating func write(
            _ stored: StoredMessage, _ payload: UnsafeRawBufferPointer, of stream: StreamIdentity, topic: String,
            id: String?, from: String?, isOwn: Bool = false
        ) {
            let time = Timestamp(milliseconds: stored.time.milliseconds)
            write(stream, stored.sequence, topic, id: id, from: from, time, isOwn, payload)
        }

        /// Writes a message at once, as each call of the buffer's costs as much as its bytes.
        private mutating func write(
            _ stream: StreamIdentity, _ sequence: UInt64, _ topic: String, id: String?, from: String?,
            _ time: Timestamp, _ isOwn: Bool, _ payload: UnsafeRawBufferPointer
        ) {
            guard sequence < RowNumber.sequences else { return refused += 1 }
            if buffer.writerIndex == 0 {
                buffer.reserveCapacity(expected)
                // The length of all, and that of the messages, are known at the end.
                buffer.writeMultipleIntegers(UInt32(0), EncodedMessages.version, UInt32(0))
            }
            let (stream, topic) = names.indices(of: stream, topic)
            let (idBytes, fromBytes) = (id?.utf8.count ?? 0, from?.utf8.count ?? 0)
            let length = Self.headBytes + idBytes + fromBytes + payload.count
            buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: length) { room in
                var room = room
                Self.put(sequence, into: &room)
                Self.put(time.milliseconds, into: &room)
                Self.put(stream, into: &room)
                Self.put(topic, into: &room)
                Self.put(id == nil ? Names.absent : Int32(clamping: idBytes), into: &room)
                Self.put(from == nil ? Names.absent : Int32(clamping: fromBytes), into: &room)
                Self.put(UInt32(clamping: payload.count), into: &room)
                Self.put(UInt8(isOwn ? 1 : 0), into: &room)
                if let id { Self.put(id, idBytes, into: &room) }
                if let from { Self.put(from, fromBytes, into: &room) }
                room.copyMemory(from: payload)
                return length
            }
            count += 1
            payloadBytes += payload.count
        }

        /// The bytes before a message's texts: its place, its time, its names, how long its texts and its payload are,
        /// and whose it is.
        private static let headBytes = 2 * MemoryLayout<UInt64>.size + 5 * MemoryLayout<UInt32>.size + 1

        private static func put(_ value: some FixedWidthInteger, into room: inout UnsafeMutableRawBufferPointer) {
            let value = value.bigEndian
            room.storeBytes(of: value, as: type(of: value))
            room = UnsafeMutableRawBufferPointer(rebasing: room[MemoryLayout.size(ofValue: value)...])
        }

        private static func put(_ text: String, _ bytes: Int, into room: inout UnsafeMutableRawBufferPointer) {
            let isCopied: Void? = text.utf8.withContiguousStorageIfAvailable {
                room.copyMemory(from: UnsafeRawBufferPointer($0))
            }
            if isCopied == nil { room.copyBytes(from: text.utf8) }
            room = UnsafeMutableRawBufferPointer(rebasing: room[bytes...])
        }

        /// Returns the finished value and starts an empty one.
        mutating func take() -> EncodedMessages {
            if count > 0 {
                let head = EncodedMessages.lengthBytes
                buffer.setInteger(UInt32(clamping: buffer.writerIndex - head), at: head + 1)
                names.write(to: &buffer)
                buffer.setInteger(UInt32(clamping: buffer.writerIndex - head), at: 0, endianness: .little)
            }
            defer { self = Writer(expecting: expected) }
            return EncodedMessages(framed: buffer, count: count, payloadBytes: payloadBytes, refused: refused)
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
        fileprivate static let absent: Int32 = -1
        /// Messages of one topic mostly come together. The newest ones' names are compared where they are, as a copy of
        /// a text costs more than that.
        private var newestStream = StreamIdentity(name: "", incarnation: 0)
        private var newestTopic = ""
        private var newestIndices: (stream: UInt32, topic: UInt32)?

        init() {}

        // MARK: Writing

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
            if let newestIndices, newestTopic == topic, newestStream == stream { return newestIndices }
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
            (newestStream, newestTopic, newestIndices) = (stream, topic, (streamIndex, topicIndex))
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
                let (sequence, time, stream, topic, idBytes, fromBytes, payloadBytes, own) =
                    buffer.readMultipleIntegers(
                        as: (UInt64, Int64, UInt32, UInt32, Int32, Int32, UInt32, UInt8).self),
                stream < streams.count, topic < topics.count,
                let id = Self.readText(idBytes, from: &buffer), let from = Self.readText(fromBytes, from: &buffer),
                let payload = buffer.readBytes(length: Int(payloadBytes))
            else { return nil }
            return KeptMessage(
                place: KeptPlace(stream: streams[Int(stream)], sequence: sequence), topic: topics[Int(topic)],
                id: id, from: from, time: Timestamp(milliseconds: time), payload: payload, isOwn: own == 1)
        }

        /// Nil where the value ends too early, and an absent text otherwise.
        private static func readText(_ length: Int32, from buffer: inout ByteBuffer) -> String?? {
            if length == absent { return .some(nil) }
            guard length >= 0, let text = buffer.readString(length: Int(length)) else { return nil }
            return text
        }
    }
}
