import NATS

/// Every accepted message until its one end, as a pure value: the outbox and the rules for what comes back from the
/// server.
///
/// Each call returns what is to be done, in order; a driver does it and reports what came of it.
package struct Delivery: Sendable {
    /// What the driver does.
    package enum Action: Hashable, Sendable {
        /// Write the message to the connection, and report the answer.
        case send(OutboxMessage)
        /// Tell where a message is now.
        case tell(PublishNews)
        /// Tell how a message ended, whoever waits for it first.
        case end(PublishNews, PendingPublish?)
        /// Call ``moment(at:)`` then, in place of what was asked for before.
        case wake(at: ContinuousClock.Instant)
        /// Find out whether the connection still lives.
        case probe
        /// Ask the network whether the postbox of this letter takes any, and report
        /// ``recipientAnswered(id:_:isRefused:at:)``.
        case askRecipient(id: String, user: String, postbox: String, isRefused: Bool)
        /// Find out whether the topics' stream exists, and report ``streamIsMissing(id:at:)`` where it does not.
        case askStream(id: String, topic: String)
        /// Find out whether the stream holds this message, and report ``lookedUp(id:_:at:)``.
        case lookUp(Outbox.LateMessage, topic: String)
        /// Find out what the key has now, and report ``keyLookedUp(id:_:at:)``.
        case lookUpKey(Outbox.LateMessage, key: String)
    }

    /// What looking for a message on its stream brought.
    package enum Finding: Hashable, Sendable {
        /// It is there.
        case stored(sequence: UInt64)
        /// It is not there.
        case absent
        /// The stream is too long to go through, or may not be read.
        case unknown
        /// The server did not answer; it may do so later.
        case failed
    }

    /// What waits and what is under way.
    package private(set) var outbox: Outbox
    /// What waited for the present connection, and what became of it.
    private var resent = ResentMessages()
    /// The newest sequence of the topics' stream that an acknowledgement has named.
    private var newestSequence: UInt64?
    /// Whether the server says without being asked that no postbox takes a letter.
    private var serverTellsOfRecipients = true

    /// An empty one, closed.
    package init(policy: OutboxPolicy = .parley) { outbox = Outbox(policy: policy) }

    // MARK: Coming in

    /// Takes a message in.
    ///
    /// - Parameter isKeptFirst: whether it is to be on the disk before anything is told of it and it leaves
    ///   (``kept(before:leaves:at:)``).
    /// - Throws: ``RelayError/outboxFull``, ``RelayError/tooLarge(bytes:limit:)``, ``RelayError/invalidArgument(_:)``
    ///   for an identifier that is on its way already.
    package mutating func submit(
        _ message: OutboxMessage, isKeptFirst: Bool = false, at now: ContinuousClock.Instant
    ) throws(RelayError) -> [Action] {
        var actions: [Action] = []
        try submit(message, isKeptFirst: isKeptFirst, at: now, into: &actions)
        return actions
    }

    /// As ``submit(_:isKeptFirst:at:)``, without a list of its own for each message.
    mutating func submit(
        _ message: OutboxMessage, isKeptFirst: Bool, at now: ContinuousClock.Instant, into actions: inout [Action]
    ) throws(RelayError) {
        for end in try outbox.enqueue(message, isKeptFirst: isKeptFirst) { actions.append(ended(end)) }
        if isKeptFirst { return }
        if message.isOnTopic, outbox.newestLeaves(at: now, newest: newestSequence) {
            return actions.append(.send(message))
        }
        flush(at: now, into: &actions)
        if outbox.queuedCount > 0, outbox.state(of: message.id) == .queued {
            actions.append(.tell(PublishNews(id: message.id, state: .queued)))
        }
    }

    /// The disk has all messages below a number: they leave, or wait for the network alone.
    ///
    /// - Parameter leaves: whether it has, too, that what waits may have left.
    package mutating func kept(
        before number: UInt64, leaves: Bool, at now: ContinuousClock.Instant
    ) -> [Action] {
        let new = outbox.kept(before: number, leaves: leaves)
        var actions: [Action] = []
        flush(at: now, into: &actions)
        for id in new where outbox.state(of: id) == .queued {
            actions.append(.tell(PublishNews(id: id, state: .queued)))
        }
        return actions
    }

    /// Puts what an earlier run of the program left in front of all that waits, as far as there is room. To be called
    /// before the first connection.
    package mutating func restore(_ earlier: [OutboxMessage]) -> [Action] {
        guard !earlier.isEmpty else { return [] }
        let waiting = outbox.messages
        var pending: [String: PendingPublish] = [:]
        for message in waiting { pending[message.id] = message.pending }
        let ids = Set(earlier.map(\.id))
        var messages = earlier.map { $0.awaited(by: pending[$0.id]) }
        messages += waiting.filter { !ids.contains($0.id) }
        outbox = Outbox(policy: outbox.policy)
        var actions: [Action] = []
        for message in messages {
            do throws(RelayError) {
                for end in try outbox.enqueue(message) { actions.append(ended(end)) }
            } catch {
                let news = PublishNews(id: message.id, state: .failed(error), mayBeStored: message.mayBeStored)
                actions.append(ended((news, message.pending)))
            }
        }
        for message in earlier where outbox.state(of: message.id) == .queued {
            actions.append(.tell(PublishNews(id: message.id, state: .queued)))
        }
        return actions
    }

    /// Takes a message back that has not left yet; empty when it is too late.
    package mutating func cancel(id: String, at now: ContinuousClock.Instant) -> [Action] {
        guard let end = outbox.cancel(id: id) else { return [] }
        var actions = [ended(end)]
        flush(at: now, into: &actions)
        return actions
    }

    /// Puts a name under the lines that wait for one.
    package mutating func sign(_ sign: (inout OutboxMessage) -> Void) { outbox.rewrite(sign) }

    // MARK: Connections

    /// The subscriptions are live on a connection: what waits may leave.
    ///
    /// - Parameters:
    ///   - tellsOfRecipients: whether the server says without being asked that no postbox takes a letter.
    ///   - isKeptFirst: whether the disk is to have first that what waits may have left
    ///     (``kept(before:leaves:at:)``).
    package mutating func opened(
        tellsOfRecipients: Bool, isKeptFirst: Bool = false, at now: ContinuousClock.Instant
    ) -> [Action] {
        serverTellsOfRecipients = tellsOfRecipients
        // The stream may be another one by now.
        newestSequence = nil
        resent.note(outbox.messages)
        outbox.open(isKeptFirst: isKeptFirst)
        var actions: [Action] = []
        flush(at: now, into: &actions)
        return actions
    }

    /// The connection is gone: what was under way waits again.
    package mutating func connectionLost() -> [Action] {
        outbox.connectionLost().map { .tell(PublishNews(id: $0, state: .queued)) }
    }

    /// The session ended; the policy decides about what waits.
    package mutating func sessionEnded(_ reason: ConnectionReason) -> [Action] {
        outbox.sessionEnded(reason).map { ended($0) }
    }

    /// Nothing of what waits may be sent any more, whatever the policy says.
    package mutating func discardAll(_ reason: ConnectionReason) -> [Action] {
        newestSequence = nil
        return outbox.discardAll(reason).map { ended($0) }
    }

    /// What waited for the connection and what became of it; the list is empty afterwards.
    package mutating func takeResent() -> [ResentMessage] { resent.take() }

    // MARK: Answers

    /// A moment has come that ``Action/wake(at:)`` asked for.
    package mutating func moment(at now: ContinuousClock.Instant) -> [Action] {
        var actions: [Action] = []
        flush(at: now, into: &actions)
        return actions
    }

    /// The server answered some publishes.
    package mutating func answered(
        _ answers: some Sequence<(id: String, result: Result<PublishAcknowledgement, NATSError>)>,
        at now: ContinuousClock.Instant
    ) -> [Action] {
        var actions: [Action] = []
        actions.reserveCapacity(answers.underestimatedCount)
        for (id, result) in answers {
            switch result {
            // A server of a cluster has taken the message in and may lose it still. Older servers say so in this form;
            // newer ones refuse it.
            case .success(let acknowledgement) where acknowledgement.isDuplicate && acknowledgement.sequence == 0:
                failed(id, .jetStream(.notStoredYet), at: now, into: &actions)
            case .success(let acknowledgement): stored(id, acknowledgement, at: now, into: &actions)
            case .failure(let error): failed(id, error, at: now, into: &actions)
            }
        }
        flush(at: now, into: &actions)
        return actions
    }

    private mutating func stored(
        _ id: String, _ acknowledgement: PublishAcknowledgement, at now: ContinuousClock.Instant,
        into actions: inout [Action]
    ) {
        let stored = outbox.stored(
            id: id, sequence: acknowledgement.sequence, isDuplicate: acknowledgement.isDuplicate, at: now)
        guard let (end, isOnTopic) = stored else { return }
        if isOnTopic { newestSequence = max(newestSequence ?? 0, acknowledgement.sequence) }
        actions.append(ended(end))
    }

    private mutating func failed(
        _ id: String, _ error: NATSError, at now: ContinuousClock.Instant, into actions: inout [Action]
    ) {
        guard let destination = outbox.destination(of: id), outbox.state(of: id) == .sending else { return }
        switch error {
        // The end of the connection says nothing about the message, which goes back to its place with the news of it.
        case .connectionLost, .closedByServer, .staleConnection, .closed, .cancelled: return
        // No answer at all may mean that the connection is dead without a word.
        case .timeout: actions.append(.probe)
        case .noResponders:
            switch destination {
            case .postbox(let user, let postbox):
                actions.append(.askRecipient(id: id, user: user, postbox: postbox, isRefused: true))
            // A topic's stream may be without a leader for a moment, or not exist.
            case .topic(let topic):
                if outbox.refusals(of: id) > 0 { actions.append(.askStream(id: id, topic: topic)) }
            // Before it is sent again its store is asked for the key.
            case .key: break
            }
        default: break
        }
        let reason = Self.reason(error, destination)
        // The server may have stored what it was sent before it refused to answer, which it may permit again.
        let passes = error.isRetryable || error.isRefusedAnswer && outbox.wasSentBefore(id)
        guard passes else { return finish(id, .failed(reason), into: &actions) }
        let isInDoubt =
            switch error {
            case .timeout: true
            case .jetStream(let failure): failure.errorCode == JetStreamFailure.notStoredYet.errorCode
            default: false
            }
        let (wasUnderWay, end) = outbox.refused(id: id, reason, isInDoubt: isInDoubt, at: now)
        if let end {
            actions.append(ended(end))
        } else if wasUnderWay {
            actions.append(.tell(PublishNews(id: id, state: .queued)))
        }
    }

    private static func reason(_ error: NATSError, _ destination: Destination) -> RelayError {
        switch (error, destination) {
        case (.jetStream(let failure), .postbox(let user, let postbox)) where failure.meansFullStream:
            .postboxNotAccepting("\(user)/\(postbox)", because: .full)
        case (.noResponders, _): .server(code: 503, "no stream stores \(destination)")
        case (.publishNotPermitted, .key(let key)): .notAuthorized("changing the key \(key)")
        case (.publishNotPermitted, .postbox): .notAuthorized("sending letters, such as this one to \(destination)")
        default: RelayError(error, during: "publishing to \(destination)")
        }
    }

    /// So often in a row a letter is refused, over some eight seconds, until it counts that nobody says why: a cluster
    /// that has lost a server needs as long for its stream's new leader, and its services may have been on that server.
    static let silentRefusals = 7

    /// The network reported the state of a letter's postbox; nil when it did not answer. A postbox that takes letters
    /// was without a leader for a moment, and the letter is sent again.
    ///
    /// - Parameter isRefused: whether the letter itself was refused before; otherwise it is under way.
    package mutating func recipientAnswered(
        id: String, _ state: RecipientReply.State?, isRefused: Bool, at now: ContinuousClock.Instant
    ) -> [Action] {
        // A refused letter that is under way again brings its own news, unless this is certain: a full postbox may have
        // room again, and its stream says itself that it has none.
        let isUnderWay = outbox.state(of: id) == .sending
        if state == .accepting, !isRefused, isUnderWay, outbox.refusals(of: id) == 0 { return sentEarly(id, at: now) }
        guard case .postbox(let user, let postbox)? = outbox.destination(of: id), state != .accepting,
            state == nil || state == .full ? isRefused && !isUnderWay : isRefused || isUnderWay
        else { return [] }
        if state == nil, outbox.refusals(of: id) < Self.silentRefusals { return [] }
        var actions: [Action] = []
        finish(id, .failed(.postboxNotAccepting("\(user)/\(postbox)", because: state)), into: &actions)
        flush(at: now, into: &actions)
        return actions
    }

    /// The postbox takes letters, and nothing has been heard of one that was sent before the question. The question has
    /// a new user's first postbox made, and an old server does not tell of what came before: the letter is sent once
    /// more, and stored once all the same.
    private mutating func sentEarly(_ id: String, at now: ContinuousClock.Instant) -> [Action] {
        var actions: [Action] = []
        _ = outbox.refused(id: id, .server(code: 503, "no postbox took the letter"), at: now)
        actions.append(.tell(PublishNews(id: id, state: .queued)))
        flush(at: now, into: &actions)
        return actions
    }

    /// No stream stores the message's topic, now or later.
    package mutating func streamIsMissing(id: String, at now: ContinuousClock.Instant) -> [Action] {
        guard let destination = outbox.destination(of: id) else { return [] }
        var actions: [Action] = []
        finish(id, .failed(.server(code: 503, "no stream stores \(destination)")), into: &actions)
        flush(at: now, into: &actions)
        return actions
    }

    /// A late message was looked for.
    package mutating func lookedUp(id: String, _ finding: Finding, at now: ContinuousClock.Instant) -> [Action] {
        guard outbox.state(of: id) == .sending else { return [] }
        var actions: [Action] = []
        switch finding {
        case .stored(let sequence): finish(id, .acknowledged(sequence: sequence, isDuplicate: true), into: &actions)
        case .absent:
            let message = outbox.wasNotStored(id: id, at: now, newest: newestSequence)
            if let message { actions.append(.send(message)) }
        case .unknown:
            // What another run may have sent and the newest messages do not hold was hardly sent.
            if outbox.isFromEarlierRun(id) {
                actions += lookedUp(id: id, .absent, at: now)
            } else {
                finish(id, .uncertain, into: &actions)
            }
        case .failed: lookUpFailed(id, at: now, into: &actions)
        }
        flush(at: now, into: &actions)
        return actions
    }

    /// It was found out what the key has that a message is to set.
    package mutating func keyLookedUp(
        id: String, _ finding: KeyFinding, at now: ContinuousClock.Instant
    ) -> [Action] {
        guard outbox.state(of: id) == .sending, case .key(let key)? = outbox.destination(of: id) else { return [] }
        var actions: [Action] = []
        switch finding {
        case .stored(let revision):
            finish(id, .acknowledged(sequence: revision, isDuplicate: true), into: &actions)
        case .notStored(let revision):
            let message = outbox.wasNotStored(id: id, at: now, newest: revision)
            if let message { actions.append(.send(message)) }
        case .overtaken(let revision):
            finish(id, .failed(.conflict(key: key, revision: revision)), into: &actions)
        case .unknown: finish(id, .uncertain, into: &actions)
        case .noStore: finish(id, .failed(KeyValueStore.missing), into: &actions)
        case .failed: lookUpFailed(id, at: now, into: &actions)
        }
        flush(at: now, into: &actions)
        return actions
    }

    private mutating func lookUpFailed(
        _ id: String, at now: ContinuousClock.Instant, into actions: inout [Action]
    ) {
        let (_, end) = outbox.refused(id: id, .timeout("Looking for the message"), at: now)
        if let end {
            actions.append(ended(end))
        } else {
            actions.append(.tell(PublishNews(id: id, state: .queued)))
        }
    }

    // MARK: Steps

    /// Sends what may leave now.
    private mutating func flush(at now: ContinuousClock.Instant, into actions: inout [Action]) {
        while outbox.queuedCount > 0 {
            let batch = outbox.nextToSend(at: now, newest: newestSequence)
            for message in batch.messages {
                actions.append(.send(message))
                guard !serverTellsOfRecipients, case .postbox(let user, let postbox) = message.destination else {
                    continue
                }
                actions.append(.askRecipient(id: message.id, user: user, postbox: postbox, isRefused: false))
            }
            var hasRoom = false
            for late in batch.late {
                switch late.message.destination {
                case .topic(let topic): actions.append(.lookUp(late, topic: topic))
                case .key(let key): actions.append(.lookUpKey(late, key: key))
                // Only its owner reads a postbox.
                case .postbox:
                    finish(late.message.id, .uncertain, into: &actions)
                    hasRoom = true
                }
            }
            if let moment = batch.resumeAt { actions.append(.wake(at: moment)) }
            guard hasRoom else { return }
        }
    }

    private mutating func finish(_ id: String, _ state: PublishNews.State, into actions: inout [Action]) {
        if let end = outbox.end(id, state) { actions.append(ended(end)) }
    }

    private mutating func ended(_ end: Outbox.End) -> Action {
        var (news, pending) = end
        if case .acknowledged = news.state {
            resent.stored(news.id)
            news.mayBeStored = false
        }
        return .end(news, pending)
    }
}

extension NATSError {
    /// Whether nothing was sent because its answer could not be heard.
    fileprivate var isRefusedAnswer: Bool { if case .subscribeNotPermitted = self { true } else { false } }
}
