import NATS

// What comes of the server's answers, and of what was found out about a message.
extension Delivery {
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

    /// How many unexplained refusals in a row, over some eight seconds, make a letter fail: a restarting host needs as
    /// long.
    static let silentRefusals = 7

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
            case .success(let told) where told.isDuplicate && told.sequence == 0:
                refused(id, .jetStream(.notStoredYet), at: now, into: &actions)
            case .success(let told):
                stored(id, sequence: told.sequence, isDuplicate: told.isDuplicate, at: now, into: &actions)
            case .failure(let error): refused(id, error, at: now, into: &actions)
            }
        }
        leave(at: now, into: &actions)
        return actions
    }

    private mutating func refused(
        _ id: String, _ error: NATSError, at now: ContinuousClock.Instant, into actions: inout [Action]
    ) {
        guard let entry = entry(underWay: id) else { return }
        let destination = entry.message.destination
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
            case .topic(let topic): if refusals(of: id) > 0 { actions.append(.askStream(id: id, topic: topic)) }
            // Before it is sent again its store is asked for the key.
            case .key: break
            }
        default: break
        }
        let reason = Self.reason(error, destination)
        // The server may have stored what it was sent before it refused to answer, which it may permit again.
        guard error.isRetryable || error.isRefusedAnswer && entry.wasSentBefore else {
            return end(id, .failed(reason), into: &actions)
        }
        putBack(id, reason, isInDoubt: error.leavesInDoubt, at: now, into: &actions)
    }

    private static func reason(_ error: NATSError, _ destination: Destination) -> RelayError {
        switch (error, destination) {
        case (.jetStream(let failure), .postbox(let user, let postbox)) where failure.meansFullStream:
            .postboxNotAccepting("\(user)/\(postbox)", because: .full)
        case (.noResponders, _): noStream(for: destination)
        case (.publishNotPermitted, .key(let key)): .notAuthorized("changing the key \(key)")
        case (.publishNotPermitted, .postbox): .notAuthorized("sending letters, such as this one to \(destination)")
        default: RelayError(error, during: "publishing to \(destination)")
        }
    }

    private static func noStream(for destination: Destination) -> RelayError {
        .server(code: 503, "no stream stores \(destination)")
    }

    /// The network reported the state of a letter's postbox; nil when it did not answer. A postbox that takes letters
    /// was without a leader for a moment, and the letter is sent again.
    ///
    /// - Parameter isRefused: whether the letter itself was refused before; otherwise it is under way.
    package mutating func recipientAnswered(
        id: String, _ state: RecipientReply.State?, isRefused: Bool, at now: ContinuousClock.Instant
    ) -> [Action] {
        guard case .postbox(let user, let postbox)? = destination(of: id) else { return [] }
        var actions: [Action] = []
        // A refused letter that is under way again brings its own news, unless this is certain: a full postbox may have
        // room again, and its stream says itself that it has none.
        let isUnderWay = entry(underWay: id) != nil
        switch state {
        case .accepting:
            guard !isRefused, isUnderWay, refusals(of: id) == 0 else { return [] }
            // Nothing has been heard of a letter that was sent before the question. The question has a new user's first
            // postbox made, and an old server does not tell of what came before: the letter is sent once more, and
            // stored once all the same.
            putBack(id, .server(code: 503, "no postbox took the letter"), at: now, into: &actions)
        case nil, .full:
            guard isRefused, !isUnderWay, state != nil || refusals(of: id) >= Self.silentRefusals else { return [] }
            end(id, .failed(.postboxNotAccepting("\(user)/\(postbox)", because: state)), into: &actions)
        case .disabled, .unknownPostbox, .unknownUser:
            guard isRefused || isUnderWay else { return [] }
            end(id, .failed(.postboxNotAccepting("\(user)/\(postbox)", because: state)), into: &actions)
        }
        leave(at: now, into: &actions)
        return actions
    }

    /// No stream stores the message's topic, now or later.
    package mutating func streamIsMissing(id: String, at now: ContinuousClock.Instant) -> [Action] {
        guard let destination = destination(of: id) else { return [] }
        var actions: [Action] = []
        end(id, .failed(Self.noStream(for: destination)), into: &actions)
        leave(at: now, into: &actions)
        return actions
    }

    /// A late message was looked for.
    package mutating func lookedUp(id: String, _ finding: Finding, at now: ContinuousClock.Instant) -> [Action] {
        guard let entry = entry(underWay: id) else { return [] }
        var actions: [Action] = []
        switch finding {
        case .stored(let sequence): end(id, .acknowledged(sequence: sequence, isDuplicate: true), into: &actions)
        // What another run may have sent and the newest messages do not hold was hardly sent.
        case .unknown where !entry.mayBeStored: end(id, .uncertain, into: &actions)
        case .absent, .unknown: wasNotStored(id, newest: newestSequence, at: now, into: &actions)
        case .failed: putBack(id, .timeout("Looking for the message"), at: now, into: &actions)
        }
        leave(at: now, into: &actions)
        return actions
    }

    /// It was found out what the key has that a message is to set.
    package mutating func keyLookedUp(
        id: String, _ finding: KeyFinding, at now: ContinuousClock.Instant
    ) -> [Action] {
        guard case .key(let key)? = entry(underWay: id)?.message.destination else { return [] }
        var actions: [Action] = []
        switch finding {
        case .stored(let revision): end(id, .acknowledged(sequence: revision, isDuplicate: true), into: &actions)
        case .notStored(let revision): wasNotStored(id, newest: revision, at: now, into: &actions)
        case .overtaken(let revision): end(id, .failed(.conflict(key: key, revision: revision)), into: &actions)
        case .unknown: end(id, .uncertain, into: &actions)
        case .noStore: end(id, .failed(KeyValueStore.missing), into: &actions)
        case .failed: putBack(id, .timeout("Looking for the message"), at: now, into: &actions)
        }
        leave(at: now, into: &actions)
        return actions
    }
}

extension NATSError {
    /// Whether nothing was sent because its answer could not be heard.
    fileprivate var isRefusedAnswer: Bool { if case .subscribeNotPermitted = self { true } else { false } }

    /// Whether the server may have stored the message all the same.
    fileprivate var leavesInDoubt: Bool {
        switch self {
        case .timeout: true
        case .jetStream(let failure): failure.errorCode == JetStreamFailure.notStoredYet.errorCode
        default: false
        }
    }
}
