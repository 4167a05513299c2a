import NATS
import NIOConcurrencyHelpers

/// A publish that was handed over and has not ended yet.
public final class PendingPublish: Sendable {
    /// The message's identifier.
    public let id: String

    private struct State {
        var outcome: PublishOutcome?
        /// The caller that came to wait before the end.
        var waiter: Completion<PublishOutcome?>?
    }

    private let state = NIOLockedValueBox(State())
    private let clock: ReceiptClock

    /// - Parameter clock: says when a caller has waited for long enough.
    init(id: String, _ clock: ReceiptClock) {
        self.id = id
        self.clock = clock
    }

    /// The message has ended. Most do before a caller comes to wait for them.
    func end(_ outcome: PublishOutcome) {
        let waiter = state.withLockedValue { state in
            state.outcome = outcome
            return state.waiter
        }
        waiter?.fulfil(outcome)
    }

    private nonisolated(nonsending) func outcome(within limit: Duration) async -> PublishOutcome? {
        let (outcome, waiter) = state.withLockedValue { state -> (PublishOutcome?, Completion<PublishOutcome?>?) in
            if let outcome = state.outcome { return (outcome, nil) }
            let waiter = Completion<PublishOutcome?>()
            state.waiter = waiter
            return (nil, waiter)
        }
        guard let waiter else { return outcome }
        return await clock.outcome(of: waiter, within: limit)
    }

    /// Waits until the server has stored the message. To be called once.
    ///
    /// - Parameter timeout: how long that may take; the message stays in the outbox when it passes.
    /// - Throws: ``RelayError/timeout(_:)``, ``RelayError/cancelled``, or why the message will not be stored.
    public nonisolated(nonsending) func receipt(within timeout: Duration) async throws(RelayError) -> PublishReceipt {
        try receipt(of: await outcome(within: timeout))
    }

    /// The receipt of a message that has ended, without waiting; nil while it has not.
    ///
    /// - Throws: why the message will not be stored.
    package func receiptNow() throws(RelayError) -> PublishReceipt? {
        guard let outcome = state.withLockedValue({ $0.outcome }) else { return nil }
        return try receipt(of: outcome)
    }

    private func receipt(of outcome: PublishOutcome?) throws(RelayError) -> PublishReceipt {
        switch outcome {
        case .acknowledged(let sequence, let duplicate):
            return PublishReceipt(id: id, sequence: sequence, isDuplicate: duplicate)
        case .failed(let error): throw error
        case .discarded(let reason): throw .connection(reason)
        case .uncertain: throw .uncertain(id)
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
//
// With a local store in a file, each call commits its message there before it returns, and waits for the disk: some
// milliseconds. The end of the process, however it comes, loses nothing that was accepted then; what was under way or
// waited leaves at the next start. While the store is being opened, and while the disk takes nothing, messages wait in
// memory alone.
extension RelayClient {
    /// Where publishes are, from now on: of messages on topics and of letters to postboxes.
    public nonisolated var publishes: AsyncStream<PublishNews> { publisher.board.watch() }

    /// How many messages wait or are under way.
    public nonisolated var queuedCount: Int { publisher.count }

    /// Publishes to a topic, as RelayX does.
    ///
    /// - Returns: true when the server has stored it; false when it waits in the outbox for a connection.
    /// - Throws: ``RelayError/invalidTopic(_:)``, ``RelayError/tooLarge(bytes:limit:)``, ``RelayError/outboxFull``,
    ///   ``RelayError/notConnected`` before the first `connect`, or the reason the server gave.
    @discardableResult
    public nonisolated(nonsending) func publish(
        topic: String, message: MessageValue
    ) async throws(RelayError) -> Bool {
        guard status.state == .connected else {
            try enqueue(topic: topic, message: message)
            return false
        }
        do throws(RelayError) {
            _ = try await submit(topic: topic, message: message).receipt(within: limits.publish)
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
    public nonisolated(nonsending) func send(
        topic: String, message: MessageValue, id: String? = nil, timeout: Duration = .seconds(10)
    ) async throws(RelayError) -> PublishReceipt {
        try await submit(topic: topic, message: message, id: id).receipt(within: timeout)
    }

    /// Puts a message into the outbox and returns at once with what waits for its end: the form for many messages in
    /// order, from any thread. With a local store in a file it is committed there first.
    ///
    /// - Parameters:
    ///   - id: the message's identifier; a new one when nil.
    ///   - mayBeStored: whether an earlier run of the program may have sent a message under this identifier, however
    ///     long ago. It is looked for then, among the newest 20,000 messages of its topic, and not stored twice.
    /// - Throws: what ``enqueue(topic:message:id:)`` throws.
    public nonisolated func submit(
        topic: String, message: MessageValue, id: String? = nil, mayBeStored: Bool = false
    ) throws(RelayError) -> PendingPublish {
        let pending = PendingPublish(id: id ?? Self.newID(), publisher.receiptClock)
        try publisher.submit(
            self.message(topic: topic, message, id: pending.id, mayBeStored: mayBeStored, pending: pending))
        return pending
    }

    /// Puts a line of chat into the outbox and returns at once with what waits for its end.
    ///
    /// - Parameters:
    ///   - name: who writes; nil for the user whom the credentials name, as in
    ///     ``enqueueLine(topic:text:from:writtenAt:id:)``.
    ///   - time: when it was written; now when nil.
    ///   - id: the message's identifier; a new one when nil.
    ///   - mayBeStored: as in ``submit(topic:message:id:mayBeStored:)``.
    /// - Throws: what ``enqueue(topic:message:id:)`` throws.
    public nonisolated func submitLine(
        topic: String, text: String, from name: String? = nil, writtenAt time: Timestamp? = nil, id: String? = nil,
        mayBeStored: Bool = false
    ) throws(RelayError) -> PendingPublish {
        let pending = PendingPublish(id: id ?? Self.newID(), publisher.receiptClock)
        let now = Timestamp.now
        let line = ChatLine(username: name ?? user ?? "", text: text, timestamp: time ?? now)
        try publisher.submit(
            self.line(line, topic: topic, at: now, id: pending.id, mayBeStored: mayBeStored, pending: pending))
        return pending
    }

    /// Has the messages that `body` submits leave together, in one write where they fit. For a few hundred that are
    /// there at once, such as a file's lines; each is accepted by itself. With a local store in a file each leaves as
    /// soon as it is committed there.
    public nonisolated func together<Value, Failure: Error>(
        _ body: () throws(Failure) -> Value
    ) throws(Failure) -> Value {
        try publisher.together(body)
    }

    /// Puts a message into the outbox and returns at once; ``publishes`` reports what becomes of it. With a local store
    /// in a file it is committed there first.
    ///
    /// - Parameter id: the message's identifier; a new one when nil.
    /// - Returns: the identifier.
    /// - Throws: ``RelayError/invalidTopic(_:)``, ``RelayError/tooLarge(bytes:limit:)``, ``RelayError/outboxFull``,
    ///   ``RelayError/notConnected`` before the first `connect`, ``RelayError/invalidArgument(_:)`` for an identifier
    ///   that is on its way already.
    @discardableResult
    public nonisolated func enqueue(topic: String, message: MessageValue, id: String? = nil) throws(RelayError)
        -> String
    {
        let message = try self.message(topic: topic, message, id: id)
        try publisher.submit(message)
        return message.id
    }

    /// Puts a line of chat into the outbox and returns at once; ``publishes`` reports what becomes of it. With a local
    /// store in a file it is committed there first.
    ///
    /// - Parameters:
    ///   - name: who writes; nil for the user whom the credentials name, and where they don't yet, the line waits until
    ///     a token does.
    ///   - time: when it was written; now when nil.
    ///   - id: the message's identifier; a new one when nil.
    /// - Returns: the identifier.
    /// - Throws: what ``enqueue(topic:message:id:)`` throws.
    @discardableResult
    public nonisolated func enqueueLine(
        topic: String, text: String, from name: String? = nil, writtenAt time: Timestamp? = nil, id: String? = nil
    ) throws(RelayError) -> String {
        let id = id ?? Self.newID()
        let now = Timestamp.now
        let line = ChatLine(username: name ?? user ?? "", text: text, timestamp: time ?? now)
        try publisher.submit(self.line(line, topic: topic, at: now, id: id))
        return id
    }

    /// Keeps a line of chat that ``enqueueLine(topic:text:from:writtenAt:id:)`` did not take: it waits for the person,
    /// with the reason, as what was not sent does. Nothing is kept without a local store in a file.
    package nonisolated func keepRefusedLine(
        topic: String, text: String, from name: String?, writtenAt time: Timestamp, id: String,
        because error: RelayError
    ) {
        let line = ChatLine(username: name ?? user ?? "", text: text, timestamp: time)
        guard let keeper = publisher.keeper, let message = try? self.line(line, topic: topic, at: time, id: id) else {
            return
        }
        keeper.refused(message, because: error.words)
    }

    /// The same for a letter that ``enqueueLetter(to:postbox:subject:text:id:)`` did not take. One whose recipient or
    /// subject is none is not kept.
    package nonisolated func keepRefusedLetter(
        to recipient: String, postbox: String, subject: String?, text: String, id: String, because error: RelayError
    ) {
        guard let keeper = publisher.keeper,
            let letter = try? OutboxMessage(
                letterTo: recipient, postbox: postbox, subject: subject, text: text, id: id)
        else { return }
        keeper.refused(letter, because: error.words)
    }

    /// The largest text of a line or letter in bytes that the present server takes; more than any without one.
    package nonisolated var largestText: Int { publisher.largestText }

    /// Puts a letter for a user's postbox into the outbox and returns at once.
    ///
    /// - Parameters:
    ///   - recipient: whose postbox it is.
    ///   - postbox: the postbox's identifier.
    ///   - subject: what it is about, in a line of at most 256 bytes; nil or empty for none.
    ///   - text: the letter.
    ///   - id: the letter's identifier; a new one when nil.
    /// - Returns: the identifier.
    @discardableResult
    public nonisolated func enqueueLetter(
        to recipient: String, postbox: String, subject: String? = nil, text: String, id: String? = nil
    ) throws(RelayError) -> String {
        let letter = try OutboxMessage(letterTo: recipient, postbox: postbox, subject: subject, text: text, id: id)
        try publisher.submit(letter)
        return letter.id
    }

    /// Sends a letter to a user's postbox and waits until it is stored.
    ///
    /// - Parameter subject: what it is about, in a line of at most 256 bytes; nil or empty for none.
    /// - Throws: ``RelayError/postboxNotAccepting(_:because:)`` for a postbox that is disabled or full, or does not
    ///   exist, ``RelayError/invalidArgument(_:)`` for a name or a subject that is none.
    public nonisolated(nonsending) func post(
        to recipient: String, postbox: String, subject: String? = nil, text: String, id: String? = nil,
        timeout: Duration = .seconds(10)
    ) async throws(RelayError) -> PublishReceipt {
        let pending = PendingPublish(id: id ?? Self.newID(), publisher.receiptClock)
        try publisher.submit(
            OutboxMessage(
                letterTo: recipient, postbox: postbox, subject: subject, text: text, id: pending.id, pending: pending))
        return try await pending.receipt(within: timeout)
    }

    /// Takes a message back that has not left yet; false when it is too late.
    public nonisolated func cancelPublish(id: String) -> Bool { publisher.cancel(id: id) }

    /// Puts the user's name under the lines that were written before it was known.
    func signLines(as user: String) {
        publisher.sign { [clientID] message in
            guard var line = message.unsigned, case .topic(let topic) = message.destination else { return }
            line.username = user
            message = message.signed(
                Envelope.encoded(
                    line, clientID: clientID, id: message.id, room: topic, start: line.timestamp ?? .now))
        }
    }

    // MARK: Steps

    private nonisolated func message(
        topic: String, _ value: MessageValue, id: String?, mayBeStored: Bool = false, pending: PendingPublish? = nil
    ) throws(RelayError) -> OutboxMessage {
        let topic = try Self.topic(topic)
        let id = id ?? Self.newID()
        let envelope = Envelope(clientID: clientID, id: id, room: topic.text, message: value, start: .now)
        return OutboxMessage(
            id: id, destination: .topic(topic.text), payload: envelope.encoded(), mayBeStored: mayBeStored,
            unsigned: nil, pending: pending)
    }

    private nonisolated func line(
        _ line: ChatLine, topic: String, at now: Timestamp, id: String, mayBeStored: Bool = false,
        pending: PendingPublish? = nil
    ) throws(RelayError) -> OutboxMessage {
        let topic = try Self.topic(topic)
        let payload = Envelope.encoded(line, clientID: clientID, id: id, room: topic.text, start: now)
        return OutboxMessage(
            id: id, destination: .topic(topic.text), payload: payload, mayBeStored: mayBeStored,
            unsigned: line.username.isEmpty ? line : nil, pending: pending)
    }

    // MARK: Names

    static func topic(_ text: String) throws(RelayError) -> Topic {
        do throws(TopicError) { return try Topic(text) } catch { throw .invalidTopic("\(error)") }
    }

    /// An identifier for a message: fifteen random letters and digits.
    public nonisolated static func newID() -> String { RandomText.identifier() }
}
