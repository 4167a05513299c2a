import NATS

// What an administrator, or some other client, does with streams and messages.
extension MemoryServer {
    /// A message in a stream.
    public struct Message: Sendable, Hashable {
        /// Its place.
        public var sequence: UInt64
        /// What it was published to.
        public var subject: String
        /// Its payload.
        public var payload: [UInt8]
        /// Its headers.
        public var headers: NATSHeaders

        /// The payload as text.
        public var text: String { String(decoding: payload, as: UTF8.self) }

        init(_ message: MessageStore.Message) {
            sequence = message.sequence
            subject = message.frame.subject
            payload = message.frame.payload
            headers = message.frame.headers
        }
    }

    // MARK: Streams

    /// Makes a stream in memory.
    ///
    /// - Parameters:
    ///   - name: its name.
    ///   - subjects: what it stores, wildcards allowed.
    ///   - duplicateWindow: how long identifiers of messages are remembered.
    ///   - maximumMessages: how many messages it keeps; nil for all.
    ///   - maximumMessagesPerSubject: how many messages of a subject it keeps; nil for all.
    /// - Throws: `TestFailure` when there is such a stream with other settings, or one with some of the subjects.
    public func createStream(
        _ name: String, subjects: [String], duplicateWindow: Duration = .seconds(120), maximumMessages: Int? = nil,
        maximumMessagesPerSubject: Int? = nil
    ) throws {
        var fields = Self.fields(subjects, duplicateWindow)
        if let maximumMessages { fields["max_msgs"] = .integer(Int64(maximumMessages)) }
        if let maximumMessagesPerSubject {
            fields["max_msgs_per_subject"] = .integer(Int64(maximumMessagesPerSubject))
        }
        try create(name, fields)
    }

    /// Makes a key-value bucket.
    ///
    /// - Throws: `TestFailure` when there is such a bucket with other settings.
    public func createBucket(_ name: String, history: Int = 1) throws {
        var fields = Self.fields(["$KV.\(name).>"], .seconds(120))
        fields["max_msgs_per_subject"] = .integer(Int64(history))
        fields["discard"] = "new"
        fields["allow_rollup_hdrs"] = true
        fields["deny_delete"] = true
        try create("KV_" + name, fields)
    }

    private static func fields(_ subjects: [String], _ duplicateWindow: Duration) -> [String: JSON] {
        let window = duplicateWindow / Duration.nanoseconds(1)
        return [
            "subjects": .array(subjects.map { .string($0) }), "storage": "memory", "allow_direct": true,
            "duplicate_window": .integer(Int64(window)),
        ]
    }

    private func create(_ name: String, _ fields: [String: JSON]) throws {
        let refusal = perform { broker -> JetStreamRefusal? in
            do throws(JetStreamRefusal) {
                try broker.addStream(name, fields)
                return nil
            } catch {
                return error
            }
        }
        if let refusal { throw TestFailure("the stream \(name) cannot be made: \(refusal.failure.text)") }
    }

    /// Deletes a stream with everything in it; nothing happens when there is none.
    public func deleteStream(_ name: String) {
        perform { broker in _ = broker.removeStream(name) }
    }

    /// The names of all streams.
    public var streamNames: [String] { look { $0.streams.keys.sorted() } }

    /// The messages of a stream, oldest first; none when there is no such stream.
    public func messages(in stream: String) -> [Message] {
        look { broker in broker.streams[stream]?.store.all.map { Message($0) } ?? [] }
    }

    /// The sequence of a stream's oldest message, or one more than the last when it is empty; 0 for a stream that never
    /// held any, or does not exist.
    public func firstSequence(of stream: String) -> UInt64 { look { $0.streams[stream]?.store.first ?? 0 } }

    /// The sequence of the newest message that a stream has stored; 0 for none.
    public func lastSequence(of stream: String) -> UInt64 { look { $0.streams[stream]?.store.last ?? 0 } }

    /// The names of a stream's consumers.
    public func consumers(of stream: String) -> [String] {
        look { broker in broker.streams[stream]?.consumers.keys.sorted() ?? [] }
    }

    /// Deletes all consumers of a stream; their readers learn it.
    public func deleteConsumers(of stream: String) {
        perform { broker in
            for consumer in broker.streams[stream]?.consumers.keys.sorted() ?? [] {
                _ = broker.removeConsumer(consumer, of: stream)
            }
        }
    }

    /// Removes messages from a stream.
    ///
    /// - Parameters:
    ///   - stream: the stream.
    ///   - sequence: only messages before this one; nil removes all.
    public func purge(_ stream: String, before sequence: UInt64? = nil) {
        perform { broker in _ = broker.streams[stream]?.purge(before: sequence) }
    }

    /// Deletes one message; nothing happens when there is none.
    public func deleteMessage(_ sequence: UInt64, in stream: String) {
        perform { broker in _ = broker.streams[stream]?.remove(sequence) }
    }

    /// Loses a stream's newest messages, as a server does whose power fails before its disk has them: their sequences
    /// are given out again, and their identifiers are forgotten.
    public func dropNewest(_ count: Int, in stream: String) {
        perform { $0.streams[stream]?.loseNewest(count) }
    }

    // MARK: Messages

    /// Publishes a message as some other client does.
    ///
    /// - Parameters:
    ///   - subject: where to.
    ///   - payload: the message.
    ///   - headers: its headers.
    public func publish(_ subject: String, _ payload: [UInt8], headers: NATSHeaders = NATSHeaders()) {
        let frame = MemoryFrame(subject: subject, block: HeaderText.block(headers), payload: payload)
        perform { broker in _ = broker.publish(frame, from: nil) }
    }

    /// Publishes a message, and sees to it that a stream stores it.
    ///
    /// - Parameters:
    ///   - subject: where to.
    ///   - payload: the message.
    ///   - headers: its headers.
    /// - Returns: its sequence.
    /// - Throws: `TestFailure` when no stream takes it.
    @discardableResult
    public func store(_ subject: String, _ payload: [UInt8], headers: NATSHeaders = NATSHeaders()) throws -> UInt64 {
        let frame = MemoryFrame(subject: subject, block: HeaderText.block(headers), payload: payload)
        guard let sequence = perform({ $0.publish(frame, from: nil) }) else {
            throw TestFailure("no stream stores a message to \(subject)")
        }
        return sequence
    }
}
