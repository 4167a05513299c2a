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
        writer.write(message)
        writer.write("start")
        writer.write(start.milliseconds)
        for entry in unknown {
            writer.write(entry.key)
            writer.write(entry.value)
        }
        return writer.bytes
    }
}
