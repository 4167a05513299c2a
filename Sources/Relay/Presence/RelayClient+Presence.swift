import NATS
import NIOCore

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
        handlePresence(.appeared(in: topics))
    }

    /// What others see of this user where it appears (``appear(in:)``): at first that it is here.
    ///
    /// - Throws: ``RelayError/invalidArgument(_:)`` for a text of more than 200 characters or 800 bytes.
    public func setPresence(_ new: Presence) throws(RelayError) {
        if let mistake = new.mistake { throw .invalidArgument(mistake) }
        handlePresence(.said(new))
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
        handlePresence(.typed(in: topic))
    }

    /// Who is in a topic: now, and whenever that changes, through all connections. It goes on until nobody reads it.
    ///
    /// Each element is the roster as it has become. A slow reader finds the newest one.
    ///
    /// - Parameter topic: a topic without wildcards.
    /// - Throws: ``RelayError/invalidTopic(_:)``; ``RelayError/invalidArgument(_:)`` beyond 64 topics at once.
    public func presence(topic: String) throws(RelayError) -> AsyncStream<PresenceRoster> {
        try Self.checkPlace(topic)
        guard mayWatchPresence(of: topic) else {
            throw .invalidArgument("Presence is watched in at most \(PresenceKeeping.watchLimit) topics at once.")
        }
        let id = UniqueToken.next()
        let (rosters, reader) = AsyncStream.makeStream(of: PresenceRoster.self, bufferingPolicy: .bufferingNewest(1))
        reader.onTermination = { [weak self] _ in
            Task { await self?.handlePresence(.readerLeft(id: id, topic: topic)) }
        }
        connectionIsNeeded()
        handlePresence(.readerCame(reader, id: id, topic: topic))
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
            handlePresence(.answered(.kept))
            return table.roster
        } catch {
            guard let answer = PresenceKeeping.Answer(error) else {
                throw RelayError(error, during: "looking who is in \(topic)")
            }
            handlePresence(.answered(answer))
            return .unknown
        }
    }

    private static func checkPlace(_ topic: String) throws(RelayError) {
        do throws(TopicError) { _ = try Topic(topic) } catch { throw .invalidTopic("\(error)") }
    }

    // MARK: Actions

    /// What decisions about presence rest on now.
    var presenceCircumstances: PresenceKeeping.Circumstances {
        let configuration = configuration
        return PresenceKeeping.Circumstances(
            now: surroundings.clock.now, user: configuration.user, granted: namespace?.topics,
            policy: configuration.presence)
    }

    /// Carries out what presence asks for over a link.
    func perform(_ action: PresenceKeeping.Action, over link: LiveLink?) {
        switch action {
        case .write(let writes, let user, let device, let asks):
            guard let link, let jetStream = link.jetStream else { return }
            write(writes, of: user, device, jetStream, asksThrough: asks ? link : nil)
        case .read(let topic):
            guard let link else { return }
            handlePresence(.reading(Task { await link.readPresence(of: topic) }, topic: topic))
        case .stop(let task): task.cancel()
        case .startTimer(let id, let moment): startTimer(.presence(id), at: moment)
        case .cancelTimer(let id): cancelTimer(.presence(id))
        case .tell(let readers, let roster): for reader in readers { reader.yield(roster) }
        }
    }

    /// - Parameter link: hears what the network says to the first of them; nil leaves all without an answer.
    private func write(
        _ writes: [PresenceAnnouncement.Write], of user: String, _ device: String, _ jetStream: JetStream,
        asksThrough link: LiveLink?
    ) {
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
                        Task { await link.presence(.answered(meaning)) }
                    }
                } else {
                    _ = try? jetStream.connection.publish(value, to: subject, headers: headers)
                }
            }
        }
    }

    /// Closes a connection behind what was written last.
    static func closeBehind(_ connection: NATSConnection) async {
        try? await connection.flush(timeout: .seconds(1))
        await connection.closed(within: .milliseconds(500))
    }
}
