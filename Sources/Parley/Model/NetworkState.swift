import Relay

struct NetworkState: Equatable, Sendable {
    var identity: Identity
    /// The rights of the credentials; nil if the network has not reported them.
    var rights: AccessRights?
    /// The largest text of a message, in bytes.
    var messageBytes = Compose.messageBytes
    var status: ConnectionStatus
    var times = ConnectionTimes()
    var log = ConnectionLog()
    var conversations = ConversationList()
    var quiet = Quiet()
    var resting = Resting()
    /// The members of the topic in view, and the topics in which others see the user.
    var people = People()
    /// Where others were told that the user is typing; nil for nowhere.
    var typing: ToldTyping?
    var inbox = Inbox()
    var outbox = OutboxState()
    /// The topics to join once the local store is open; nil after that.
    var opening: [String]?
    var keepsDesk = false
    /// Whether unsent messages outlive the program.
    var keepsOutbox = false

    init(identity: Identity, status: ConnectionStatus) { (self.identity, self.status) = (identity, status) }

    struct ConnectionTimes: Equatable, Sendable {
        /// When the current attempt to connect began, if there is one.
        var attemptBegan: ContinuousClock.Instant?
        /// When the connection was lost, until it is back, unless the user asked to reconnect.
        var lostAt: Moment?
        /// The last outage that has ended, for the title; nil during an outage.
        var recovery: Recovery?
        var lastNudge: ContinuousClock.Instant?
    }

    struct Quiet: Equatable, Sendable {
        /// The users whose messages are hidden, in lower case.
        var ignored: Set<String> = []
        /// The topics and patterns muted besides those of the configuration.
        var mutes: [TopicPattern] = []
    }

    /// What is not followed while it is out of view.
    struct Resting: Equatable, Sendable {
        var topics: Set<String> = []
        var letters = false
    }

    /// The messages in flight, and requests without an answer yet.
    struct OutboxState: Equatable, Sendable {
        /// The user's messages handed to the client core, by id.
        var messages: [String: Outgoing] = [:]
        /// The user's lines in topics that are not joined, by topic; they are shown once it is.
        var unjoined: [String: [PendingLine]] = [:]
        /// The outcomes of unknown messages, while the local store is being opened.
        var early: [String: PublishNews] = [:]
        /// The most early outcomes; the core's outbox has no more.
        static let earlyLimit = 10_000
        /// The outstanding answers about postboxes, sent letters and saved files.
        var awaitedAnswers = 0

        /// The messages that the core has accepted, but the network has not stored.
        var queuedCount: Int { messages.values.count(where: \.isAccepted) }
    }
}

struct Identity: Hashable, Sendable {
    var user: String
    var network: String
    /// Whether the user is known; otherwise `user` is a placeholder.
    var isNamed = true

    /// The name on the user's own lines; nil if the user is unknown.
    var ownName: String? { isNamed && !user.isEmpty ? user : nil }
}

struct Recovery: Hashable, Sendable {
    let lasted: Duration
    /// Until when the title shows it.
    let until: ContinuousClock.Instant

    static let time = Duration.seconds(8)

    /// How long the outage lasted; nil once the title no longer shows it.
    func shown(at now: ContinuousClock.Instant) -> Duration? { now < until ? lasted : nil }
}

struct Outgoing: Hashable, Sendable {
    enum Item: Hashable, Sendable {
        case line(conversation: String)
        case letter(user: String, postbox: String, subject: String?, text: String)
        case key(KeyValueRequest.Change)
    }

    let item: Item
    /// Whether the core has accepted it. Until then it is neither stored nor counted.
    var isAccepted = true
}
