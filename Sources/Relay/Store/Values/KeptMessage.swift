import NATS

/// One incarnation of a stream: a stream that is deleted and recreated with the same name is another one.
public struct StreamIdentity: Hashable, Sendable {
    /// The stream's name.
    public var name: String
    /// When it was created, in nanoseconds since 1970; 0 if unknown.
    public var incarnation: UInt64

    /// Creates an identity.
    public init(name: String, incarnation: UInt64) {
        self.name = name
        self.incarnation = incarnation
    }
}

/// A message's place on the network, which never changes.
public struct KeptPlace: Hashable, Sendable {
    /// The stream.
    public var stream: StreamIdentity
    /// The sequence in the stream, from 1 on. The store keeps sequences below 2^48.
    public var sequence: UInt64

    /// Creates a place.
    public init(stream: StreamIdentity, sequence: UInt64) {
        self.stream = stream
        self.sequence = sequence
    }
}

/// A message of a topic in the local store, as the server stored it.
public struct KeptMessage: Hashable, Sendable {
    /// Its place on the network.
    public var place: KeptPlace
    /// The topic that it was published to.
    public var topic: String
    /// The sender's identifier; nil if it has none or cannot be decoded.
    public var id: String?
    /// The sender as the message states it, unauthenticated.
    public var from: String?
    /// When the server stored it.
    public var time: Timestamp
    /// The published bytes.
    public var payload: [UInt8]
    /// Whether it is the user's own (``TopicMessage/isOwn``).
    public var isOwn: Bool

    /// Creates a message.
    public init(
        place: KeptPlace, topic: String, id: String? = nil, from: String? = nil, time: Timestamp, payload: [UInt8],
        isOwn: Bool = false
    ) {
        self.isOwn = isOwn
        self.place = place
        self.topic = topic
        self.id = id
        self.from = from
        self.time = time
        self.payload = payload
    }

    /// The decoded message; nil if it cannot be decoded.
    public var message: TopicMessage? {
        var message = try? payload.withRawBytes { payload throws(EnvelopeError) in
            try TopicMessage(decoding: payload, topic: topic, sequence: place.sequence, time: time, isRecovered: false)
        }
        if let id { message?.id = id }
        message?.isOwn = isOwn
        return message
    }
}

/// A part of the stored messages, in the order of the streams.
public struct KeptPage: Hashable, Sendable {
    /// The messages, oldest first.
    public var messages: [KeptMessage]
    /// Whether nothing else is stored in the requested direction, which a short page alone does not show.
    public var isComplete: Bool
    /// Where messages are missing; only for what a topic's stream delivered.
    public var gaps: [KeptGap] = []

    static let nothing = KeptPage(messages: [], isComplete: true)
}

/// A hole in the stored messages of a topic's stream.
public struct KeptGap: Hashable, Sendable {
    /// The first sequence after the hole.
    public var end: UInt64
    /// How many messages the stream had already lost when they were requested, an upper bound for a subscription to a
    /// part of the stream; 0 if they were never requested, so that the network may have them.
    public var lost: UInt64

    /// Creates a hole.
    public init(end: UInt64, lost: UInt64) {
        self.end = end
        self.lost = lost
    }
}

/// A received or sent letter.
public struct KeptLetter: Hashable, Sendable, Identifiable {
    /// The direction of a letter.
    public enum Direction: Int, Hashable, Sendable {
        /// To this user.
        case received = 0
        /// From this user.
        case sent = 1
    }

    /// The direction.
    public var direction: Direction
    /// The identifier of the ``PostboxMessage``, or of the sent letter.
    public var id: String
    /// The sender of a received letter, the recipient of a sent one. Nil for letters from before the server recorded
    /// it.
    public var person: String?
    /// The postbox that it was sent to.
    public var postbox: String
    /// When the server stored it, or when it was sent.
    public var time: Timestamp
    /// The body. Remote text: make it safe before showing it.
    public var text: String
    /// The identity (Sudo) that a received letter was sent to; nil for the owner's own.
    public var sudoId: String?
    /// The subject line, if the sender gave one. Remote text, like ``text``.
    public var subject: String?

    /// Creates a letter.
    public init(
        direction: Direction, id: String, person: String?, postbox: String, time: Timestamp, text: String,
        sudoId: String? = nil, subject: String? = nil
    ) {
        self.sudoId = sudoId
        self.subject = subject
        self.direction = direction
        self.id = id
        self.person = person
        self.postbox = postbox
        self.time = time
        self.text = text
    }

    /// Creates a received letter.
    public init(_ message: PostboxMessage) {
        self.init(
            direction: .received, id: message.id, person: message.from, postbox: message.postboxId,
            time: message.createdAt, text: message.message,
            sudoId: message.sudoId == message.ownerId ? nil : message.sudoId, subject: message.subject)
    }
}
