/// A message on its way out.
public struct OutboxMessage: Hashable, Sendable, Identifiable {
    /// The message's identifier, sent as `Nats-Msg-Id` and the same on every retry.
    public let id: String
    /// The topic it goes to.
    public let topic: String
    /// The encoded envelope.
    public let payload: [UInt8]

    /// Makes a message.
    public init(id: String, topic: String, payload: [UInt8]) {
        self.id = id
        self.topic = topic
        self.payload = payload
    }
}
