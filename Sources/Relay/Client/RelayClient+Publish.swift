import NATS
import NIOCore

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Where one publish is now.
public struct PublishNews: Hashable, Sendable {
    /// The message's identifier.
    public var id: String
    /// Its state.
    public var state: PublishState

    /// Creates news.
    public init(id: String, state: PublishState) {
        self.id = id
        self.state = state
    }
}

/// A publish that was handed over and has not ended yet.
public final class PendingPublish: Sendable {
    /// The message's identifier.
    public let id: String
    private let outcome: Completion<PublishOutcome?>

    init(id: String, outcome: Completion<PublishOutcome?>) {
        self.id = id
        self.outcome = outcome
    }

    /// Waits until the server has stored the message. To be called once.
    ///
    /// - Parameter timeout: how long that may take; the message stays in the outbox when it passes.
    /// - Throws: ``RelayError/timeout(_:)``, ``RelayError/cancelled``, or why the message will not be stored.
    public func receipt(within timeout: Duration) async throws(RelayError) -> PublishReceipt {
        let alarm = outcome.fulfil(nil, after: timeout)
        let ended = await outcome.value(onCancel: .failed(.cancelled))
        alarm.cancel()
        switch ended {
        case .acknowledged(let sequence, let duplicate):
            return PublishReceipt(id: id, sequence: sequence, isDuplicate: duplicate)
        case .failed(let error): throw error
        case .discarded(let reason): throw .connection(reason)
        case nil: throw .timeout("Publishing \(id)")
        }
    }
}

/// How a publish was stored.
public struct PublishReceipt: Hashable, Sendable {
    /// The message's identifier.
    public var id: String
    /// Its place in the network's stream.
    public var sequence: UInt64
    /// Whether an earlier attempt had stored it.
    public var isDuplicate: Bool
}

// Publishing: every message goes through the outbox, connected or not, and ends in exactly one outcome.
extension RelayClient {
    /// Where publishes are, from now on: of messages on topics and of letters to postboxes.
    public nonisolated var publishes: AsyncStream<PublishNews> { publishBoard.watch() }

    /// How many messages wait or are under way.
    public var queuedCount: Int { outbox.count }

    /// Publishes to a topic, as RelayX does.
    ///
    /// - Returns: true when the server has stored it; false when it waits in the outbox for a connection.
    /// - Throws: ``RelayError/invalidTopic(_:)``, ``RelayError/tooLarge(bytes:limit:)``, ``RelayError/outboxFull``,
    ///   ``RelayError/notConnected`` before the first `connect`, or the reason the server gave.
    @discardableResult
    public func publish(topic: String, message: MessageValue) async throws(RelayError) -> Bool {
        guard machine.status.state == .connected else {
            try enqueue(topic: topic, message: message)
            return false
        }
        do throws(RelayError) {
            _ = try await submit(topic: topic, message: message).receipt(within: publishLimit)
            return true
        } catch {
            if case .timeout = error { return false }
            throw error
        }
    }

    /// Publishes to a topic and waits until the server has stored the message, through any outage.
    ///
    /// - Parameters:
    ///   - id: the message's identifier; the same one again makes a repetition harmless.
    ///   - timeout: how long that may take. The message stays in the outbox when it passes.
    /// - Throws: ``RelayError/timeout(_:)`` and what ``enqueue(topic:message:id:)`` throws.
    public func send(
        topic: String, message: MessageValue, id: String? = nil, timeout: Duration = .seconds(10)
    ) async throws(RelayError) -> PublishReceipt {
        try await submit(topic: topic, message: message, id: id).receipt(within: timeout)
    }

    /// Puts a message into the outbox and returns at once with what waits for its end: the form for many messages in
    /// order.
    ///
    /// - Parameter id: the message's identifier; a new one when nil.
    public func submit(
        topic: String, message: MessageValue, id: String? = nil
    ) throws(RelayError) -> PendingPublish {
        let id = id ?? Self.newID()
        return try pending(id) { () throws(RelayError) in try enqueue(topic: topic, message: message, id: id) }
    }

    /// Puts a message into the outbox and returns at once; ``publishes`` tells what becomes of it.
    ///
    /// - Parameter id: the message's identifier; a new one when nil.
    /// - Returns: the identifier.
    @discardableResult
    public func enqueue(topic: String, message: MessageValue, id: String? = nil) throws(RelayError) -> String {
        let topic = try Self.topic(topic)
        let id = id ?? Self.newID()
        let envelope = Envelope(
            clientID: configuration.clientID, id: id, room: topic.text, message: message, start: .now)
        try admit(OutboxMessage(id: id, topic: topic.text, payload: envelope.encoded()))
        return id
    }

    /// Puts a letter for somebody's postbox into the outbox and returns at once.
    ///
    /// - Parameters:
    ///   - recipient: whose postbox it is.
    ///   - postbox: the postbox's identifier.
    ///   - text: the letter.
    ///   - id: the letter's identifier; a new one when nil.
    /// - Returns: the identifier.
    @discardableResult
    public func enqueueLetter(
        to recipient: String, postbox: String, text: String, id: String? = nil
    ) throws(RelayError) -> String {
        guard Self.isToken(recipient), Self.isToken(postbox) else {
            throw .invalidArgument("Name the postbox as USER/POSTBOX")
        }
        let id = id ?? Self.newID()
        let letter = PostboxLetter(id: id, createdAt: Timestamp.now.milliseconds, message: text)
        try admit(OutboxMessage(id: id, topic: "@\(recipient)/\(postbox)", payload: letter.encoded()))
        return id
    }

    /// Sends a letter to somebody's postbox and waits until it is stored.
    ///
    /// - Throws: ``RelayError/postboxNotAccepting(_:because:)`` for a postbox that is disabled or does not exist.
    public func post(
        to recipient: String, postbox: String, text: String, id: String? = nil, timeout: Duration = .seconds(10)
    ) async throws(RelayError) -> PublishReceipt {
        let id = id ?? Self.newID()
        return try await pending(id) { () throws(RelayError) in
            try enqueueLetter(to: recipient, postbox: postbox, text: text, id: id)
        }.receipt(within: timeout)
    }

    /// Takes a message back that has not left yet; false when it is too late.
    public func cancelPublish(id: String) -> Bool {
        guard let resolution = outbox.cancel(id: id) else { return false }
        report(resolution)
        return true
    }

    // MARK: Steps

    private func admit(_ message: OutboxMessage) throws(RelayError) {
        guard machine.status.state != .initialized else { throw .notConnected }
        let limit = min(
            configuration.maximumMessageBytes, max(0, (link?.connection.info.maximumPayload ?? .max) - 256))
        guard message.payload.count <= limit else { throw .tooLarge(bytes: message.payload.count, limit: limit) }
        switch outbox.enqueue(message) {
        case .rejected(let error): throw error
        case .accepted: break
        case .acceptedDropping(let dropped): for resolution in dropped { report(resolution) }
        }
        publishBoard.post(PublishNews(id: message.id, state: .queued), keepsCurrent: false)
        flushOutbox()
    }

    /// Sends what may leave now. Answers come back one by one, in any order.
    func flushOutbox() {
        // A message that fails at once asks for another round, not for one inside the other.
        guard !isFlushing else { return }
        isFlushing = true
        defer { isFlushing = false }
        while !sendBatch() {}
    }

    /// Sends one batch; false when a message of it has failed already, so that others may have room.
    private func sendBatch() -> Bool {
        guard let link, let namespace else { return true }
        var hasRoom = false
        let now = ContinuousClock.now
        if !heldTopics.isEmpty { heldTopics = heldTopics.filter { $0.value > now } }
        let batch = outbox.nextToSend(except: heldTopics, at: now)
        let jetStream = link.jetStream
        let generation = link.generation
        for message in batch.messages {
            publishBoard.post(PublishNews(id: message.id, state: .sending), keepsCurrent: false)
            let id = message.id
            do throws(NATSError) {
                try jetStream.send(
                    ByteBuffer(bytes: message.payload), to: Self.subject(of: message.topic, namespace), messageID: id
                ) { [weak self] result in
                    Task { await self?.answered(id, result, generation: generation) }
                }
                // Through an import, a server before 2.10 does not say that no stream takes the subject.
                if message.topic.hasPrefix("@"), !link.connection.info.isAtLeast(2, 10) {
                    askAboutPostbox(of: id, message.topic, generation: generation, isRefused: false)
                }
            } catch {
                answered(id, .failure(error), generation: generation)
                hasRoom = link.connection.isOpen
            }
        }
        if let moment = [batch.resumeAt, heldTopics.values.min()].compactMap(\.self).min() { resumeFlush(at: moment) }
        return !hasRoom
    }

    private func resumeFlush(at moment: ContinuousClock.Instant) {
        pacingTask?.cancel()
        pacingTask = Task { [weak self] in
            try? await Task.sleep(until: moment, clock: .continuous)
            guard !Task.isCancelled else { return }
            await self?.flushOutbox()
        }
    }

    private func answered(_ id: String, _ result: Result<PublishAcknowledgement, NATSError>, generation: UInt64) {
        // The failure of a lost connection says nothing about the message, which goes back into the queue with the news
        // of the loss. A late acknowledgement still counts: the server has the message.
        if case .failure = result {
            guard let link, link.generation == generation, link.connection.isOpen else { return }
        }
        switch result {
        case .success(let acknowledgement):
            if let resolution = outbox.acknowledged(
                id: id, sequence: acknowledgement.sequence, duplicate: acknowledgement.isDuplicate)
            {
                report(resolution)
            }
        case .failure(let error):
            switch error {
            case .connectionLost, .closedByServer, .staleConnection, .closed, .cancelled: return
            default: break
            }
            // No answer at all may mean that the connection is dead without a word.
            if case .timeout = error { link?.connection.probe() }
            let topic = outbox.topic(of: id) ?? ""
            // A postbox without a subject takes nothing; a topic's stream may be without a leader for a moment.
            if case .noResponders = error, topic.hasPrefix("@") {
                return askAboutPostbox(of: id, topic, generation: generation, isRefused: true)
            }
            let isRetryable = error.isRetryable
            if let resolution = outbox.failed(id: id, publishFailure(error, topic: topic), retryable: isRetryable) {
                report(resolution)
            } else if outbox.state(of: id) != nil {
                publishBoard.post(PublishNews(id: id, state: .queued), keepsCurrent: false)
                heldTopics[topic] = .now + .milliseconds(250)
            }
        }
        flushOutbox()
    }

    /// Asks the network how the postbox of a letter stands, and gives the letter up where it takes none.
    ///
    /// - Parameter isRefused: whether the letter was refused already; otherwise it is under way meanwhile.
    private func askAboutPostbox(of id: String, _ lane: String, generation: UInt64, isRefused: Bool) {
        guard let connection = link?.connection else { return }
        let (user, postbox) = Self.recipient(of: lane)
        Task { [weak self] in
            let answer = try? await connection.request(
                ByteBuffer(), to: "relay.recipient.\(user).\(postbox)", timeout: .seconds(5))
            let reply = answer.flatMap { try? JSONDecoder().decode(RecipientReply.self, from: Data($0.bytes)) }
            if !isRefused {
                guard let state = reply?.state, state != .accepting else { return }
                // It may have been stored a moment before the postbox was closed.
                try? await Task.sleep(for: .milliseconds(250))
            }
            await self?.refuseLetter(
                id, .postboxNotAccepting(String(lane.dropFirst()), because: reply?.state), generation)
        }
    }

    private func refuseLetter(_ id: String, _ error: RelayError, _ generation: UInt64) {
        // Another connection tries it anew.
        guard link?.generation == generation, outbox.state(of: id) == .sending else { return }
        if let resolution = outbox.failed(id: id, error, retryable: false) { report(resolution) }
        flushOutbox()
    }

    private func publishFailure(_ error: NATSError, topic: String) -> RelayError {
        switch error {
        case .noResponders: return .server(code: 503, "no stream stores \(topic)")
        case .publishNotPermitted: return .notAuthorized("publishing to \(topic)")
        default: return RelayError(error, during: "publishing")
        }
    }

    /// Empties the outbox of what may not be sent any more, whatever its policy says.
    func discardOutbox() {
        for resolution in outbox.discardAll(.closedByUser) { report(resolution) }
    }

    func endOutbox(_ reason: ConnectionReason) {
        for resolution in outbox.sessionEnded(reason) { report(resolution) }
        outboxWaits(over: false)
    }

    /// Waits until everything has been stored or given up, as long as the connection stands and `limit` has not passed.
    func waitForEmptyOutbox(_ limit: Duration) async {
        guard !outbox.isEmpty else { return }
        let waiter = Completion<Bool>()
        emptyWaiters.append(waiter)
        let alarm = waiter.fulfil(false, after: limit)
        // A cancelled task, too, waits for what it sent.
        _ = await waiter.value()
        alarm.cancel()
        emptyWaiters.removeAll { $0 === waiter }
    }

    /// Wakes who waits for the outbox: it came that far, or never will on this connection.
    func outboxWaits(over isDone: Bool) {
        flushWaiter?.fulfil(isDone)
        flushWaiter = nil
        for waiter in emptyWaiters { waiter.fulfil(isDone) }
        emptyWaiters = []
    }

    private func report(_ resolution: PublishResolution) {
        publishBoard.post(
            PublishNews(id: resolution.id, state: PublishState(resolution.outcome)), keepsCurrent: false)
        publishWaiters.removeValue(forKey: resolution.id)?.fulfil(resolution.outcome)
        if case .acknowledged = resolution.outcome { resends.stored(resolution.id) }
        if outbox.isFlushed, let waiter = flushWaiter {
            flushWaiter = nil
            waiter.fulfil(true)
        }
        if outbox.isEmpty, !emptyWaiters.isEmpty { outboxWaits(over: true) }
    }

    /// Registers who waits for a message before it can end.
    private func pending(_ id: String, _ admit: () throws(RelayError) -> Void) throws(RelayError) -> PendingPublish {
        guard outbox.state(of: id) == nil else {
            throw .invalidArgument("A message with the identifier \(id) is already on its way")
        }
        let outcome = Completion<PublishOutcome?>()
        publishWaiters[id] = outcome
        do throws(RelayError) { try admit() } catch {
            publishWaiters[id] = nil
            throw error
        }
        return PendingPublish(id: id, outcome: outcome)
    }

    // MARK: Names

    static func subject(of lane: String, _ namespace: RelayConfiguration.Namespace) -> String {
        guard lane.hasPrefix("@") else { return "\(namespace.hash).\(lane)" }
        let (user, postbox) = recipient(of: lane)
        return "postbox.\(user).\(postbox)"
    }

    /// The user and the postbox of a letter's lane, `@user/postbox`.
    private static func recipient(of lane: String) -> (user: String, postbox: String) {
        let parts = lane.dropFirst().split(separator: "/", maxSplits: 1).map(String.init)
        return (parts.first ?? "", parts.last ?? "")
    }

    static func topic(_ text: String) throws(RelayError) -> Topic {
        do throws(TopicError) { return try Topic(text) } catch { throw .invalidTopic("\(error)") }
    }

    static func isToken(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.count <= 64
            && text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && !".*>/\\".utf8.contains($0) }
    }

    /// An identifier for a message: a random UUID's text, lower case.
    public nonisolated static func newID() -> String { UUIDText.random() }
}
