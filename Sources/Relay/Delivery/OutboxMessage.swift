/// The destination of a message. Messages to the same destination keep their order.
public enum Destination: Hashable, Sendable {
    /// A topic.
    case topic(String)
    /// A postbox of a user.
    case postbox(user: String, postbox: String)
    /// A key of the network's key-value store.
    case key(String)

    /// The prefix in the description of a key. No topic contains a `$`.
    static let keyPrefix = "$KV."
}

extension Destination: CustomStringConvertible {
    /// The topic, the postbox as `user/postbox`, or the key as `$KV.key`.
    public var description: String {
        switch self {
        case .topic(let topic): topic
        case .postbox(let user, let postbox): "\(user)/\(postbox)"
        case .key(let key): Self.keyPrefix + key
        }
    }
}

/// An immutable outgoing message: a ``MessageContent`` in wire form, with what its delivery depends on.
///
/// It passes through many hands, so that a copy is one reference.
public final class OutboxMessage: Sendable, Identifiable {
    /// The message's identifier, the same on every retry. Its hash is sent as `Nats-Msg-Id` (``MessageKey``), or the
    /// identifier itself if the user's token contains no key.
    public let id: String
    /// The destination.
    public let destination: Destination
    /// The encoded envelope, letter or value; empty for the deletion of a key.
    public let payload: [UInt8]
    /// Whether an earlier run of the program may have sent it, so that it is looked for before it is first sent.
    public let mayBeStored: Bool
    /// Whether an earlier attempt may have stored it, looked for or not.
    let isInDoubt: Bool
    /// The content of a message that waits for its sender's name, which the first token brings; the payload is then
    /// encoded again.
    let unsigned: MessageContent?

    /// Creates a message.
    public convenience init(id: String, destination: Destination, payload: [UInt8], mayBeStored: Bool = false) {
        self.init(id: id, destination: destination, payload: payload, mayBeStored: mayBeStored, unsigned: nil)
    }

    /// Creates a message to a topic.
    public convenience init(id: String, topic: String, payload: [UInt8]) {
        self.init(id: id, destination: .topic(topic), payload: payload)
    }

    init(
        id: String, destination: Destination, payload: [UInt8], mayBeStored: Bool = false, isInDoubt: Bool = false,
        unsigned: MessageContent?
    ) {
        (self.id, self.destination, self.payload) = (id, destination, payload)
        (self.mayBeStored, self.isInDoubt, self.unsigned) = (mayBeStored, isInDoubt || mayBeStored, unsigned)
    }

    var isOnTopic: Bool { if case .topic = destination { true } else { false } }
    var isOnKey: Bool { if case .key = destination { true } else { false } }

    /// The message for another submission. Only one to a topic is looked for: a postbox is readable by its owner only,
    /// and setting a key again is meant to replace its value.
    func handedOverAgain() -> OutboxMessage {
        OutboxMessage(
            id: id, destination: destination, payload: payload, mayBeStored: mayBeStored && isOnTopic,
            isInDoubt: isInDoubt, unsigned: unsigned)
    }

    /// The message with a payload that contains its sender's name.
    func signed(_ payload: [UInt8]) -> OutboxMessage {
        OutboxMessage(
            id: id, destination: destination, payload: payload, mayBeStored: mayBeStored, isInDoubt: isInDoubt,
            unsigned: nil)
    }
}

extension OutboxMessage {
    /// The decoded content; nil if it cannot be decoded.
    var content: MessageContent? { MessageContent(payload: payload, to: destination) }

    /// The size of the written content, without its envelope.
    var contentBytes: Int { isOnKey ? payload.count : content?.bytes ?? payload.count }
}

extension OutboxMessage: Hashable {
    /// Whether both have the same content and destination.
    public static func == (left: OutboxMessage, right: OutboxMessage) -> Bool {
        left === right
            || left.id == right.id && left.destination == right.destination && left.payload == right.payload
                && left.mayBeStored == right.mayBeStored && left.unsigned == right.unsigned
    }

    /// Hashes the identifier.
    public func hash(into hasher: inout Hasher) { hasher.combine(id) }
}
