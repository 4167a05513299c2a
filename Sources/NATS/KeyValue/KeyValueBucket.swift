import NIOCore

/// A key-value bucket on a stream (ADR-8): the newest message of a subject is the value of its key.
public struct KeyValueBucket: Sendable {
    /// The bucket's name.
    public let name: String
    /// The JetStream that holds it.
    public let jetStream: JetStream
    var stream: String { "KV_" + name }

    /// Creates the interface of a bucket without asking the server; throws if the name is not `[A-Za-z0-9_-]+`.
    public init(_ name: String, _ jetStream: JetStream) throws(NATSError) {
        let isName = !name.isEmpty && name.utf8.count <= 200 && name.utf8.allSatisfy(Self.isNameByte)
        guard isName else { throw .invalidArgument("A bucket's name has letters, digits, _ and - only.") }
        self.name = name
        self.jetStream = jetStream
    }

    /// Creates the bucket, with 1 to 64 values for each key and 1 to 5 replicas; an existing one with the same settings
    /// stays as it is.
    public func create(
        history: Int = 1, storage: StreamConfiguration.Storage = .file, replicas: Int = 1
    ) async throws(NATSError) {
        var configuration = StreamConfiguration(
            name: stream, subjects: ["$KV.\(name).>"], storage: storage, replicas: replicas)
        configuration.maximumMessagesPerSubject = Int64(min(64, max(1, history)))
        configuration.discard = .new
        configuration.allowsRollup = true
        configuration.deniesDelete = true
        configuration.allowsDirectAccess = true
        configuration.duplicateWindow = 120_000_000_000
        try await jetStream.createStream(configuration)
    }

    /// The value of a key; nil if it has none or was deleted.
    public func get(_ key: String) async throws(NATSError) -> KeyValueEntry? {
        guard let entry = try await newest(key), entry.operation == .put else { return nil }
        return entry
    }

    /// Sets a key, whatever its value; returns the new revision.
    @discardableResult
    public func put(_ value: ByteBuffer, for key: String) async throws(NATSError) -> UInt64 {
        try await jetStream.publish(value, to: subject(key)).sequence
    }

    /// Sets a key without a value; returns the new revision, or throws `jetStream` (`wrongLastSequence`).
    @discardableResult
    public func create(_ value: ByteBuffer, for key: String) async throws(NATSError) -> UInt64 {
        do throws(NATSError) {
            return try await update(value, for: key, revision: 0)
        } catch {
            // A deleted key still has a newest message; its revision is the one to build on.
            guard case .jetStream(let failure) = error, Self.isConflict(failure), let entry = try await newest(key),
                entry.operation != .put
            else { throw error }
            return try await update(value, for: key, revision: entry.revision)
        }
    }

    /// Sets a key if this is its newest revision; returns the new one, or throws `jetStream` (`wrongLastSequence`).
    @discardableResult
    public func update(_ value: ByteBuffer, for key: String, revision: UInt64) async throws(NATSError) -> UInt64 {
        try await jetStream.publish(
            value, to: subject(key), headers: ["Nats-Expected-Last-Subject-Sequence": String(revision)]
        ).sequence
    }

    /// Deletes a key but not its history. Throws `jetStream` (`wrongLastSequence`) if a revision is given that is not
    /// the newest.
    public func delete(_ key: String, revision: UInt64? = nil) async throws(NATSError) {
        var headers: NATSHeaders = ["KV-Operation": "DEL"]
        if let revision { headers["Nats-Expected-Last-Subject-Sequence"] = String(revision) }
        _ = try await jetStream.publish(ByteBuffer(), to: subject(key), headers: headers)
    }

    /// Deletes a key and its history. In a bucket without rollups, new values push the history out.
    public func purge(_ key: String) async throws(NATSError) {
        var headers: NATSHeaders = ["KV-Operation": "PURGE", "Nats-Rollup": "sub"]
        do throws(NATSError) {
            _ = try await jetStream.publish(ByteBuffer(), to: subject(key), headers: headers)
        } catch {
            guard case .jetStream(let failure) = error, failure.errorCode == JetStreamFailure.rollupRefused else {
                throw error
            }
            headers["Nats-Rollup"] = nil
            _ = try await jetStream.publish(ByteBuffer(), to: subject(key), headers: headers)
        }
    }

    /// The matching keys that have a value, in the order of their last change; throws as `forEachEntry`.
    public func keys(matching pattern: String = ">") async throws(NATSError) -> [String] {
        var found: [String] = []
        try await forEachEntry(matching: pattern) { found.append($0.key) }
        return found
    }

    /// Calls `body` with each matching entry that has a value, in the order of their last change. Only the keys are
    /// kept in memory. A key that changes meanwhile is passed once. Throws `timeout` if the next entry takes longer
    /// than `jetStream.timeout`.
    public func forEachEntry(matching pattern: String = ">", _ body: (KeyValueEntry) -> Void) async throws(NATSError) {
        var told: Set<String> = []
        var iterator = try watch(pattern).makeAsyncIterator()
        while true {
            switch try await iterator.nextStored(isolation: nil) {
            case .entry(let entry):
                if entry.operation == .put, told.insert(entry.key).inserted { body(entry) }
            case .none: return
            case .ended: throw Task.isCancelled ? .cancelled : .closed
            }
        }
    }

    /// The stored entries of a key, oldest first, including removals: as many as the bucket's history holds.
    public func history(of key: String) async throws(NATSError) -> [KeyValueEntry] {
        let filter = try subject(key)
        var entries: [KeyValueEntry] = []
        var start = StartPosition.all
        while true {
            let page = try await jetStream.page(of: stream, filter: filter, from: start, limit: 64)
            for message in page.messages { entries.append(KeyValueEntry(message)) }
            guard page.pending > 0, let last = page.messages.last else { return entries }
            start = .sequence(last.sequence + 1)
        }
    }

    /// The newest value of each key that matches the pattern, then every change; or the changes only.
    ///
    /// Reading throws `timeout` if the first answer, or the next of the existing values, takes longer than
    /// `jetStream.timeout`. A change may take any time.
    public func watch(_ pattern: String = ">", onlyChanges: Bool = false) throws(NATSError) -> KeyValueChanges {
        guard Subject.isSubscribable(pattern) else { throw .invalidSubject(pattern) }
        return KeyValueChanges(
            base: try jetStream.orderedMessages(
                in: stream, filter: "$KV.\(name).\(pattern)", from: onlyChanges ? .new : .lastPerSubject))
    }

    // MARK: Rules

    /// Whether the text is a valid key: `[-/_=.a-zA-Z0-9]+` without a dot at either end or two in a row (ADR-8).
    public static func isKey(_ text: String) -> Bool {
        let isPlain = text.utf8.allSatisfy { isNameByte($0) || "/=.".utf8.contains($0) }
        return isPlain && Subject.isPublishable(text)
    }

    /// Whether a failure means that someone else changed the key first.
    public static func isConflict(_ failure: JetStreamFailure) -> Bool {
        failure.errorCode == JetStreamFailure.wrongLastSequence || failure.errorCode == 10_164
    }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"):
            return true
        default: return false
        }
    }

    private func subject(_ key: String) throws(NATSError) -> String {
        guard Self.isKey(key) else {
            throw .invalidArgument("A key has letters, digits, and - _ = / . only, with no empty part.")
        }
        return "$KV.\(name).\(key)"
    }

    /// The newest entry of a key, removals included; nil if the bucket holds none.
    package func newest(_ key: String) async throws(NATSError) -> KeyValueEntry? {
        try await jetStream.lastMessageDirect(in: stream, subject: subject(key)).map { KeyValueEntry($0) }
    }
}

/// A value of a key, or its removal.
public struct KeyValueEntry: Sendable {
    /// The kind of change.
    public enum Operation: String, Sendable, Hashable {
        /// It was set.
        case put = "PUT"
        /// It was deleted.
        case delete = "DEL"
        /// It was deleted with its history.
        case purge = "PURGE"
    }

    /// The key.
    public var key: String
    /// The value; empty for a removal.
    public var value: ByteBuffer
    /// The change's number, unique in the bucket.
    public var revision: UInt64
    /// When it happened.
    public var time: ServerTime
    /// The kind of change.
    public var operation: Operation
    /// The number of entries that the server had after this one; nil if unknown.
    public var pending: UInt64?

    package init(_ message: StoredMessage) {
        // `$KV.<bucket>.<key>`, and no bucket's name contains a dot.
        let parts = message.subject.split(separator: ".", maxSplits: 2)
        key = String(parts.count == 3 ? parts[2] : message.subject[...])
        value = message.payload
        revision = message.sequence
        time = message.time
        pending = message.pending
        let marker = message.headers["Nats-Marker-Reason"].map { $0 == "Remove" ? Operation.delete : .purge }
        operation = marker ?? message.headers["KV-Operation"].flatMap(Operation.init) ?? .put
    }
}

/// The changes of a bucket.
public struct KeyValueChanges: AsyncSequence, Sendable {
    /// A change.
    public typealias Element = KeyValueEntry
    let base: OrderedMessages

    /// Starts reading.
    public func makeAsyncIterator() -> Iterator { Iterator(self) }

    /// Reads the changes one by one.
    public struct Iterator: AsyncIteratorProtocol {
        var base: OrderedMessages.Iterator
        let timeout: Duration
        /// Whether all entries that existed when reading began have arrived.
        private var isCurrent = false

        init(_ changes: KeyValueChanges) {
            base = changes.base.makeAsyncIterator()
            timeout = changes.base.jetStream.timeout
        }

        /// The number of entries when reading began; nil before the first `next` or `open`.
        public var initiallyPending: UInt64? { base.initiallyPending }

        /// Creates the consumer now, so that every change from here on is seen.
        public mutating func open(isolation actor: isolated (any Actor)? = #isolation) async throws(NATSError) {
            guard initiallyPending == nil else { return }
            try await base.open(until: deadline, isolation: actor)
            isCurrent = initiallyPending == 0
        }

        /// The next change; nil at the end.
        public mutating func next() async throws(NATSError) -> KeyValueEntry? { try await next(isolation: nil) }

        /// The next change; nil at the end.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(NATSError) -> KeyValueEntry? {
            switch try await nextStored(isolation: actor) {
            case .entry(let entry): return entry
            case .ended: return nil
            case .none: return try await base.next(isolation: actor).map { KeyValueEntry($0) }
            }
        }

        enum Stored {
            case entry(KeyValueEntry)
            /// All have arrived.
            case none
            /// The task was cancelled, or the owner closed the connection.
            case ended
        }

        /// The next of the entries that existed when reading began.
        mutating func nextStored(isolation actor: isolated (any Actor)?) async throws(NATSError) -> Stored {
            try await open(isolation: actor)
            guard !isCurrent else { return .none }
            var isAnew = false
            while true {
                do throws(NATSError) {
                    guard let message = try await base.next(until: deadline, isolation: actor) else { return .ended }
                    isCurrent = message.pending == 0
                    return .entry(KeyValueEntry(message))
                } catch {
                    guard case .timeout = error else { throw error }
                    switch try await base.standing(isolation: actor) {
                    case .caughtUp:
                        // A value that was removed before its delivery never arrives, so the end may be a timeout.
                        isCurrent = true
                        return .none
                    case .lost where !isAnew: isAnew = true
                    case .lost, .behind: throw error
                    }
                }
            }
        }

        private var deadline: NIODeadline { .now() + .nanoseconds(timeout.nanoseconds) }
    }
}
