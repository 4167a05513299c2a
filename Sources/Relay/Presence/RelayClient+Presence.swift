import NATS

// Who is in a topic. On a network that keeps no presence, such as RelayX's own, nothing fails for it: rosters are
// unknown there. Where the network does not permit it, it is not asked again on that connection.
extension RelayClient {
    /// Lets others see this user in these topics, and in no others, from now on and on every connection.
    ///
    /// An entry is written for each and renewed while there is a connection, which comes back for it where it rests
    /// because nobody needed it. It is withdrawn when the session ends and when the background suspends it, and it ends
    /// by itself when the client dies.
    ///
    /// - Parameter topics: the most important topic first. Those beyond ``PresencePolicy/topics``, and those that the
    ///   network does not grant, are left out. None makes the user invisible, as it is at first.
    /// - Throws: ``RelayError/invalidTopic(_:)`` for a text that is no topic, or that has wildcards.
    public func appear(in topics: [String]) throws(RelayError) {
        for topic in topics { try Self.checkPlace(topic) }
        if !topics.isEmpty { connectionIsNeeded() }
        presence.handle(.appeared(in: topics), for: self)
    }

    /// What others see of this user where it appears (``appear(in:)``): at first that it is here.
    ///
    /// - Throws: ``RelayError/invalidArgument(_:)`` for a text of more than 200 characters or 800 bytes.
    public func setPresence(_ new: Presence) throws(RelayError) {
        if let mistake = new.mistake { throw .invalidArgument(mistake) }
        presence.handle(.said(new), for: self)
    }

    /// Tells others that the person types a line in a topic, or in none any more. To be called as keys are pressed.
    ///
    /// Others know it for ``PresencePolicy/typingLifetime`` (``PresentUser/isTyping``), so that a person who stops
    /// without a word types no more by then. While the calls go on it is told again every
    /// ``PresencePolicy/typingInterval``, and not more often. It is told where the user appears (``appear(in:)``) and
    /// nowhere else, and only as long as there is a connection: what was typed without one is not told later.
    ///
    /// - Parameter topic: where the person types; nil when the line was sent or taken back.
    /// - Throws: ``RelayError/invalidTopic(_:)`` for a text that is no topic, or that has wildcards.
    public func setTyping(in topic: String?) throws(RelayError) {
        if let topic { try Self.checkPlace(topic) }
        presence.handle(.typed(in: topic), for: self)
    }

    /// Who is in a topic: now, and whenever that changes, through all connections. It goes on until nobody reads it.
    ///
    /// Each element is the roster as it has become. A slow reader finds the newest one.
    ///
    /// - Parameter topic: a topic without wildcards.
    /// - Throws: ``RelayError/invalidTopic(_:)``; ``RelayError/invalidArgument(_:)`` beyond 64 topics at once.
    public func presence(topic: String) throws(RelayError) -> AsyncStream<PresenceRoster> {
        try Self.checkPlace(topic)
        connectionIsNeeded()
        guard let rosters = presence.rosters(of: topic, for: self) else {
            throw .invalidArgument("Presence is watched in at most \(PresenceMachine.watchLimit) topics at once.")
        }
        return rosters
    }

    /// Who is in a topic now. A connection that rests because nobody needed it comes back for that.
    ///
    /// - Returns: the roster; an unknown one where the network keeps no presence.
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

    /// Whether the network keeps presence; nil while that is not known. It is found out on each connection by the first
    /// entry that is written or watched.
    public var isPresenceAvailable: Bool? { presence.isAvailable }

    private static func checkPlace(_ topic: String) throws(RelayError) {
        do throws(TopicError) { _ = try Topic(topic) } catch { throw .invalidTopic("\(error)") }
    }
}
