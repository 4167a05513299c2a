// Publishing: every message goes through the outbox, connected or not, and ends once.
//
// With a local store in a file, each public call returns when its message is committed there, which takes as long as
// the disk does; the message leaves then, and not before. The end of the process, however it comes, loses nothing from
// then on: what was under way or waited leaves at the next start. While the store is being opened, and while the disk
// takes nothing, messages wait in memory alone. Messages have the order of the calls, of which many may wait together.
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

    /// Publishes to a topic and waits until the server has stored the message, through any outage.
    ///
    /// - Parameters:
    ///   - id: the message's identifier; the same one again makes a repetition harmless.
    ///   - timeout: how long that may take once the outbox has it. The message stays there when it passes.
    /// - Throws: ``RelayError/timeout(_:)`` and what ``enqueue(topic:message:id:mayBeStored:)`` throws.
    public nonisolated(nonsending) func send(
        topic: String, message: MessageValue, id: String? = nil, timeout: Duration = .seconds(10)
    ) async throws(RelayError) -> PublishReceipt {
        try await enqueue(topic: topic, message: message, id: id).receipt(within: timeout)
    }

    /// Puts a message into the outbox: the form for many messages in order. ``publishes`` reports what becomes of it,
    /// too.
    ///
    /// - Parameters:
    ///   - id: the message's identifier; a new one when nil.
    ///   - mayBeStored: whether an earlier run of the program may have sent a message under this identifier, however
    ///     long ago. It is looked for then, among the newest 20,000 messages of its topic, and not stored twice.
    /// - Returns: what names the message and waits for its end.
    /// - Throws: ``RelayError/invalidTopic(_:)``, ``RelayError/tooLarge(bytes:limit:)``, ``RelayError/outboxFull``,
    ///   ``RelayError/notConnected`` before the first `connect`, ``RelayError/invalidArgument(_:)`` for an identifier
    ///   that is on its way already.
    @discardableResult
    public nonisolated(nonsending) func enqueue(
        topic: String, message: MessageValue, id: String? = nil, mayBeStored: Bool = false
    ) async throws(RelayError) -> PendingPublish {
        try await enqueue(topic: topic, content: .value(message), id: id, mayBeStored: mayBeStored)
    }

    /// Puts a message of any kind into the outbox, as ``enqueue(topic:message:id:mayBeStored:)`` does with its value.
    ///
    /// - Throws: as that does, and ``RelayError/invalidArgument(_:)`` for a letter, which goes to a postbox.
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

    /// Puts a line of chat into the outbox, as ``enqueue(topic:message:id:mayBeStored:)`` does with a message.
    ///
    /// - Parameters:
    ///   - name: who writes; nil for the user whom the credentials name, and where they don't yet, the line waits until
    ///     a token does.
    ///   - time: when it was written; now when nil.
    ///   - keepsRefused: whether a line that is not taken waits in the local store for the person, with the reason, as
    ///     what was not sent does (``notSent()``). Nothing is kept without a store in a file.
    /// - Returns: what names the line and waits for its end.
    /// - Throws: what ``enqueue(topic:message:id:mayBeStored:)`` throws.
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

    /// Puts a line of chat into the outbox as ``enqueueLine(topic:text:from:writtenAt:id:mayBeStored:keepsRefused:)``
    /// does, kept where it is refused, and goes on before the disk has it (``outboxKept()``).
    package nonisolated(nonsending) func submitLine(
        topic: String, text: String, from name: String?, writtenAt time: Timestamp, id: String, mayBeStored: Bool
    ) async throws(RelayError) {
        try await publisher.submitAhead(
            line(topic, text, from: name, writtenAt: time, mayBeStored: mayBeStored, id: id))
    }

    /// Returns when what was submitted is on the disk; at once where nothing is kept, and where the disk takes nothing.
    package nonisolated(nonsending) func outboxKept() async { await publisher.kept() }

    /// So many lines are taken in at once, while whoever writes meanwhile waits.
    private static let linesTogether = 64

    /// Puts lines of chat into the outbox that are there at once, such as a file's: they leave together, in few writes.
    ///
    /// - Parameters:
    ///   - lines: identifiers and texts. Some hundreds at a time keep the server busy.
    ///   - name: as in ``enqueueLine(topic:text:from:writtenAt:id:mayBeStored:keepsRefused:)``.
    /// - Returns: what waits for each line's end, as far as the first that was not taken, and why that was not.
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

    /// The largest text of a line or letter in bytes that the present server takes; more than any without one.
    package nonisolated var largestText: Int { publisher.largestText }

    /// Puts a letter for a user's postbox into the outbox.
    ///
    /// - Parameters:
    ///   - recipient: whose postbox it is.
    ///   - postbox: the postbox's identifier.
    ///   - subject: what it is about, in a line of at most 256 bytes; nil or empty for none.
    ///   - text: the letter.
    ///   - id: the letter's identifier; a new one when nil.
    ///   - keepsRefused: as in ``enqueueLine(topic:text:from:writtenAt:id:mayBeStored:keepsRefused:)``. A letter whose
    ///     recipient or subject is none is not kept.
    /// - Returns: what names the letter and waits for its end.
    /// - Throws: ``RelayError/invalidArgument(_:)`` for a name or a subject that is none, and what
    ///   ``enqueue(topic:message:id:mayBeStored:)`` throws.
    @discardableResult
    public nonisolated(nonsending) func enqueueLetter(
        to recipient: String, postbox: String, subject: String? = nil, text: String, id: String? = nil,
        keepsRefused: Bool = false
    ) async throws(RelayError) -> PendingPublish {
        let pending = newPublish(id)
        try await publisher.submit(
            OutboxMessage(
                letterTo: recipient, postbox: postbox, subject: subject, text: text, id: pending.id),
            for: pending, keepsRefused: keepsRefused)
        return pending
    }

    /// Puts a letter into the outbox as ``enqueueLetter(to:postbox:subject:text:id:keepsRefused:)`` does, kept where it
    /// is refused, and goes on before the disk has it (``outboxKept()``).
    package nonisolated(nonsending) func submitLetter(
        to recipient: String, postbox: String, subject: String?, text: String, id: String
    ) async throws(RelayError) {
        try await publisher.submitAhead(
            OutboxMessage(letterTo: recipient, postbox: postbox, subject: subject, text: text, id: id))
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
        try await enqueueLetter(to: recipient, postbox: postbox, subject: subject, text: text, id: id)
            .receipt(within: timeout)
    }

    /// Takes a message back that has not left yet; false when it is too late.
    public nonisolated func cancelPublish(id: String) -> Bool { publisher.cancel(id: id) }

    /// Puts the user's name under the lines that were written before it was known.
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

    /// What waits for the end of a new message.
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
