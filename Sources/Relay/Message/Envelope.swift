import NIOConcurrencyHelpers

/// One message as RelayX's SDKs put it on the wire: a MessagePack map `{client_id, id, room, message, start}`.
public struct Envelope: Hashable, Sendable {
    /// Which client sent it; some SDKs leave it out.
    public var clientID: String?
    /// The message's identifier, the same on every retry.
    public var id: String
    /// The topic as the sender wrote it.
    public var room: String
    /// What was sent.
    public var message: MessageValue
    /// When the sender sent it, by the sender's clock.
    public var start: Timestamp
    /// Entries that this version does not know, in order. They are kept and encoded again after the known ones.
    public var unknown: [MessageMap.Entry]

    /// Makes an envelope.
    public init(
        clientID: String? = nil,
        id: String,
        room: String,
        message: MessageValue,
        start: Timestamp,
        unknown: [MessageMap.Entry] = []
    ) {
        self.clientID = clientID
        self.id = id
        self.room = room
        self.message = message
        self.start = start
        self.unknown = unknown
    }

    /// The bytes to publish: the five keys in the order above, then the unknown ones.
    public func encoded() -> [UInt8] {
        var writer = MessagePackWriter(capacity: 192)
        Self.write(clientID, id, room, start, further: unknown.count, into: &writer) { $0.write(message) }
        for entry in unknown {
            writer.write(entry.key)
            writer.write(entry.value)
        }
        return writer.bytes
    }

    /// The bytes to publish for a line of chat, as ``ChatLine/value`` in an envelope has them.
    static func encoded(_ line: ChatLine, clientID: String?, id: String, room: String, start: Timestamp) -> [UInt8] {
        // Enough for the keys, two identifiers and the times; the texts are what differs.
        var writer = MessagePackWriter(
            capacity: 224 + room.utf8.count + line.username.utf8.count + line.text.utf8.count)
        write(clientID, id, room, start, further: 0, into: &writer) { writer in
            writer.writeMapHeader(count: line.timestamp == nil ? 2 : 3)
            writer.write("username")
            writer.write(line.username)
            writer.write("text")
            writer.write(line.text)
            guard let timestamp = line.timestamp else { return }
            writer.write("timestamp")
            writer.write(text(of: timestamp))
        }
        return writer.bytes
    }

    /// The newest moment that was written: of many lines a second, most share theirs with the one before.
    private static let newest = NIOLockedValueBox<(moment: Timestamp, text: String)?>(nil)

    private static func text(of moment: Timestamp) -> String {
        newest.withLockedValue { newest in
            if let newest, newest.moment == moment { return newest.text }
            let text = moment.iso8601
            newest = (moment, text)
            return text
        }
    }

    @inline(__always)
    private static func write(
        _ clientID: String?, _ id: String, _ room: String, _ start: Timestamp, further: Int,
        into writer: inout MessagePackWriter, message: (inout MessagePackWriter) -> Void
    ) {
        writer.writeMapHeader(count: (clientID == nil ? 4 : 5) + further)
        if let clientID {
            writer.write("client_id")
            writer.write(clientID)
        }
        writer.write("id")
        writer.write(id)
        writer.write("room")
        writer.write(room)
        writer.write("message")
        message(&writer)
        writer.write("start")
        writer.write(start.milliseconds)
    }
}

/// Why a payload is not a message that Parley can show.
public enum EnvelopeError: Error, Hashable, Sendable {
    /// The payload is not MessagePack.
    case malformed(MessageCodingError)
    /// The payload is MessagePack, and not a map.
    case notAMap
    /// The map has no usable value under this key, and the caller gave no fallback.
    case missing(String)
}

extension EnvelopeError: CustomStringConvertible {
    /// What is wrong, for a placeholder row.
    public var description: String {
        switch self {
        case .malformed(let error): error.description
        case .notAMap: "the payload is not a message map"
        case .missing(let key): "the message map has no usable \(key)"
        }
    }
}

extension RelayError {
    /// The same refusal as a client error.
    public init(_ error: EnvelopeError) {
        self = .invalidMessage(error.description)
    }
}
