import NATS

/// What a client keeps for presence: what it says of its own user, and who it watches.
struct PresenceKeeping: Sendable {
    /// What a timer is for.
    enum TimerID: Hashable, Sendable {
        /// Writing the own entries again.
        case renewal
        /// The end of an entry in a topic, or of its user's typing.
        case expiry(topic: String)
        /// Asking a network again that had no presence.
        case retry
        /// Telling once more that the person types.
        case typing
    }

    /// What the network says to an entry that is written or watched.
    enum Answer: Hashable, Sendable {
        /// It keeps presence.
        case kept
        /// It has no bucket, at least for now: a server that has just started gets it a moment later.
        case missing
        /// It does not let this user, which stays so on this connection.
        case refused

        /// What a failure means; nil where it says nothing of that.
        init?(_ error: NATSError) {
            switch error {
            case .publishNotPermitted: self = .refused
            case .noResponders: self = .missing
            case .jetStream(let failure) where failure.errorCode == JetStreamFailure.streamNotFound: self = .missing
            default: return nil
            }
        }
    }

    /// A topic that is watched.
    struct Watch: Sendable {
        var table: PresenceTable
        var readers: [UInt64: AsyncStream<PresenceRoster>.Continuation] = [:]
        /// Reads the topic's entries over the present connection.
        var reading: Task<Void, Never>?
        /// When the timer of the next end goes off.
        var expiry: ContinuousClock.Instant?
        /// When it went off last.
        var lastExpiry: ContinuousClock.Instant?
        /// What readers know.
        var told = PresenceRoster.unknown
    }

    /// Topics that are watched at most: each is a consumer on the server.
    static let watchLimit = 64
    /// Ends are looked for no more often than this, however many entries and typing people a topic has.
    static let expiryPause = Duration.milliseconds(250)

    var announcement: PresenceAnnouncement
    var watches: [String: Watch] = [:]
    var timers = TimerSet<TimerID>()
    /// Whether the network keeps presence; nil while that is not known.
    var isAvailable: Bool?
    /// Whether it was missing for something since it was asked for everything.
    var hasMissed = false
    /// How often it was missing without a break.
    var misses = 0
    /// Whether there is a connection over which everything else is restored.
    var isOpen = false
    /// Whether the timer runs that writes the own entries again.
    var isRenewing = false
    private var lastReader: UInt64 = 0

    init() { announcement = PresenceAnnouncement(device: UniqueToken.next()) }

    mutating func newReader() -> UInt64 {
        lastReader += 1
        return lastReader
    }

    /// Ends everything.
    func end() {
        timers.cancelAll()
        for watch in watches.values {
            watch.reading?.cancel()
            for reader in watch.readers.values { reader.finish() }
        }
    }
}
