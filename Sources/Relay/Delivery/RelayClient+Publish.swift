// Publishing: every message goes through the outbox, connected or not, and ends once.
//
// With a local store in a file, each public call returns once its message is committed there, which takes as long as
// the disk does; only then does the message leave. From then on the end of the process loses nothing, however it comes:
// messages that waited or were in flight leave at the next start. While the store is being opened, and while the disk
// fails, messages wait in memory only. Messages keep the order of the calls, of which many may wait at once.
extension RelayClient {
    /// The states of publishes from now on: of messages to topics and of letters to postboxes.
    public nonisolated var publishes: AsyncStream<PublishNews> { publisher.board.watch() }

    /// The number of messages that wait or are in flight.
    public nonisolated var queuedCount: Int { publisher.count }

    /// Publishes to a topic, as RelayX does.
    ///
    /// - Returns: True once the server has stored it; false if it waits in the outbox for a connection.
    /// - Throws: ``RelayError/invalidTopic(_:)``, ``RelayError/tooLarge(bytes:limit:)``, ``RelayError/outboxFull``,
    ///   ``RelayError/notConnected`` before the first `connect`, or the server's reason.
    @discardableResult
    public nonisolated(nonsending) func publish(topic: String, message: MessageValue) async throws(RelayError) -> Bool {
        let isConnected = status.state == .connected
        let pending = try await enqueue(topic: topic, message: message)
        guard isConnected else { return false }
        do throws(RelayError) {
            _ = try await pending.receipt(within: limits.publish)
            return true
        } catch {
            if case .timeout = error { return false }
            throw error
        }
    }

    /// Publishes to a topic and waits, through any outage, until the server has stored the message.
    ///
    /// - Parameters:
    ///   - id: The message's identifier; repeating a call with the same one is harmless.
    ///   - timeout: The time limit once the message is in the outbox, where it stays when the limit passes.
    /// - Throws: ``RelayError/timeout(_:)`` and the errors of ``enqueue(topic:message:id:mayBeStored:)``.
    public nonisolated(nonsending) func send(
        topic: String, message: MessageValue, id: String? = nil, timeout: Duration = .seconds(10)
    ) async throws(RelayError) -> PublishReceipt {
        try await enqueue(topic: topic, message: message, id: id).receipt(within: timeout)
    }

    /// Puts a message into the outbox: the form for many messages in order. ``publishes`` reports its progress too.
    ///
    /// - Parameters:
    ///   - id: The message's identifier; a new one if nil.
    ///   - mayBeStored: Whether an earlier run of the program may have sent a message with this identifier, however
    ///     long ago. It is then looked for among the newest 20,000 messages of its topic, and not stored twice.
    /// - Returns: The pending publish, which can wait for the message's end.
    /// - Throws: ``RelayError/invalidTopic(_:)``, ``RelayError/tooLarge(bytes:limit:)``, ``RelayError/outboxFull``,
    ///   ``RelayError/notConnected`` before the first `connect`, ``RelayError/invalidArgument(_:)`` for an identifier
    ///   that is in use already.
    @discardableResult
    public nonisolated(nonsending) func enqueue(
        topic: String, message: MessageValue, id: String? = nil, mayBeStored: Bool = false
    ) async throws(RelayError) -> PendingPublish {
        try await enqueue(topic: topic, content: .value(message), id: id, mayBeStored: mayBeStored)
    }

    /// Puts a message of any kind into the outbox, like ``enqueue(topic:message:id:mayBeStored:)``.
    ///
    /// - Throws: The same errors, and ``RelayError/invalidArgument(_:)`` for a letter, which belongs in a postbox.
    @discardableResult
    public nonisolated(nonsending) func enqueue(
        topic: String, content: MessageContent, id: String? = nil, mayBeStored: Bool = false
    ) async throws(RelayError) -> PendingPublish {
        if case .letter = content {
            throw .invalidArgument("A letter goes to a postbox, not to a topic: send it with enqueueLetter.")
        }
        let pending = newPublish(id)
        try await publisher.submit(
            outgoing(content, to: Self.topic(topic), start: .now, mayBeStored: mayBeStored, id: pending.id),
            for: pending)
        return pending
    }

    /// Puts a line of chat into the outbox, like ``enqueue(topic:message:id:mayBeStored:)``.
    ///
    /// - Parameters:
    ///   - name: The sender; nil for the user named in the credentials. If they name none yet, the line waits for a
    ///     token that does.
    ///   - time: When it was written; now if nil.
    ///   - keepsRefused: Whether a refused line joins the unsent messages (``notSent()``) with the reason. Nothing is
    ///     kept without a store in a file.
    /// - Returns: The pending publish, which can wait for the line's end.
    /// - Throws: The errors of ``enqueue(topic:message:id:mayBeStored:)``.
    @discardableResult
    public nonisolated(nonsending) func enqueueLine(
        topic: String, text: String, from name: String? = nil, writtenAt time: Timestamp? = nil, id: String? = nil,
        mayBeStored: Bool = false, keepsRefused: Bool = false
    ) async throws(RelayError) -> PendingPublish {
        let pending = newPublish(id)
        let message = try line(topic, text, from: name, writtenAt: time, mayBeStored: mayBeStored, id: pending.id)
        try await publisher.submit(message, for: pending, keepsRefused: keepsRefused)
        return pending
    }

    /// Like ``enqueueLine(topic:text:from:writtenAt:id:mayBeStored:keepsRefused:)``, keeping a refused line, but
    /// returns before the line is on the disk (``outboxKept()``).
    package nonisolated(nonsending) func submitLine(
        topic: String, text: String, from name: String?, writtenAt time: Timestamp, id: String, mayBeStored: Bool
    ) async throws(RelayError) {
        try await publisher.submitAhead(
            line(topic, text, from: name, writtenAt: time, mayBeStored: mayBeStored, id: id))
    }

    /// Returns once submitted messages are on the disk; at once if nothing is stored, or the disk fails.
    package nonisolated(nonsending) func outboxKept() async { await publisher.kept() }

    /// The most lines submitted at once, while other writers wait.
    private static let linesTogether = 64

    /// Puts many lines of chat, such as a file's, into the outbox together: they leave in few writes.
    ///
    /// - Parameters:
    ///   - lines: Identifiers and texts. A few hundred at a time keep the server busy.
    ///   - name: As in ``enqueueLine(topic:text:from:writtenAt:id:mayBeStored:keepsRefused:)``.
    /// - Returns: The pending publishes up to the first line that was refused, and the reason for that.
    public nonisolated(nonsending) func enqueueLines(
        topic: String, _ lines: [(id: String, text: String)], from name: String? = nil, mayBeStored: Bool = false
    ) async -> (taken: [PendingPublish], refusal: RelayError?) {
        var taken: [PendingPublish] = []
        taken.reserveCapacity(lines.count)
        var refusal: RelayError?
        do throws(RelayError) {
            try publisher.together { () throws(RelayError) in
                var rest = lines[...]
                while !rest.isEmpty, refusal == nil {
                    var next: [(message: OutboxMessage, pending: PendingPublish?)] = []
                    for (id, text) in rest.prefix(Self.linesTogether) {
                        let message = try line(
                            topic, text, from: name, writtenAt: nil, mayBeStored: mayBeStored, id: id)
                        next.append((message, newPublish(id)))
                    }
                    rest = rest.dropFirst(next.count)
                    let count: Int
                    (count, refusal) = publisher.admit(next)
                    taken += next.prefix(count).compactMap(\.pending)
                }
            }
        } catch {
            refusal = error
        }
        await publisher.kept()
        return (taken, refusal)
    }

    /// The largest text of a line or letter in bytes that the present server accepts; more than any without one.
    package nonisolated var largestText: Int { publisher.largestText }

    /// Puts a letter for a user's postbox into the outbox.
    ///
    /// - Parameters:
    ///   - recipient: The postbox's owner.
    ///   - postbox: The postbox's identifier.
    ///   - subject: A subject line of at most 256 bytes; nil or empty for none.
    ///   - text: The text.
    ///   - id: The letter's identifier; a new one if nil.
    ///   - keepsRefused: As in ``enqueueLine(topic:text:from:writtenAt:id:mayBeStored:keepsRefused:)``. A letter with
    /// an
    ///     invalid recipient or subject is not kept.
    /// - Returns: The pending publish, which can wait for the letter's end.
    /// - Throws: ``RelayError/invalidArgument(_:)`` for an invalid name or subject, and the errors of
    ///   ``enqueue(topic:message:id:mayBeStored:)``.
    @discardableResult
    public nonisolated(nonsending) func enqueueLetter(
        to recipient: String, postbox: String, subject: String? = nil, text: String, id: String? = nil,
        keepsRefused: Bool = false
    ) async throws(RelayError) -> PendingPublish {
        let pending = newPublish(id)
        try await publisher.submit(
            OutboxMessage(letterTo: recipient, postbox: postbox, subject: subject, text: text, id: pending.id),
            for: pending, keepsRefused: keepsRefused)
        return pending
    }

    /// Like ``enqueueLetter(to:postbox:subject:text:id:keepsRefused:)``, keeping a refused letter, but returns before
    /// the letter is on the disk (``outboxKept()``).
    package nonisolated(nonsending) func submitLetter(
        to recipient: String, postbox: String, subject: String?, text: String, id: String
    ) async throws(RelayError) {
        try await publisher.submitAhead(
            OutboxMessage(letterTo: recipient, postbox: postbox, subject: subject, text: text, id: id))
    }

    /// Sends a letter to a user's postbox and waits until it is stored.
    ///
    /// - Parameter subject: A subject line of at most 256 bytes; nil or empty for none.
    /// - Throws: ``RelayError/postboxNotAccepting(_:because:)`` for a postbox that is disabled or full, or does not
    ///   exist, ``RelayError/invalidArgument(_:)`` for an invalid name or subject.
    public nonisolated(nonsending) func post(
        to recipient: String, postbox: String, subject: String? = nil, text: String, id: String? = nil,
        timeout: Duration = .seconds(10)
    ) async throws(RelayError) -> PublishReceipt {
        try await enqueueLetter(to: recipient, postbox: postbox, subject: subject, text: text, id: id)
            .receipt(within: timeout)
    }

    /// Takes back a message that has not left yet; false if it is too late.
    public nonisolated func cancelPublish(id: String) -> Bool { publisher.cancel(id: id) }

    /// Signs lines that were written before the user's name was known.
    func signLines(as user: String) {
        publisher.sign { [clientID] message in
            guard var content = message.unsigned, case .topic(let topic) = message.destination else { return }
            content.sign(as: user)
            message = message.signed(
                Envelope.encoded(
                    content, clientID: clientID, id: message.id, room: topic, start: content.time ?? .now))
        }
    }

    // MARK: Steps

    nonisolated func newPublish(_ id: String?) -> PendingPublish {
        PendingPublish(id: id ?? Self.newID(), publisher.clock)
    }

    private nonisolated func line(
        _ topic: String, _ text: String, from name: String?, writtenAt time: Timestamp?, mayBeStored: Bool,
        id: String
    ) throws(RelayError) -> OutboxMessage {
        let now = Timestamp.now
        let line = ChatLine(username: name ?? user ?? "", text: text, timestamp: time ?? now)
        return outgoing(.line(line), to: try Self.topic(topic), start: now, mayBeStored: mayBeStored, id: id)
    }

    private nonisolated func outgoing(
        _ content: MessageContent, to topic: Topic, start: Timestamp, mayBeStored: Bool, id: String
    ) -> OutboxMessage {
        OutboxMessage(
            id: id, destination: .topic(topic.text),
            payload: Envelope.encoded(content, clientID: clientID, id: id, room: topic.text, start: start),
            mayBeStored: mayBeStored, unsigned: content.isUnsigned ? content : nil)
    }

    static func topic(_ text: String) throws(RelayError) -> Topic {
        do throws(TopicError) { return try Topic(text) } catch { throw .invalidTopic("\(error)") }
    }

    /// An identifier for a message: fifteen random letters and digits.
    public nonisolated static func newID() -> String { RandomText.identifier() }
}
