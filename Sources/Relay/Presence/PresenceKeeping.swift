import NATS

/// What a client says of its own user, and whom it watches, as a pure value: what happens comes in, and what to do goes
/// out.
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
        /// It keeps none of this user, at least for now: a server that has just started gets its bucket a moment later,
        /// and what is not permitted can be permitted later.
        case missing

        /// What a failure means; nil where it says nothing of that.
        init?(_ error: NATSError) {
            switch error {
            case .noResponders, .publishNotPermitted: self = .missing
            case .jetStream(let failure) where failure.errorCode == JetStreamFailure.streamNotFound: self = .missing
            default: return nil
            }
        }
    }

    /// Hears a topic's roster.
    typealias Reader = AsyncStream<PresenceRoster>.Continuation

    /// What is decided by, beside what has happened.
    struct Circumstances: Sendable {
        /// The moment.
        var now: ContinuousClock.Instant
        /// As whom the client is signed in; nil where that is not known.
        var user: String?
        /// The topics that the network grants; nil where it does not say.
        var granted: [String]?
        var policy: PresencePolicy
    }

    /// What can happen.
    enum Event: Sendable {
        /// The user is to be seen in these topics, and in no others.
        case appeared(in: [String])
        /// The user says something else of itself.
        case said(Presence)
        /// The person types in a topic; nil where the person types no more.
        case typed(in: String?)
        /// There is a connection over which everything else is restored.
        case opened
        /// The connection ends. Others are told, where that is this side's will and still possible.
        case closed(tellsOthers: Bool)
        /// The network has shown whether it keeps presence.
        case answered(Answer)
        /// A timer has reached its moment.
        case timerFired(TimerID)
        /// Somebody reads who is in a topic.
        case readerCame(Reader, id: String, topic: String)
        /// A reader has left.
        case readerLeft(id: String, topic: String)
        /// A task reads a topic's entries.
        case reading(Task<Void, Never>, topic: String)
        /// The network hands out a topic's entries from now on.
        case watched(topic: String)
        /// Entries of a topic have come.
        case heard([PresenceTable.Item], topic: String)
    }

    /// What the driver does, in order.
    enum Action: Sendable {
        /// Write these entries at once, in order; report what the network says to the first of them where that is asked
        /// for. What cannot be written now is written with the next renewal.
        case write([PresenceAnnouncement.Write], user: String, device: String, asks: Bool)
        /// Read a topic's entries over the present connection, and report the ``Event/reading(_:topic:)``.
        case read(topic: String)
        /// Cancel a task that reads.
        case stop(Task<Void, Never>)
        /// Report ``Event/timerFired(_:)`` at this moment.
        case startTimer(TimerID, at: ContinuousClock.Instant)
        /// Forget a timer.
        case cancelTimer(TimerID)
        /// Hand these readers a roster.
        case tell([Reader], PresenceRoster)
    }

    /// A topic that is watched.
    private struct Watch: Sendable {
        var table: PresenceTable
        var readers: [String: Reader] = [:]
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

    /// Whether the network keeps presence; nil while that is not known.
    private(set) var isAvailable: Bool?
    private var announcement: PresenceAnnouncement
    private var watches: [String: Watch] = [:]
    /// Whether it was missing for something since it was asked for everything.
    private var hasMissed = false
    /// How often it was missing without a break.
    private var misses = 0
    /// Whether there is a connection over which everything else is restored.
    private var isOpen = false
    /// Whether the timer runs that writes the own entries again.
    private var isRenewing = false
    private var output: [Action] = []

    /// - Parameter device: which of the user's devices this is.
    init(device: String = UniqueToken.next()) { announcement = PresenceAnnouncement(device: device) }

    /// Whether the user is to be seen anywhere, or anybody is watched.
    var isInUse: Bool { !watches.isEmpty || !announcement.topics.isEmpty }

    /// Whether one more topic may be watched; one that is watched already costs nothing more.
    func mayWatch(_ topic: String) -> Bool { watches[topic] != nil || watches.count < Self.watchLimit }

    /// When the next entry of a watched topic ends, or its user's typing; nil where nothing does.
    func nextEnd(of topic: String) -> ContinuousClock.Instant? { watches[topic]?.table.nextExpiry }

    /// The client is gone: ends what reads for it, and those who read from it.
    func end() {
        for watch in watches.values {
            watch.reading?.cancel()
            for reader in watch.readers.values { reader.finish() }
        }
    }

    /// Takes in what happened and says what to do.
    mutating func handle(_ event: Event, _ around: Circumstances) -> [Action] {
        output.removeAll(keepingCapacity: true)
        switch event {
        case .appeared(let topics):
            announcement.topics = topics
            announce(around)
        case .said(let presence):
            announcement.presence = presence
            announce(around)
        case .typed(let topic): typed(in: topic, around)
        case .opened:
            isOpen = true
            misses = 0
            askForAll(around)
        case .closed(let tellsOthers): if isOpen { close(around, tellsOthers: tellsOthers) }
        case .answered(let answer): if isOpen { answered(answer, around) }
        case .timerFired(let id): timerFired(id, around)
        case .readerCame(let reader, let id, let topic):
            let isNew = watches[topic] == nil
            watches[topic, default: Watch(table: PresenceTable(lifetime: around.policy.lifetime))].readers[id] = reader
            output.append(.tell([reader], watches[topic]?.told ?? .unknown))
            if isNew { watch(topic, around) }
        case .readerLeft(let id, let topic):
            watches[topic]?.readers[id] = nil
            guard watches[topic]?.readers.isEmpty == true else { break }
            stopReading(topic)
            output.append(.cancelTimer(.expiry(topic: topic)))
            watches[topic] = nil
        case .reading(let task, let topic):
            if watches[topic] == nil { output.append(.stop(task)) } else { watches[topic]?.reading = task }
        case .watched(let topic):
            if isOpen { answered(.kept, around) }
            watches[topic]?.table.opened()
        case .heard(let items, let topic):
            watches[topic]?.table.take(items, at: around.now)
            tell(topic)
            awaitExpiry(of: topic)
        }
        return output
    }

    // MARK: The connection

    /// Has everything written and watched anew.
    private mutating func askForAll(_ around: Circumstances) {
        isAvailable = nil
        hasMissed = false
        announcement.forgetTyping()
        announce(around, renews: true)
        for topic in watches.keys { watch(topic, around) }
    }

    private mutating func close(_ around: Circumstances, tellsOthers: Bool) {
        isOpen = false
        isRenewing = false
        for id in [TimerID.renewal, .retry, .typing] { output.append(.cancelTimer(id)) }
        for topic in watches.keys {
            stopReading(topic)
            output.append(.cancelTimer(.expiry(topic: topic)))
            watches[topic]?.expiry = nil
            watches[topic]?.table.closed()
            tell(topic)
        }
        guard tellsOthers, isAvailable != false, let user = around.user else { return }
        write(announcement.withdrawal(), as: user)
    }

    private mutating func answered(_ answer: Answer, _ around: Circumstances) {
        isAvailable = answer == .kept
        guard answer != .kept else {
            // What was refused since the network was asked has to be asked for again, whatever else went well.
            guard !hasMissed else { return }
            misses = 0
            return output.append(.cancelTimer(.retry))
        }
        stopRenewing()
        hasMissed = true
        let wait = min(around.policy.renewal, .seconds(1 << min(misses, 10)))
        misses += 1
        output.append(.startTimer(.retry, at: around.now + wait))
    }

    private mutating func timerFired(_ id: TimerID, _ around: Circumstances) {
        switch id {
        case .renewal:
            isRenewing = false
            announce(around, renews: true)
        case .typing:
            announcement.goOnTyping(at: around.now)
            announce(around)
        case .retry: if isOpen { askForAll(around) }
        case .expiry(let topic):
            watches[topic]?.expiry = nil
            watches[topic]?.lastExpiry = around.now
            watches[topic]?.table.expire(at: around.now)
            tell(topic)
            awaitExpiry(of: topic)
        }
    }

    // MARK: The own entries

    private mutating func typed(in topic: String?, _ around: Circumstances) {
        guard around.policy.announcesTyping else { return }
        output.append(.cancelTimer(.typing))
        guard let due = announcement.setTyping(in: topic, at: around.now) else { return }
        guard due > around.now else { return announce(around) }
        output.append(.startTimer(.typing, at: due))
    }

    /// Has written what the network does not have yet, or all that it is to have.
    private mutating func announce(_ around: Circumstances, renews: Bool = false) {
        guard isOpen, isAvailable != false, let user = around.user else { return }
        let writes = announcement.writes(
            as: user, granted: around.granted, limit: around.policy.topics, renews: renews, at: around.now)
        if announcement.topics.isEmpty {
            stopRenewing()
        } else if !isRenewing {
            isRenewing = true
            output.append(.startTimer(.renewal, at: around.now + around.policy.renewal))
        }
        write(writes, as: user, asks: renews || isAvailable == nil)
    }

    private mutating func stopRenewing() {
        isRenewing = false
        output.append(.cancelTimer(.renewal))
    }

    private mutating func write(_ writes: [PresenceAnnouncement.Write], as user: String, asks: Bool = false) {
        guard !writes.isEmpty else { return }
        output.append(.write(writes, user: user, device: announcement.device, asks: asks))
    }

    // MARK: Others' entries

    private mutating func watch(_ topic: String, _ around: Circumstances) {
        guard isOpen, isAvailable != false, PresenceAnnouncement.isGranted(topic, around.granted) else { return }
        stopReading(topic)
        output.append(.read(topic: topic))
    }

    private mutating func stopReading(_ topic: String) {
        guard let reading = watches[topic]?.reading else { return }
        watches[topic]?.reading = nil
        output.append(.stop(reading))
    }

    private mutating func awaitExpiry(of topic: String) {
        guard let watch = watches[topic], var next = watch.table.nextExpiry else { return }
        if let last = watch.lastExpiry { next = max(next, last + Self.expiryPause) }
        // Renewals move the end; the timer that runs already finds that out.
        if let expiry = watch.expiry, expiry <= next { return }
        watches[topic]?.expiry = next
        output.append(.startTimer(.expiry(topic: topic), at: next))
    }

    /// Tells the readers of a topic, where it has changed.
    private mutating func tell(_ topic: String) {
        guard let watch = watches[topic] else { return }
        let roster = watch.table.roster
        guard roster != watch.told else { return }
        watches[topic]?.told = roster
        output.append(.tell(Array(watch.readers.values), roster))
    }
}
