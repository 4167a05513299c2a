/// What a user shows of themselves in shared topics.
public enum Presence: Hashable, Sendable {
    /// The person is present.
    case here
    /// The person is away, with a text that says why or until when; it may be empty.
    case away(String)

    /// The most characters of an away text.
    public static let maximumTextLength = 200
    /// The most bytes of an away text, in UTF-8.
    static let maximumTextBytes = 800

    /// Why it is invalid, if it is.
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
    /// The name, which is authenticated: the network lets no one write under another name.
    public let name: String
    /// Here, if any device of the user is; otherwise the newest state of any device.
    public let presence: Presence
    /// Whether the user was typing a line for the topic, on any device, a moment ago.
    public let isTyping: Bool

    /// Creates a user.
    public init(name: String, presence: Presence, isTyping: Bool = false) {
        self.name = name
        self.presence = presence
        self.isTyping = isTyping
    }
}

/// The users in a topic.
public struct PresenceRoster: Hashable, Sendable {
    /// The users by name, including this client's own if it appears there.
    public let users: [PresentUser]
    /// Whether the network has reported it: not without a connection, and not on a network without presence.
    public let isKnown: Bool
    /// Whether there are more users than in ``users``, which is limited against floods.
    public let isTruncated: Bool

    /// Creates a roster.
    public init(users: [PresentUser], isKnown: Bool = true, isTruncated: Bool = false) {
        self.users = users
        self.isKnown = isKnown
        self.isTruncated = isTruncated
    }

    /// The roster without a connection.
    public static let unknown = PresenceRoster(users: [], isKnown: false)
}

/// The limits and intervals of presence.
public struct PresencePolicy: Hashable, Sendable {
    /// The most topics in which a user appears. Each costs an entry that is renewed every ``renewal``.
    public var topics: Int
    /// How often the client's own entries are renewed.
    public var renewal: Duration
    /// How long an entry counts after it was written; the network drops it after 90 s.
    public var lifetime: Duration
    /// Whether ``RelayClient/setTyping(in:)`` tells others.
    public var announcesTyping: Bool

    /// The shortest time between two reports of a typing person.
    public static let typingInterval = Duration.seconds(4)
    /// How long a person counts as typing after the last report.
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
