import NATS

// Presence in topics. On a network without presence, such as RelayX's own, nothing fails: rosters are just unknown. If
// the network does not permit it, it is not asked again on that connection.
extension RelayClient {
    /// Shows this user in these topics, and no others, from now on and on every connection.
    ///
    /// An entry is written for each and renewed while there is a connection; an idle connection returns for it. The
    /// entries are withdrawn when the session ends or the background suspends it, and expire if the client dies.
    ///
    /// - Parameter topics: The most important topic first. Topics beyond ``PresencePolicy/topics``, and those that the
    ///   network does not grant, are left out. An empty list makes the user invisible, which is the default.
    /// - Throws: ``RelayError/invalidTopic(_:)`` for an invalid topic or one with wildcards.
    public func appear(in topics: [String]) throws(RelayError) {
        for topic in topics { try Self.checkPlace(topic) }
        if !topics.isEmpty { connectionIsNeeded() }
        presence.handle(.appeared(in: topics), for: self)
    }

    /// Sets what others see of this user where it appears (``appear(in:)``); by default that it is here.
    ///
    /// - Throws: ``RelayError/invalidArgument(_:)`` for a text of more than 200 characters or 800 bytes.
    public func setPresence(_ new: Presence) throws(RelayError) {
        if let mistake = new.mistake { throw .invalidArgument(mistake) }
        presence.handle(.said(new), for: self)
    }

    /// Tells others that the person is typing a line in a topic, or no longer. Call it as keys are pressed.
    ///
    /// Others see it for ``PresencePolicy/typingLifetime`` (``PresentUser/isTyping``), so that it also ends if the
    /// person just stops. While the calls continue it is repeated at most every ``PresencePolicy/typingInterval``. It
    /// is sent only where the user appears (``appear(in:)``) and only with a connection, never later.
    ///
    /// - Parameter topic: Where the person types; nil once the line was sent or discarded.
    /// - Throws: ``RelayError/invalidTopic(_:)`` for an invalid topic or one with wildcards.
    public func setTyping(in topic: String?) throws(RelayError) {
        if let topic { try Self.checkPlace(topic) }
        presence.handle(.typed(in: topic), for: self)
    }

    /// The users in a topic: now, and whenever that changes, across connections, for as long as it is read.
    ///
    /// Each element is a complete roster. A slow reader gets the newest one.
    ///
    /// - Parameter topic: A topic without wildcards.
    /// - Throws: ``RelayError/invalidTopic(_:)``; ``RelayError/invalidArgument(_:)`` beyond 64 topics at once.
    public func presence(topic: String) throws(RelayError) -> AsyncStream<PresenceRoster> {
        try Self.checkPlace(topic)
        connectionIsNeeded()
        guard let rosters = presence.rosters(of: topic, for: self) else {
            throw .invalidArgument("Presence is watched in at most \(PresenceMachine.watchLimit) topics at once.")
        }
        return rosters
    }

    /// The users in a topic now. An idle connection returns for this.
    ///
    /// - Returns: The roster; an unknown one on a network without presence.
    /// - Throws: ``RelayError/invalidTopic(_:)``, ``RelayError/notConnected``, ``RelayError/notAuthorized(_:)`` for a
    ///   topic that is not granted, ``RelayError/timeout(_:)``, or the server's refusal.
    public func presenceNow(topic: String) async throws(RelayError) -> PresenceRoster {
        try Self.checkPlace(topic)
        await wake()
        guard status.state == .connected, let jetStream = link?.jetStream else { throw .notConnected }
        guard isPresenceAvailable != false else { return .unknown }
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
            presence.handle(.answered(.kept), for: self)
            return table.roster
        } catch {
            guard let answer = PresenceMachine.Answer(error) else {
                throw RelayError(error, during: "looking who is in \(topic)")
            }
            presence.handle(.answered(answer), for: self)
            return .unknown
        }
    }

    /// Whether the network has presence; nil while unknown. The first entry written or watched on each connection shows
    /// it.
    public var isPresenceAvailable: Bool? { presence.isAvailable }

    private static func checkPlace(_ topic: String) throws(RelayError) {
        do throws(TopicError) { _ = try Topic(topic) } catch { throw .invalidTopic("\(error)") }
    }
}
