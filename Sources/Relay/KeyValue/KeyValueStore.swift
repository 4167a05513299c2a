import NATS
import NIOCore

/// The network's key-value store over one connection. Each request to the server has JetStream's own limit; a call with
/// many requests has one limit for all.
struct KeyValueStore: Sendable {
    private let bucket: KeyValueBucket
    private let maximumBytes: Int
    private let clock: any Timekeeper

    /// The time limit of a call that reads any number of entries.
    private static let listing = Duration.seconds(30)

    /// - Parameter name: The network's namespace, which is the bucket's name.
    init(_ name: String, _ jetStream: JetStream, maximumBytes: Int, _ clock: any Timekeeper) throws(RelayError) {
        do throws(NATSError) {
            bucket = try KeyValueBucket(name, jetStream)
        } catch { throw RelayError(error, during: "opening the key-value store") }
        self.maximumBytes = maximumBytes
        self.clock = clock
    }

    // MARK: Watching

    /// The source of a subscription to keys.
    static func source(
        of pattern: String, _ namespace: RelayConfiguration.Namespace, _ jetStream: JetStream
    ) -> StreamSource {
        StreamSource(
            name: NetworkNames.stream(ofBucket: namespace.name), filter: NetworkNames.key(pattern, in: namespace.name),
            jetStream: jetStream)
    }

    /// The events of a subscription to keys. Values that were replaced are not missed, so they are not reported as
    /// lost.
    static var words: SubscriptionWords<KeyValueEvent> {
        SubscriptionWords<KeyValueEvent>(
            operation: "watching keys",
            message: { message, _, _, _ in (.change(KeyValueChange(KeyValueEntry(message))), nil) },
            heldBytes: { if case .change(let change) = $0 { change.stored?.value.heldBytes ?? 0 } else { 0 } },
            live: .live, lost: nil, restarted: .restarted, interrupted: { .interrupted($0, passes: $1) })
    }

    // MARK: Reading

    /// The value of a key; nil if it has none.
    func get(_ key: String) async throws(RelayError) -> StoredValue? {
        let entry: KeyValueEntry?
        do throws(NATSError) {
            entry = try await bucket.get(key)
        } catch { throw Self.explained(error, during: "reading a key") }
        return entry.flatMap { KeyValueChange($0).stored }
    }

    /// The matching keys that have a value, in the order of their last change.
    func keys(matching pattern: String) async throws(RelayError) -> [String] {
        try await limited("listing the keys") { [bucket] () async throws(NATSError) -> [String] in
            try await bucket.keys(matching: pattern)
        }
    }

    /// Reads the values of the matching keys, in the order of their last change.
    func forEachValue(matching pattern: String, _ body: @Sendable (StoredValue) -> Void) async throws(RelayError) {
        do throws(NATSError) {
            try await bucket.forEachEntry(matching: pattern) { entry in
                if let stored = KeyValueChange(entry).stored { body(stored) }
            }
        } catch { throw Self.explained(error, during: "reading the keys") }
    }

    /// The changes of a key that the store still holds, oldest first.
    func history(of key: String) async throws(RelayError) -> [KeyValueChange] {
        let entries = try await limited("reading a key's history") {
            [bucket] () async throws(NATSError) -> [KeyValueEntry] in
            try await bucket.history(of: key)
        }
        return entries.map { KeyValueChange($0) }
    }

    private func limited<Value: Sendable>(
        _ operation: String, _ work: @escaping @Sendable () async throws(NATSError) -> Value
    ) async throws(RelayError) -> Value {
        let outcome = await within(Self.listing, clock) { () async -> Result<Value, NATSError> in
            do throws(NATSError) { return .success(try await work()) } catch { return .failure(error) }
        }
        switch outcome {
        case .success(let value)?: return value
        case .failure(let error)?: throw Self.explained(error, during: operation)
        case nil: throw Task.isCancelled ? .cancelled : .timeout(operation)
        }
    }

    // MARK: Writing

    /// Sets a key.
    ///
    /// - Parameter revision: Only at this revision, or, for 0, only without a value; nil for any.
    /// - Returns: The new revision.
    func put(_ value: MessageValue, for key: String, revision: UInt64?) async throws(RelayError) -> UInt64 {
        try await put(try payload(of: value), for: key, revision: revision)
    }

    private func put(_ payload: ByteBuffer, for key: String, revision: UInt64?) async throws(RelayError) -> UInt64 {
        do throws(NATSError) {
            guard let revision else { return try await bucket.put(payload, for: key) }
            if revision == 0 { return try await bucket.create(payload, for: key) }
            return try await bucket.update(payload, for: key, revision: revision)
        } catch { throw await explained(error, of: key, during: "storing a key") }
    }

    /// Sets keys, ten at a time, after checking all of them.
    func put(_ entries: [(key: String, value: MessageValue)]) async throws(RelayError) -> KeyValueBatch {
        var keys: [String] = []
        var payloads: [ByteBuffer] = []
        for entry in entries {
            try KeyGrammar.check(key: entry.key)
            keys.append(entry.key)
            payloads.append(try payload(of: entry.value))
        }
        var results: [Result<UInt64, RelayError>] = []
        for part in KeyValueBatch.parts(of: keys) {
            let outcomes = await withTaskGroup(of: (Int, Result<UInt64, RelayError>).self) { group in
                for place in part {
                    group.addTask { [key = keys[place], payload = payloads[place]] in
                        do throws(RelayError) {
                            return (place, .success(try await put(payload, for: key, revision: nil)))
                        } catch {
                            return (place, .failure(error))
                        }
                    }
                }
                return await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
            }
            let stored = part.map { outcomes[$0] ?? .failure(.cancelled) }
            results += stored
            guard let last = stored.last, stored.allSatisfy({ if case .failure = $0 { true } else { false } }) else {
                continue
            }
            // If an entire part failed, the others would only take time to fail too.
            results += Array(repeating: last, count: keys.count - results.count)
            break
        }
        return KeyValueBatch(of: keys, results)
    }

    /// Deletes a key.
    ///
    /// - Parameter revision: Only at this revision; nil for any.
    func delete(_ key: String, revision: UInt64?) async throws(RelayError) {
        do throws(NATSError) {
            try await bucket.delete(key, revision: revision)
        } catch { throw await explained(error, of: key, during: "deleting a key") }
    }

    func purge(_ key: String) async throws(RelayError) {
        do throws(NATSError) {
            try await bucket.purge(key)
        } catch { throw Self.explained(error, during: "deleting a key") }
    }

    private func payload(of value: MessageValue) throws(RelayError) -> ByteBuffer {
        let bytes = try ValueCoding.bytes(of: value)
        guard bytes.count <= maximumBytes else { throw .tooLarge(bytes: bytes.count, limit: maximumBytes) }
        return ByteBuffer(bytes: bytes)
    }

    // MARK: The outbox

    /// The header that distinguishes a deletion from a value.
    static let deletion: NATSHeaders = ["KV-Operation": "DEL"]

    /// A message that sets a key.
    ///
    /// - Throws: ``RelayError/invalidArgument(_:)`` for the key, ``RelayError/invalidMessage(_:)`` for the value.
    static func message(setting key: String, to value: MessageValue, id: String) throws(RelayError) -> OutboxMessage {
        try KeyGrammar.check(key: key)
        let payload = try ValueCoding.bytes(of: value)
        return OutboxMessage(id: id, destination: .key(key), payload: payload)
    }

    /// A message that deletes a key. Its payload is empty, which no JSON is.
    ///
    /// - Throws: ``RelayError/invalidArgument(_:)`` for the key.
    static func message(deleting key: String, id: String) throws(RelayError) -> OutboxMessage {
        try KeyGrammar.check(key: key)
        return OutboxMessage(id: id, destination: .key(key), payload: [])
    }

    // MARK: Failures

    static let missing = RelayError.notFound("The network's key-value store")

    private func explained(_ error: NATSError, of key: String, during operation: String) async -> RelayError {
        guard case .jetStream(let failure) = error, KeyValueBucket.isConflict(failure) else {
            return Self.explained(error, during: operation)
        }
        if let revision = Self.revision(in: failure.text) { return .conflict(key: key, revision: revision) }
        let newest = try? await bucket.newest(key)
        return .conflict(key: key, revision: newest?.revision ?? 0)
    }

    private static func explained(_ error: NATSError, during operation: String) -> RelayError {
        if case .jetStream(let failure) = error, failure.errorCode == JetStreamFailure.streamNotFound {
            return missing
        }
        return RelayError(error, during: operation)
    }

    /// The revision in a refusal such as `wrong last sequence: 7`.
    static func revision(in text: String) -> UInt64? {
        guard let colon = text.lastIndex(of: ":") else { return nil }
        return UInt64(text[text.index(after: colon)...].drop { $0 == " " })
    }
}

/// The form of keys: RelayX's grammar, `[a-zA-Z0-9_\-.=/]+`, of which the server accepts keys without empty parts
/// before, between or after dots.
enum KeyGrammar {
    /// Keys are part of subjects, which must fit into one line of the protocol.
    static let maximumBytes = 1_024

    static func check(key: String) throws(RelayError) {
        guard key.utf8.count <= maximumBytes, KeyValueBucket.isKey(key) else {
            throw .invalidArgument(
                "A key has up to \(maximumBytes) letters, digits, and _ - . = / only, with no empty part between dots")
        }
    }

    static func check(pattern: String) throws(RelayError) {
        let parts = pattern.split(separator: ".", omittingEmptySubsequences: false)
        let last = parts.count - 1
        let areParts = parts.enumerated().allSatisfy { place, part in
            part == "*" || part == ">" && place == last || KeyValueBucket.isKey(String(part))
        }
        guard pattern.utf8.count <= maximumBytes, areParts else {
            throw .invalidArgument(
                "A pattern is a key in which * stands for one part between dots, and > at the end for all that follow")
        }
    }
}
