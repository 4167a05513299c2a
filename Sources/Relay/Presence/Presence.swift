/// What a user lets others see of itself in the topics that both are in.
public enum Presence: Hashable, Sendable {
    /// The person is there.
    case here
    /// The person is away, with a text that says why or until when; it may be empty.
    case away(String)

    /// Most characters of an away text.
    public static let maximumTextLength = 200
    /// Most bytes of an away text, in UTF-8.
    static let maximumTextBytes = 800

    /// Why it cannot be said; nil where it can.
    package var mistake: String? {
        guard case .away(let text) = self,
            text.utf8.count > Self.maximumTextBytes || text.count > Self.maximumTextLength
        else { return nil }
        return "An away text has at most \(Self.maximumTextLength) characters and \(Self.maximumTextBytes) bytes. "
            + "Shorten it."
    }
}

/// A user who is in a topic.
public struct PresentUser: Hashable, Sendable {
    /// The name, which is proven: the network lets nobody write under another one's.
    public let name: String
    /// Here, where any device of the user is; otherwise what the device said that was heard of last.
    public let presence: Presence
    /// Whether the user types a line for the topic, on any device, as far as was heard a moment ago.
    public let isTyping: Bool

    /// Creates a user.
    public init(name: String, presence: Presence, isTyping: Bool = false) {
        self.name = name
        self.presence = presence
        self.isTyping = isTyping
    }
}

/// Who is in a topic.
public struct PresenceRoster: Hashable, Sendable {
    /// The users by name, the own one among them where it appears there.
    public let users: [PresentUser]
    /// Whether the network has told it: not without a connection, and not on a network that keeps no presence.
    public let isKnown: Bool
    /// Whether there are more than ``users`` has: nobody can look at so many, and a flood of them is bounded.
    public let isTruncated: Bool

    /// Creates a roster.
    public init(users: [PresentUser], isKnown: Bool = true, isTruncated: Bool = false) {
        self.users = users
        self.isKnown = isKnown
        self.isTruncated = isTruncated
    }

    /// What is known without a connection.
    public static let unknown = PresenceRoster(users: [], isKnown: false)
}

/// How presence is kept.
public struct PresencePolicy: Hashable, Sendable {
    /// In how many topics a user appears at most. Each costs an entry that is written again with every ``renewal``.
    public var topics: Int
    /// How often the own entries are written again.
    public var renewal: Duration
    /// How long an entry counts after it was written; the network forgets it after 90 s.
    public var lifetime: Duration
    /// Whether ``RelayClient/setTyping(in:)`` tells others anything.
    public var announcesTyping: Bool

    /// A typing person is told of at most this often while the keys go on.
    public static let typingInterval = Duration.seconds(4)
    /// How long a person counts as typing who is not heard of again.
    public static let typingLifetime = Duration.seconds(6)

    /// Creates a policy; no less than one topic and a millisecond.
    public init(
        topics: Int = 32, renewal: Duration = .seconds(30), lifetime: Duration = .seconds(90),
        announcesTyping: Bool = true
    ) {
        self.topics = max(1, topics)
        self.renewal = max(.milliseconds(1), renewal)
        self.lifetime = max(.milliseconds(1), lifetime)
        self.announcesTyping = announcesTyping
    }
}
