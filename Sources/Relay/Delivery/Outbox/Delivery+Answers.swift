import NATS

// What follows from the server's answers, and from what was found out about a message.
extension Delivery {
    /// The result of looking for a message in its stream.
    package enum Finding: Hashable, Sendable {
        /// It is there.
        case stored(sequence: UInt64)
        /// It is not there.
        case absent
        /// The stream is too long to search, or may not be read.
        case unknown
        /// The server did not answer, but may do so later.
        case failed
    }

    /// After this many refusals in a row, over some eight seconds, a letter fails without a known reason: a network's
    /// host needs as long to restart.
    static let silentRefusals = 7

    package mutating func answered(
        _ answers: some Sequence<(id: String, result: Result<PublishAcknowledgement, NATSError>)>,
        at now: ContinuousClock.Instant
    ) -> [Action] {
        var actions: [Action] = []
        actions.reserveCapacity(answers.underestimatedCount)
        for (id, result) in answers {
            switch result {
            // A server of a cluster has accepted the message but may still lose it. Older servers answer in this form;
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
        // The end of the connection proves nothing about the message, which `connectionLost` puts back.
        case .connectionLost, .closedByServer, .staleConnection, .closed, .cancelled: return
        // No answer may mean that the connection has died silently.
        case .timeout: actions.append(.probe)
        case .noResponders:
            switch destination {
            case .postbox(let user, let postbox):
                actions.append(.askRecipient(id: id, user: user, postbox: postbox, isRefused: true))
            // A topic's stream may have no leader for a moment, or not exist.
            case .topic(let topic): if refusals(of: id) > 0 { actions.append(.askStream(id: id, topic: topic)) }
            // Before the message is sent again, the key is looked up.
            case .key: break
            }
        default: break
        }
        let reason = Self.reason(error, destination)
        // The server may have stored an earlier attempt before it refused to answer, and may permit that again.
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

    /// The network reported the state of a letter's postbox; nil if it did not answer. A postbox that accepts letters
    /// had no leader for a moment, and the letter is sent again.
    ///
    /// - Parameter isRefused: Whether the letter itself was refused before; otherwise it is in flight.
    package mutating func recipientAnswered(
        id: String, _ state: RecipientReply.State?, isRefused: Bool, at now: ContinuousClock.Instant
    ) -> [Action] {
        guard case .postbox(let user, let postbox)? = destination(of: id) else { return [] }
        var actions: [Action] = []
        // A refused letter that is in flight again gets its own answer, unless this one is certain: a full postbox may
        // have room again, and its stream reports that itself.
        let isUnderWay = entry(underWay: id) != nil
        switch state {
        case .accepting:
            guard !isRefused, isUnderWay, refusals(of: id) == 0 else { return [] }
            // The question creates a new user's first postbox, and an old server does not report that there was none
            // before. So a letter that has had no answer is sent once more, and still stored only once.
            putBack(id, .server(code: 503, "no postbox accepted the letter"), at: now, into: &actions)
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

    package mutating func lookedUp(id: String, _ finding: Finding, at now: ContinuousClock.Instant) -> [Action] {
        guard let entry = entry(underWay: id) else { return [] }
        var actions: [Action] = []
        switch finding {
        case .stored(let sequence): end(id, .acknowledged(sequence: sequence, isDuplicate: true), into: &actions)
        // A message that another run may have sent was hardly sent if it is not among the newest.
        case .unknown where !entry.mayBeStored: end(id, .uncertain, into: &actions)
        case .absent, .unknown: wasNotStored(id, newest: newestSequence, at: now, into: &actions)
        case .failed: putBack(id, .timeout("Looking for the message"), at: now, into: &actions)
        }
        leave(at: now, into: &actions)
        return actions
    }

    package mutating func keyLookedUp(id: String, _ finding: KeyFinding, at now: ContinuousClock.Instant) -> [Action] {
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
    /// Whether nothing was sent because its answer could not be received.
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
