/// Where a message goes. What goes to the same place keeps its order.
public enum Destination: Hashable, Sendable {
    /// A topic.
    case topic(String)
    /// A postbox of a user.
    case postbox(user: String, postbox: String)
    /// A key of the network's key-value store.
    case key(String)

    /// What the description of a key begins with. No topic has a `$`.
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

/// A message on its way out: one that is made is not changed any more.
///
/// It is a ``MessageContent`` in the form of the wire, with what its way depends on. It passes through many hands, so
/// that a copy is one reference.
public final class OutboxMessage: Sendable, Identifiable {
    /// The message's identifier, the same on every retry. A hash of it is sent as `Nats-Msg-Id` (``MessageKey``), or it
    /// is itself where the user's token has no key for that.
    public let id: String
    /// Where it goes.
    public let destination: Destination
    /// The encoded envelope, letter or value; empty for the deletion of a key.
    public let payload: [UInt8]
    /// Whether an earlier run of the program may have sent it: it is looked for before it is sent the first time.
    public let mayBeStored: Bool
    /// Whether an earlier attempt may have stored it, looked for or not.
    let isInDoubt: Bool
    /// What waits for its writer's name, which the first token brings; the payload is then encoded again.
    let unsigned: MessageContent?

    /// Makes a message.
    public convenience init(id: String, destination: Destination, payload: [UInt8], mayBeStored: Bool = false) {
        self.init(id: id, destination: destination, payload: payload, mayBeStored: mayBeStored, unsigned: nil)
    }

    /// Makes a message on a topic.
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

    /// Whether it goes to a topic, and to nothing else.
    var isOnTopic: Bool { if case .topic = destination { true } else { false } }
    /// Whether it changes a key of the key-value store.
    var isOnKey: Bool { if case .key = destination { true } else { false } }

    /// The message as it is handed over again: a letter is not looked for, since only its owner reads a postbox, and
    /// who sets a key again means to replace what is there.
    func handedOverAgain() -> OutboxMessage {
        OutboxMessage(
            id: id, destination: destination, payload: payload, mayBeStored: mayBeStored && isOnTopic,
            isInDoubt: isInDoubt, unsigned: unsigned)
    }

    /// The message with its writer's name in it.
    func signed(_ payload: [UInt8]) -> OutboxMessage {
        OutboxMessage(
            id: id, destination: destination, payload: payload, mayBeStored: mayBeStored, isInDoubt: isInDoubt,
            unsigned: nil)
    }
}

extension OutboxMessage {
    /// What it says; nil where that cannot be read.
    var content: MessageContent? { MessageContent(payload: payload, to: destination) }

    /// How large what was written is, without what is put around it for the way.
    var contentBytes: Int { isOnKey ? payload.count : content?.bytes ?? payload.count }
}

extension OutboxMessage: Hashable {
    /// Whether both say the same and go to the same place.
    public static func == (left: OutboxMessage, right: OutboxMessage) -> Bool {
        left === right
            || left.id == right.id && left.destination == right.destination && left.payload == right.payload
                && left.mayBeStored == right.mayBeStored && left.unsigned == right.unsigned
    }

    /// Hashes the identifier.
    public func hash(into hasher: inout Hasher) { hasher.combine(id) }
}
