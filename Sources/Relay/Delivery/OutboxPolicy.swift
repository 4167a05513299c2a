/// The limits of the outbox, and when it is emptied.
public struct OutboxPolicy: Hashable, Sendable {
    /// What happens to a message without room.
    public enum Overflow: Hashable, Sendable {
        /// The new message is refused.
        case rejectNew
        /// The oldest waiting messages are dropped.
        case dropOldest
    }

    /// The most messages, waiting and in flight.
    public var maximumMessages: Int
    /// The most payload bytes, waiting and in flight.
    public var maximumBytes: Int
    /// What happens when either limit is reached.
    public var overflow: Overflow
    /// Whether the queue is emptied when the session ends other than by `close()`: by a passed window or limit, or a
    /// final reason. Otherwise it waits for the next session.
    public var discardsOnWindowExpiry: Bool
    /// Whether `close()` empties the queue.
    public var discardsOnClose: Bool
    /// The most messages sent but not yet acknowledged.
    public var maximumInFlight: Int
    /// The most of those for one destination.
    public var maximumInFlightPerDestination: Int
    /// How long a message may be refused for temporary reasons, such as a cluster without a quorum, before it fails;
    /// nil for no limit.
    public var refusalLimit: Duration?
    /// How long the server is sure to know a message's identifier. Within this time after it was first sent, a message
    /// is simply sent again; later the client looks for it first. JetStream's default is two minutes, less some for the
    /// way.
    public var duplicateWindow: Duration
    /// A limit on how fast messages leave, if any.
    public var pacing: OutboxPacing?

    /// Creates a policy.
    public init(
        maximumMessages: Int = 10_000,
        maximumBytes: Int = 16 << 20,
        overflow: Overflow = .rejectNew,
        discardsOnWindowExpiry: Bool = false,
        discardsOnClose: Bool = true,
        maximumInFlight: Int = 1_024,
        maximumInFlightPerDestination: Int = 1_024,
        refusalLimit: Duration? = nil,
        duplicateWindow: Duration = .seconds(110),
        pacing: OutboxPacing? = nil
    ) {
        self.maximumMessages = maximumMessages
        self.maximumBytes = maximumBytes
        self.overflow = overflow
        self.discardsOnWindowExpiry = discardsOnWindowExpiry
        self.discardsOnClose = discardsOnClose
        self.maximumInFlight = maximumInFlight
        self.maximumInFlightPerDestination = maximumInFlightPerDestination
        self.refusalLimit = refusalLimit
        self.duplicateWindow = duplicateWindow
        self.pacing = pacing
    }

    /// Parley's default: bounded, refuses new messages when full, and keeps the queue through any outage.
    public static let parley = OutboxPolicy()
    /// RelayX: queued messages are discarded when the reconnection window passes or the client closes.
    public static let relayx = OutboxPolicy(discardsOnWindowExpiry: true)
}

/// A limit on how fast messages leave: a number of messages within any span of a given length.
public struct OutboxPacing: Hashable, Sendable {
    /// The most messages within the span; at least 1.
    public var messages: Int
    /// The length of the span.
    public var span: Duration

    /// Creates a limit.
    public init(messages: Int, per span: Duration) {
        self.messages = max(messages, 1)
        self.span = span
    }

    /// RongCloud's limit for one client: five messages a second (20604).
    public static let rongcloud = OutboxPacing(messages: 5, per: .seconds(1))
}

/// Counts the departures within the last span.
struct OutboxPace: Hashable, Sendable {
    private let pacing: OutboxPacing
    private var departures: [ContinuousClock.Instant] = []

    init(_ pacing: OutboxPacing) { self.pacing = pacing }

    /// When the next message may leave; now or earlier means at once.
    func next(at now: ContinuousClock.Instant) -> ContinuousClock.Instant {
        departures.count < pacing.messages ? now : departures[departures.count - pacing.messages] + pacing.span
    }

    mutating func depart(at now: ContinuousClock.Instant) {
        if departures.count >= pacing.messages { departures.removeFirst(departures.count - pacing.messages + 1) }
        departures.append(now)
    }
}
