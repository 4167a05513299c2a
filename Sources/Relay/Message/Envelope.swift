/// One message in the wire format of RelayX's SDKs: a MessagePack map `{client_id, id, room, message, start}`.
public struct Envelope: Hashable, Sendable {
    /// The client that sent it; some SDKs leave it out.
    public var clientID: String?
    /// The message's identifier, the same on every retry.
    public var id: String
    /// The topic as the sender wrote it.
    public var room: String
    /// The content.
    public var message: MessageValue
    /// When the sender sent it, by the sender's clock.
    public var start: Timestamp
    /// Entries that this version does not know, in order. They are kept, and encoded again after the known ones.
    public var unknown: [MessageMap.Entry]

    /// Creates an envelope.
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
        Self.encoded(.value(message), clientID: clientID, id: id, room: room, start: start, unknown: unknown)
    }

    /// The bytes to publish for a content: those of an envelope with its value.
    static func encoded(
        _ content: MessageContent, clientID: String?, id: String, room: String, start: Timestamp,
        unknown: [MessageMap.Entry] = []
    ) -> [UInt8] {
        // Enough for the keys, two identifiers and the times; only the texts vary.
        var writer = MessagePackWriter(capacity: 224 + room.utf8.count + content.capacity)
        writer.writeMapHeader(count: (clientID == nil ? 4 : 5) + unknown.count)
        if let clientID {
            writer.write("client_id")
            writer.write(clientID)
        }
        writer.write("id")
        writer.write(id)
        writer.write("room")
        writer.write(room)
        writer.write("message")
        content.write(into: &writer)
        writer.write("start")
        writer.write(start.milliseconds)
        for entry in unknown {
            writer.write(entry.key)
            writer.write(entry.value)
        }
        return writer.bytes
    }
}

/// Why a payload is no message that Parley can show.
public enum EnvelopeError: Error, Hashable, Sendable {
    /// The payload is not MessagePack.
    case malformed(MessageCodingError)
    /// The payload is MessagePack but no map.
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
    /// The same failure as a client error.
    public init(_ error: EnvelopeError) { self = .invalidMessage(error.description) }
}
