import NATS

/// What a client shows of its own user and which topics it watches, as a pure value: events in, actions out.
struct PresenceMachine: Sendable {
    enum TimerID: Hashable, Sendable {
        /// Renewing the client's own entries.
        case renewal
        /// The end of an entry in a topic, or of its user's typing.
        case expiry(topic: String)
        /// Asking a network again that had no presence.
        case retry
        /// Reporting again that the person types.
        case typing
    }

    /// The network's answer to an entry that was written or watched.
    enum Answer: Hashable, Sendable {
        /// It has presence.
        case kept
        /// It has none for this user, at least for now: a server that has just started gets its bucket a moment later,
        /// and permissions can change.
        case missing

        /// The meaning of a failure; nil if it says nothing about presence.
        init?(_ error: NATSError) {
            switch error {
            case .noResponders, .publishNotPermitted: self = .missing
            case .jetStream(let failure) where failure.errorCode == JetStreamFailure.streamNotFound: self = .missing
            default: return nil
            }
        }
    }

    struct Circumstances: Sendable {
        var now: ContinuousClock.Instant
        /// The signed-in user; nil if unknown.
        var user: String?
        /// The topics that the network grants; nil if it does not say.
        var granted: [String]?
        var policy: PresencePolicy
    }

    enum Event: Sendable {
        /// The user should appear in these topics and no others.
        case appeared(in: [String])
        /// The user's own presence has changed.
        case said(Presence)
        /// The person is typing in a topic, or nowhere.
        case typed(in: String?)
        /// A connection is open and everything else on it restored.
        case opened
        /// The connection ends. Others are told if this side ends it and can still say so.
        case closed(tellsOthers: Bool)
        /// The network has shown whether it has presence.
        case answered(Answer)
        /// A timer fired.
        case timerFired(TimerID)
        /// A topic's roster has a new reader.
        case readerCame(id: String, topic: String)
        /// A reader has left.
        case readerLeft(id: String, topic: String)
        /// The network delivers a topic's entries from now on.
        case watched(topic: String)
        /// Entries of a topic have arrived.
        case heard([PresenceTable.Item], topic: String)
    }

    enum Action: Hashable, Sendable {
        /// Write these entries at once, in order, and report the network's answer to the first of them if `asks`.
        /// Entries that cannot be written now are written with the next renewal.
        case write([PresenceAnnouncement.Write], user: String, device: String, asks: Bool)
        /// Read a topic's entries over the present connection.
        case read(topic: String)
        /// Stop reading a topic's entries.
        case stop(topic: String)
        /// Report ``Event/timerFired(_:)`` at this moment.
        case startTimer(TimerID, at: ContinuousClock.Instant)
        /// Cancel a timer.
        case cancelTimer(TimerID)
        /// Pass a roster to these readers.
        case tell(readers: Set<String>, PresenceRoster)
    }

    private struct Watch {
        var table: PresenceTable
        var readers: Set<String> = []
        /// Whether its entries are being read over the present connection.
        var isRead = false
        /// The moment of its running timer.
        var expiry: ContinuousClock.Instant?
        /// When that last fired.
        var lastExpiry: ContinuousClock.Instant?
        /// The readers' present roster.
        var told = PresenceRoster.unknown
    }

    /// The network over a connection on which everything else is restored.
    private struct Network {
        /// Whether it has presence; nil while unknown.
        var isAvailable: Bool?
        /// Whether presence was missing for any entry since all were requested.
        var hasMissed = false
        /// How often in a row it was missing.
        var misses = 0
        /// Whether the renewal timer is running.
        var isRenewing = false
    }

    /// The most topics watched: each is a consumer on the server.
    static let watchLimit = 64
    /// The shortest time between two checks for expired entries, however many a topic has.
    static let expiryPause = Duration.milliseconds(250)

    private var announcement: PresenceAnnouncement
    private var watches: [String: Watch] = [:]
    /// Nil without a connection.
    private var network: Network?
    private var output: [Action] = []

    /// - Parameter device: The user's device.
    init(device: String = UniqueToken.next()) { announcement = PresenceAnnouncement(device: device) }

    /// Whether the network has presence; nil while unknown.
    var isAvailable: Bool? { network?.isAvailable }

    /// Whether the user appears anywhere, or anyone is watched.
    var isInUse: Bool { !watches.isEmpty || !announcement.topics.isEmpty }

    /// Whether one more topic may be watched; one that is watched already costs nothing more.
    func mayWatch(_ topic: String) -> Bool { watches[topic] != nil || watches.count < Self.watchLimit }

    /// When the next entry of a watched topic, or its user's typing, expires; nil if none does.
    func nextEnd(of topic: String) -> ContinuousClock.Instant? { watches[topic]?.table.nextExpiry }

    /// Handles an event.
    ///
    /// - Returns: The actions, in order.
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
            network = Network()
            askForAll(around)
        case .closed(let tellsOthers): close(around, tellsOthers: tellsOthers)
        case .answered(let answer): answered(answer, around)
        case .timerFired(let id): timerFired(id, around)
        case .readerCame(let id, let topic):
            let isNew = watches[topic] == nil
            watches[topic, default: Watch(table: PresenceTable(lifetime: around.policy.lifetime))].readers.insert(id)
            output.append(.tell(readers: [id], watches[topic]?.told ?? .unknown))
            if isNew { watch(topic, around) }
        case .readerLeft(let id, let topic):
            watches[topic]?.readers.remove(id)
            guard watches[topic]?.readers.isEmpty == true else { break }
            stopReading(topic)
            output.append(.cancelTimer(.expiry(topic: topic)))
            watches[topic] = nil
        case .watched(let topic):
            answered(.kept, around)
            watches[topic]?.table.opened()
        case .heard(let items, let topic):
            watches[topic]?.table.take(items, at: around.now)
            tell(topic)
            awaitExpiry(of: topic)
        }
        return output
    }

    // MARK: The connection

    /// Requests all entries again, both written and watched.
    private mutating func askForAll(_ around: Circumstances) {
        network?.isAvailable = nil
        network?.hasMissed = false
        announcement.forgetTyping()
        announce(around, renews: true)
        for topic in watches.keys { watch(topic, around) }
    }

    private mutating func close(_ around: Circumstances, tellsOthers: Bool) {
        guard let network else { return }
        self.network = nil
        for id in [TimerID.renewal, .retry, .typing] { output.append(.cancelTimer(id)) }
        for topic in watches.keys {
            stopReading(topic)
            output.append(.cancelTimer(.expiry(topic: topic)))
            watches[topic]?.expiry = nil
            watches[topic]?.table.closed()
            tell(topic)
        }
        guard tellsOthers, network.isAvailable != false, let user = around.user else { return }
        write(announcement.withdrawal(), as: user)
    }

    private mutating func answered(_ answer: Answer, _ around: Circumstances) {
        guard var network else { return }
        defer { self.network = network }
        network.isAvailable = answer == .kept
        guard answer != .kept else {
            // Whatever was refused since the last request must be requested again, even if others succeeded.
            guard !network.hasMissed else { return }
            network.misses = 0
            return output.append(.cancelTimer(.retry))
        }
        network.isRenewing = false
        network.hasMissed = true
        let wait = min(around.policy.renewal, .seconds(1 << min(network.misses, 10)))
        network.misses += 1
        output += [.cancelTimer(.renewal), .startTimer(.retry, at: around.now + wait)]
    }

    private mutating func timerFired(_ id: TimerID, _ around: Circumstances) {
        switch id {
        case .renewal:
            network?.isRenewing = false
            announce(around, renews: true)
        case .typing:
            announcement.goOnTyping(at: around.now)
            announce(around)
        case .retry: if network != nil { askForAll(around) }
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

    /// Writes the entries that the network does not have yet, or all of them.
    private mutating func announce(_ around: Circumstances, renews: Bool = false) {
        guard let network, network.isAvailable != false, let user = around.user else { return }
        let writes = announcement.writes(
            as: user, granted: around.granted, limit: around.policy.topics, renews: renews, at: around.now)
        if announcement.topics.isEmpty {
            output.append(.cancelTimer(.renewal))
        } else if !network.isRenewing {
            output.append(.startTimer(.renewal, at: around.now + around.policy.renewal))
        }
        self.network?.isRenewing = !announcement.topics.isEmpty
        write(writes, as: user, asks: renews || network.isAvailable == nil)
    }

    private mutating func write(_ writes: [PresenceAnnouncement.Write], as user: String, asks: Bool = false) {
        guard !writes.isEmpty else { return }
        output.append(.write(writes, user: user, device: announcement.device, asks: asks))
    }

    // MARK: Others' entries

    private mutating func watch(_ topic: String, _ around: Circumstances) {
        guard let network, network.isAvailable != false, PresenceAnnouncement.isGranted(topic, around.granted) else {
            return
        }
        stopReading(topic)
        watches[topic]?.isRead = true
        output.append(.read(topic: topic))
    }

    private mutating func stopReading(_ topic: String) {
        guard watches[topic]?.isRead == true else { return }
        watches[topic]?.isRead = false
        output.append(.stop(topic: topic))
    }

    private mutating func awaitExpiry(of topic: String) {
        guard let watch = watches[topic], var next = watch.table.nextExpiry else { return }
        if let last = watch.lastExpiry { next = max(next, last + Self.expiryPause) }
        // Renewals move the end; the timer that is already running will notice.
        if let expiry = watch.expiry, expiry <= next { return }
        watches[topic]?.expiry = next
        output.append(.startTimer(.expiry(topic: topic), at: next))
    }

    private mutating func tell(_ topic: String) {
        guard let watch = watches[topic] else { return }
        let roster = watch.table.roster
        guard roster != watch.told else { return }
        watches[topic]?.told = roster
        output.append(.tell(readers: watch.readers, roster))
    }
}
