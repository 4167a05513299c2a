/// Where a message goes. What goes to the same place keeps its order.
public enum Destination: Hashable, Sendable {
    /// A topic.
    case topic(String)
    /// A postbox of a user.
    case postbox(user: String, postbox: String)
}

extension Destination: CustomStringConvertible {
    /// The topic, or the postbox as `user/postbox`.
    public var description: String {
        switch self {
        case .topic(let topic): topic
        case .postbox(let user, let postbox): "\(user)/\(postbox)"
        }
    }
}

/// A message on its way out.
public struct OutboxMessage: Hashable, Sendable, Identifiable {
    /// The message's identifier, sent as `Nats-Msg-Id` and the same on every retry.
    public let id: String
    /// Where it goes.
    public let destination: Destination
    /// The encoded envelope or letter.
    public internal(set) var payload: [UInt8]
    /// Whether an earlier run of the program may have sent it: it is looked for before it is sent the first time.
    public var mayBeStored = false
    /// A line of chat that waits for its writer's name, which the first token tells; its payload is encoded anew then.
    var unsigned: ChatLine?

    /// Makes a message.
    public init(id: String, destination: Destination, payload: [UInt8]) {
        self.id = id
        self.destination = destination
        self.payload = payload
    }

    /// Makes a message on a topic.
    public init(id: String, topic: String, payload: [UInt8]) {
        self.init(id: id, destination: .topic(topic), payload: payload)
    }
}
