import NATS

/// A stream at one of its lives: one that is deleted and made again under its name is another.
public struct StreamIdentity: Hashable, Sendable {
    /// The stream's name.
    public var name: String
    /// When it was made, in nanoseconds since 1970; 0 where that cannot be found out.
    public var incarnation: UInt64

    /// Names a stream.
    public init(name: String, incarnation: UInt64) {
        self.name = name
        self.incarnation = incarnation
    }
}

/// A message's place on the network: the same message always has the same one.
public struct KeptPlace: Hashable, Sendable {
    /// The stream.
    public var stream: StreamIdentity
    /// The place in the stream, from 1 on. The store keeps sequences below 2^48.
    public var sequence: UInt64

    /// Names a place.
    public init(stream: StreamIdentity, sequence: UInt64) {
        self.stream = stream
        self.sequence = sequence
    }
}

/// A message of a topic as the local store keeps it: what the server stored, unread.
public struct KeptMessage: Hashable, Sendable {
    /// Where it stands on the network.
    public var place: KeptPlace
    /// The concrete topic that it was published to.
    public var topic: String
    /// The sender's identifier for it; nil where it has none or cannot be read.
    public var id: String?
    /// Whom it says it is from. Unauthenticated.
    public var from: String?
    /// When the server stored it.
    public var time: Timestamp
    /// The bytes that were published.
    public var payload: [UInt8]
    /// Whether it is the user's own (``TopicMessage/isOwn``).
    public var isOwn: Bool

    /// Describes a message.
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

    /// What it says; nil where it cannot be read.
    public var message: TopicMessage? {
        var message = try? payload.withRawBytes { payload throws(EnvelopeError) in
            try TopicMessage(
                decoding: payload, topic: topic, sequence: place.sequence, time: time, isRecovered: false)
        }
        if let id { message?.id = id }
        message?.isOwn = isOwn
        return message
    }
}

/// A part of what is kept, in the order of the streams.
public struct KeptPage: Hashable, Sendable {
    /// The messages, oldest first.
    public var messages: [KeptMessage]
    /// Whether nothing else is kept in the direction that was asked for. A short page alone does not say so.
    public var isComplete: Bool
    /// Where messages are missing; told only for what a topic's stream brought.
    public var gaps: [KeptGap] = []

    /// Nothing is kept.
    static let nothing = KeptPage(messages: [], isComplete: true)
}

/// A place where what is here of a topic's stream has a hole.
public struct KeptGap: Hashable, Sendable {
    /// The first sequence behind the hole.
    public var end: UInt64
    /// How many messages the stream no longer held when they were asked for, an upper bound where the subscription
    /// takes a part of the stream; 0 where the network was not asked for what lies there, and may have it.
    public var lost: UInt64

    /// Describes a hole.
    public init(end: UInt64, lost: UInt64) {
        self.end = end
        self.lost = lost
    }
}

/// A letter that was read or sent.
public struct KeptLetter: Hashable, Sendable, Identifiable {
    /// Which way it went.
    public enum Direction: Int, Hashable, Sendable {
        /// To this user.
        case received = 0
        /// From this user.
        case sent = 1
    }

    /// Which way it went.
    public var direction: Direction
    /// The identifier of a ``PostboxMessage``, or that of the letter which was sent.
    public var id: String
    /// The other one: who sent it, or whom it was sent to. Nil for letters from before the server told.
    public var person: String?
    /// The postbox that it was sent to.
    public var postbox: String
    /// When the server stored it, or when it was sent.
    public var time: Timestamp
    /// The body. Remote text, to be made safe before it is shown.
    public var text: String
    /// The identity (Sudo) that a received letter was sent to; nil for the owner's own.
    public var sudoId: String?
    /// What it is about, as its sender says; nil where that says nothing. Remote text, as ``text`` is.
    public var subject: String?

    /// Describes a letter.
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

    /// A letter that came.
    public init(_ message: PostboxMessage) {
        self.init(
            direction: .received, id: message.id, person: message.from, postbox: message.postboxId,
            time: message.createdAt, text: message.message,
            sudoId: message.sudoId == message.ownerId ? nil : message.sudoId, subject: message.subject)
    }
}
