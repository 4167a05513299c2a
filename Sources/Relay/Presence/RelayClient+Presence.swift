import NATS
import NIOCore

// Who is in a topic. On a network that keeps no presence, such as RelayX's own, nothing fails for it: rosters are unknown
// there. Where the network does not permit it, it is not asked again on that connection.
extension RelayClient {
    /// Whether the network keeps presence; nil while that is not known. It is found out on each connection by the first
    /// entry that is written or watched.
    public var isPresenceAvailable: Bool? { presence.isAvailable }

    /// Lets others see this user in these topics, and in no others, from now on and on every connection.
    ///
    /// An entry is written for each and renewed while there is a connection. It is withdrawn when the session ends and when
    /// the background suspends it, and it ends by itself when the client dies.
    ///
    /// - Parameter topics: the most important topic first. Those beyond ``PresencePolicy/topics``, and those that the
    ///   network does not grant, are left out. None makes the user invisible, as it is at first.
    /// - Throws: ``RelayError/invalidTopic(_:)`` for a text that is no topic, or that has wildcards.
    public func appear(in topics: [String]) throws(RelayError) {
        for topic in topics { try Self.checkPlace(topic) }
        presence.announcement.topics = topics
        announcePresence()
    }

    /// What others see of this user where it appears (``appear(in:)``): at first that it is here.
    ///
    /// - Throws: ``RelayError/invalidArgument(_:)`` for a text of more than 200 characters or 800 bytes.
    public func setPresence(_ new: Presence) throws(RelayError) {
        if let mistake = new.mistake { throw .invalidArgument(mistake) }
        presence.announcement.presence = new
        announcePresence()
    }

    /// Tells others that the person types a line in a topic, or in none any more. To be called as keys are pressed.
    ///
    /// Others know it for ``PresencePolicy/typingLifetime`` (``PresentUser/isTyping``), so that a person who stops without
    /// a word types no more by then. While the calls go on it is told again every ``PresencePolicy/typingInterval``, and
    /// not more often. It is told where the user appears (``appear(in:)``) and nowhere else, and only as long as there is a
    /// connection: what was typed without one is not told later.
    ///
    /// - Parameter topic: where the person types; nil when the line was sent or taken back.
    /// - Throws: ``RelayError/invalidTopic(_:)`` for a text that is no topic, or that has wildcards.
    public func setTyping(in topic: String?) throws(RelayError) {
        if let topic { try Self.checkPlace(topic) }
        guard configuration.presence.announcesTyping else { return }
        presence.timers.cancel(.typing)
        let now = surroundings.clock.now
        guard let due = presence.announcement.setTyping(in: topic, at: now) else { return }
        guard due > now else { return announcePresence() }
        presence.timers.start(.typing, at: due, on: surroundings.clock) { [weak self] in await self?.goOnTyping() }
    }

    private func goOnTyping() {
        presence.announcement.goOnTyping(at: surroundings.clock.now)
        announcePresence()
    }

    /// Who is in a topic: now, and whenever that changes, through all connections. It goes on until nobody reads it.
    ///
    /// Each element is the roster as it has become. A slow reader finds the newest one.
    ///
    /// - Parameter topic: a topic without wildcards.
    /// - Throws: ``RelayError/invalidTopic(_:)``; ``RelayError/invalidArgument(_:)`` beyond 64 topics at once.
    public func presence(topic: String) throws(RelayError) -> AsyncStream<PresenceRoster> {
        try Self.checkPlace(topic)
        let isNew = presence.watches[topic] == nil
        guard !isNew || presence.watches.count < PresenceKeeping.watchLimit else {
            throw .invalidArgument("Presence is watched in at most \(PresenceKeeping.watchLimit) topics at once.")
        }
        let key = presence.newReader()
        let (rosters, reader) = AsyncStream.makeStream(of: PresenceRoster.self, bufferingPolicy: .bufferingNewest(1))
        var watch =
            presence.watches[topic]
            ?? PresenceKeeping.Watch(table: PresenceTable(lifetime: configuration.presence.lifetime))
        watch.readers[key] = reader
        presence.watches[topic] = watch
        reader.yield(watch.told)
        reader.onTermination = { [weak self] _ in
            Task { await self?.endPresenceReader(key, of: topic) }
        }
        if isNew { watchPresence(of: topic) }
        return rosters
    }

    /// Who is in a topic now.
    ///
    /// - Returns: the roster; an unknown one where the network keeps no presence.
    /// - Throws: ``RelayError/invalidTopic(_:)``, ``RelayError/notConnected``, ``RelayError/notAuthorized(_:)`` for a topic
    ///   that is not granted, ``RelayError/timeout(_:)``, or the server's refusal.
    public func presenceNow(topic: String) async throws(RelayError) -> PresenceRoster {
        try Self.checkPlace(topic)
        guard presence.isOpen, let link, let jetStream = link.jetStream else { throw .notConnected }
        guard presence.isAvailable != false else { return .unknown }
        guard PresenceAnnouncement.isGranted(topic, namespace?.topics) else {
            throw .notAuthorized("looking who is in \(topic)")
        }
        do throws(NATSError) {
            let page = try await jetStream.page(
                of: PresenceEntry.stream, filter: PresenceEntry.filter(topic: topic), from: .all,
                limit: PresenceTable.entryLimit, bytes: 16 << 20)
            var table = PresenceTable(lifetime: configuration.presence.lifetime)
            table.opened()
            table.take(page.messages.compactMap { PresenceTable.Item($0, isListed: true) }, at: surroundings.clock.now)
            presenceAnswered(.kept)
            return table.roster
        } catch {
            guard let answer = PresenceKeeping.Answer(error) else {
                throw RelayError(error, during: "looking who is in \(topic)")
            }
            presenceAnswered(answer)
            return .unknown
        }
    }

    private static func checkPlace(_ topic: String) throws(RelayError) {
        do throws(TopicError) { _ = try Topic(topic) } catch { throw .invalidTopic("\(error)") }
    }

    // MARK: The connection

    /// The connection is restored: others see this user again, and this client sees others.
    func beginPresence() {
        presence.isOpen = true
        presence.misses = 0
        askForPresence()
    }

    /// Writes and watches everything anew.
    private func askForPresence() {
        presence.isAvailable = nil
        presence.hasMissed = false
        presence.announcement.forgetTyping()
        announcePresence(renews: true)
        for topic in presence.watches.keys { watchPresence(of: topic) }
    }

    /// The connection ends.
    ///
    /// - Parameter isFarewell: whether it does by this side's will, so that others are told.
    /// - Returns: whether something was written that has yet to leave.
    func endPresence(over link: LiveLink, isFarewell: Bool) -> Bool {
        guard presence.isOpen else { return false }
        presence.isOpen = false
        presence.timers.cancelAll()
        presence.timers = TimerSet()
        presence.isRenewing = false
        for topic in presence.watches.keys {
            presence.watches[topic]?.reading?.cancel()
            presence.watches[topic]?.reading = nil
            presence.watches[topic]?.expiry = nil
            presence.watches[topic]?.table.closed()
            tellPresence(of: topic)
        }
        guard isFarewell, presence.isAvailable != false, let jetStream = link.jetStream, jetStream.connection.isOpen,
            let user
        else { return false }
        let writes = presence.announcement.withdrawal()
        write(writes, as: user, jetStream)
        return !writes.isEmpty
    }

    /// Closes a connection behind what was written last.
    static func closeBehind(_ connection: NATSConnection) async {
        try? await connection.flush(timeout: .seconds(1))
        await connection.closed(within: .milliseconds(500))
    }

    // MARK: The own entries

    /// Writes what the network does not have yet, or all that it is to have.
    private func announcePresence(renews: Bool = false) {
        guard presence.isOpen, presence.isAvailable != false, let link, let jetStream = link.jetStream, let user else {
            return
        }
        let policy = configuration.presence
        let writes = presence.announcement.writes(
            as: user, granted: namespace?.topics, limit: policy.topics, renews: renews, at: surroundings.clock.now)
        if presence.announcement.topics.isEmpty {
            stopRenewing()
        } else if !presence.isRenewing {
            presence.isRenewing = true
            let moment = surroundings.clock.now + policy.renewal
            presence.timers.start(.renewal, at: moment, on: surroundings.clock) { [weak self] in
                await self?.renewPresence()
            }
        }
        write(writes, as: user, jetStream, asksThrough: renews || presence.isAvailable == nil ? link : nil)
    }

    private func stopRenewing() {
        presence.isRenewing = false
        presence.timers.cancel(.renewal)
    }

    private func renewPresence() {
        presence.isRenewing = false
        announcePresence(renews: true)
    }

    /// Writes entries at once, in order. What cannot be written now is written with the next renewal.
    ///
    /// - Parameter link: hears what the network says to the first of them; nil leaves all without an answer.
    private func write(
        _ writes: [PresenceAnnouncement.Write], as user: String, _ jetStream: JetStream,
        asksThrough link: LiveLink? = nil
    ) {
        guard !writes.isEmpty else { return }
        let device = presence.announcement.device
        jetStream.connection.together {
            for (index, write) in writes.enumerated() {
                let subject = PresenceEntry.subject(user: user, device: device, topic: write.topic)
                let value = ByteBuffer(
                    bytes: write.presence.map { PresenceEntry.value($0, isTyping: write.isTyping) } ?? [])
                let headers: NATSHeaders? = write.presence == nil ? ["KV-Operation": "DEL"] : nil
                if index == 0, let link {
                    try? jetStream.send(value, to: subject, headers: headers) { answer in
                        let meaning: PresenceKeeping.Answer? =
                            switch answer {
                            case .success: .kept
                            case .failure(let error): PresenceKeeping.Answer(error)
                            }
                        guard let meaning else { return }
                        Task { await link.inClient { $0.presenceAnswered(meaning) } }
                    }
                } else {
                    _ = try? jetStream.connection.publish(value, to: subject, headers: headers)
                }
            }
        }
    }

    /// The network has shown whether it keeps presence.
    func presenceAnswered(_ answer: PresenceKeeping.Answer) {
        guard presence.isOpen else { return }
        presence.isAvailable = answer == .kept
        guard answer != .kept else {
            // What was refused since the network was asked has to be asked for again, whatever else went well.
            guard !presence.hasMissed else { return }
            presence.misses = 0
            return presence.timers.cancel(.retry)
        }
        stopRenewing()
        guard answer == .missing else { return }
        presence.hasMissed = true
        let wait = min(configuration.presence.renewal, .seconds(1 << min(presence.misses, 10)))
        presence.misses += 1
        presence.timers.start(.retry, at: surroundings.clock.now + wait, on: surroundings.clock) { [weak self] in
            await self?.askForPresenceAgain()
        }
    }

    private func askForPresenceAgain() {
        if presence.isOpen { askForPresence() }
    }

    // MARK: Others' entries

    private func watchPresence(of topic: String) {
        guard presence.isOpen, presence.isAvailable != false, let link,
            PresenceAnnouncement.isGranted(topic, namespace?.topics)
        else { return }
        presence.watches[topic]?.reading?.cancel()
        presence.watches[topic]?.reading = Task { await link.readPresence(of: topic) }
    }

    /// A topic's entries are read from now on.
    func presenceOpened(_ topic: String) {
        presenceAnswered(.kept)
        presence.watches[topic]?.table.opened()
    }

    /// Entries of a topic have come.
    func heardPresence(_ items: [PresenceTable.Item], of topic: String) {
        presence.watches[topic]?.table.take(items, at: surroundings.clock.now)
        tellPresence(of: topic)
        awaitExpiry(of: topic)
    }

    private func awaitExpiry(of topic: String) {
        guard let watch = presence.watches[topic], var next = watch.table.nextExpiry else { return }
        if let last = watch.lastExpiry { next = max(next, last + PresenceKeeping.expiryPause) }
        // Renewals move the end; the timer that runs already finds that out.
        if let expiry = watch.expiry, expiry <= next { return }
        presence.watches[topic]?.expiry = next
        presence.timers.start(.expiry(topic: topic), at: next, on: surroundings.clock) { [weak self] in
            await self?.expirePresence(of: topic)
        }
    }

    private func expirePresence(of topic: String) {
        presence.watches[topic]?.expiry = nil
        presence.watches[topic]?.lastExpiry = surroundings.clock.now
        presence.watches[topic]?.table.expire(at: surroundings.clock.now)
        tellPresence(of: topic)
        awaitExpiry(of: topic)
    }

    /// Tells readers of a topic, where it has changed.
    private func tellPresence(of topic: String) {
        guard let watch = presence.watches[topic] else { return }
        let roster = watch.table.roster
        guard roster != watch.told else { return }
        presence.watches[topic]?.told = roster
        for reader in watch.readers.values { reader.yield(roster) }
    }

    private func endPresenceReader(_ key: UInt64, of topic: String) {
        presence.watches[topic]?.readers[key] = nil
        guard let watch = presence.watches[topic], watch.readers.isEmpty else { return }
        watch.reading?.cancel()
        presence.timers.cancel(.expiry(topic: topic))
        presence.watches[topic] = nil
    }
}
