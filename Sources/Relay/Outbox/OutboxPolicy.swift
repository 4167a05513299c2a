/// How much may wait to be sent, and what becomes of it.
public struct OutboxPolicy: Hashable, Sendable {
    /// What happens to a message for which there is no room.
    public enum Overflow: Hashable, Sendable {
        /// The new message is refused.
        case rejectNew
        /// The oldest waiting messages give way.
        case dropOldest
    }

    /// The most messages, waiting and in flight.
    public var maximumMessages: Int
    /// The most payload bytes, waiting and in flight.
    public var maximumBytes: Int
    /// What happens when either bound is reached.
    public var overflow: Overflow
    /// Whether the queue is emptied when the session ends other than by `close()`: a passed window or limit, or a final
    /// reason. Otherwise it waits for the next session.
    public var discardsOnWindowExpiry: Bool
    /// Whether `close()` empties the queue.
    public var discardsOnClose: Bool
    /// The most messages that are sent and not yet acknowledged.
    public var maximumInFlight: Int
    /// The most of those on one topic. One keeps a topic's order even when the server refuses a single message of a
    /// run and accepts the ones behind it; more is faster on slow links.
    public var maximumInFlightPerTopic: Int
    /// How often one message may fail in a retryable way, while connected, before it fails for good.
    public var maximumAttempts: Int
    /// How fast messages may leave; nil for no limit.
    public var pacing: OutboxPacing?

    /// Makes a policy.
    public init(
        maximumMessages: Int = 10_000,
        maximumBytes: Int = 16 << 20,
        overflow: Overflow = .rejectNew,
        discardsOnWindowExpiry: Bool = false,
        discardsOnClose: Bool = true,
        maximumInFlight: Int = 256,
        maximumInFlightPerTopic: Int = 64,
        maximumAttempts: Int = 8,
        pacing: OutboxPacing? = nil
    ) {
        self.maximumMessages = maximumMessages
        self.maximumBytes = maximumBytes
        self.overflow = overflow
        self.discardsOnWindowExpiry = discardsOnWindowExpiry
        self.discardsOnClose = discardsOnClose
        self.maximumInFlight = maximumInFlight
        self.maximumInFlightPerTopic = maximumInFlightPerTopic
        self.maximumAttempts = maximumAttempts
        self.pacing = pacing
    }

    /// Parley's default: bounded, refuses new messages when full, and keeps the queue through any outage.
    public static let parley = OutboxPolicy()
    /// RelayX: what is queued is discarded when the reconnection window passes or the client closes.
    public static let relayx = OutboxPolicy(discardsOnWindowExpiry: true)
}
