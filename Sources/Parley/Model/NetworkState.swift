import Relay

/// What is known of the network, and of what goes on there.
struct NetworkState: Equatable, Sendable {
    var identity: Identity
    /// What the credentials may do; nil where the network has not said.
    var rights: AccessRights?
    /// Bytes of text that a message can have.
    var messageBytes = Compose.messageBytes
    var status: ConnectionStatus
    var times = ConnectionTimes()
    /// What happened to the connection, newest last.
    var log = ConnectionLog()
    var conversations = ConversationList()
    /// Whose and which messages stay quiet.
    var quiet = Quiet()
    var resting = Resting()
    /// Who is in the topic in view, and where others see this person.
    var people = People()
    /// Where others were told that this person types; nil where they know of nothing.
    var typing: ToldTyping?
    var inbox = Inbox()
    var outbox = OutboxState()
    /// The topics that the person has named, while the local store is being opened; nil otherwise.
    var opening: [String]?
    /// Whether what the person was at is written into the local store.
    var keepsDesk = false
    /// Whether what was not sent outlives the program.
    var keepsOutbox = false

    init(identity: Identity, status: ConnectionStatus) { (self.identity, self.status) = (identity, status) }

    /// When the connection was lost and came back.
    struct ConnectionTimes: Equatable, Sendable {
        /// When the present attempt to connect began; nil while none is under way.
        var attemptBegan: ContinuousClock.Instant?
        /// When the connection was lost that is not back yet, unless the person had it made anew.
        var lostAt: Moment?
        /// The last outage that is over, for the title; nil while there is none.
        var recovery: Recovery?
        /// When a key last asked for a connection attempt.
        var lastNudge: ContinuousClock.Instant?
    }

    /// Whose and which messages stay quiet.
    struct Quiet: Equatable, Sendable {
        /// The names, without the case of their letters, of those whose messages are hidden.
        var ignored: Set<String> = []
        /// The topics and patterns that the person has muted, beside those of the configuration.
        var mutes: [TopicPattern] = []
    }

    struct Resting: Equatable, Sendable {
        var topics: Set<String> = []
        var letters = false
    }

    /// What is on its way to the network.
    struct OutboxState: Equatable, Sendable {
        /// Own lines and letters that are with the client core, by their messages' ids.
        var messages: [String: Outgoing] = [:]
        /// Own lines on topics that are not joined, by topic; they are shown when it is.
        var unjoined: [String: [PendingLine]] = [:]
        /// What became of messages that are not known yet, while the local store is being opened.
        var early: [String: PublishNews] = [:]
        /// So many of them at most; the core's outbox has no more.
        static let earlyLimit = 10_000
        /// Answers about postboxes, sent letters and letters that are saved that are still to come.
        var awaitedAnswers = 0

        /// Lines, letters and changes of keys that the core has accepted, not yet on the network.
        var queuedCount: Int { messages.values.count(where: \.isAccepted) }
    }
}

struct Identity: Hashable, Sendable {
    var user: String
    var network: String
    /// Whether the credentials name this user; without, others can have the same name.
    var isNamed = true

    /// The name under which this user's own lines come back; nil where it says nothing.
    var ownName: String? { isNamed && !user.isEmpty ? user : nil }
}

/// An outage that is over.
struct Recovery: Hashable, Sendable {
    let lasted: Duration
    /// Until when the title tells of it.
    let until: ContinuousClock.Instant

    /// How long the title tells of it.
    static let time = Duration.seconds(8)

    /// How long the outage lasted; nil once the title tells of it no more.
    func shown(at now: ContinuousClock.Instant) -> Duration? { now < until ? lasted : nil }
}

/// What the client core is asked to deliver.
struct Outgoing: Hashable, Sendable {
    enum Item: Hashable, Sendable {
        case line(conversation: String)
        case letter(user: String, postbox: String, subject: String?, text: String)
        case key(KeyValueRequest.Change)
    }

    let item: Item
    /// Whether the core has accepted it. Until then nothing keeps it, and it is counted nowhere.
    var isAccepted = true
}
