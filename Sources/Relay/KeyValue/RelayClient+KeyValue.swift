import NATS

// The network's key-value store, which all its users share. `put`, `get`, `delete` and `keys` are compatible with
// RelayX's SDKs, in both directions.
//
// Without a connection, values wait in the outbox like messages, under its policy: with a local store in a file they
// outlive the process, and they leave with the next connection, in order for each key. ``publishes`` reports their
// progress. A value that waited replaces newer values of others: the last write wins. But if it may have been stored
// before, it never overwrites a newer value: it then ends as ``RelayError/conflict(key:revision:)`` with the revision
// that won. Reading, and changes that depend on a revision, need a connection.
extension RelayClient {
    /// Sets a key, and returns once the network has stored it, or, without a connection, once the value is in the
    /// outbox.
    ///
    /// - Parameters:
    ///   - key: Letters, digits, `_`, `-`, `=`, `/`, and `.` between its parts.
    ///   - value: Any JSON value, including ``MessageValue/null``.
    /// - Returns: The key's new revision; nil if the value waits in the outbox, for a connection or for others.
    /// - Throws: ``RelayError/invalidArgument(_:)`` for the key, ``RelayError/invalidMessage(_:)`` for the value,
    ///   ``RelayError/tooLarge(bytes:limit:)``, ``RelayError/outboxFull``, ``RelayError/notConnected`` before the first
    ///   `connect`, ``RelayError/timeout(_:)`` after 5 s and ``RelayError/connection(_:)`` (it may be stored even so),
    ///   or the server's refusal.
    @discardableResult
    public func put(key: String, value: MessageValue) async throws(RelayError) -> UInt64? {
        try KeyGrammar.check(key: key)
        guard mayChange(key) else { return try await revision(of: enqueue(key: key, value: value)) }
        return try await keyValueStore().put(value, for: key, revision: nil)
    }

    /// Sets a key if it has a certain revision, and returns once the network has stored it.
    ///
    /// - Parameters:
    ///   - key: As for ``put(key:value:)``.
    ///   - value: As for ``put(key:value:)``.
    ///   - revision: The key's expected revision, or 0 if it should have no value.
    /// - Returns: The key's new revision.
    /// - Throws: ``RelayError/conflict(key:revision:)`` with the revision that someone else made first,
    ///   ``RelayError/needsConnection(_:)`` without a connection, as only the network can compare,
    ///   ``RelayError/busy(_:)`` while an earlier change of the key is in the outbox, and the errors of
    ///   ``put(key:value:)``.
    @discardableResult
    public func put(key: String, value: MessageValue, revision: UInt64) async throws(RelayError) -> UInt64 {
        try KeyGrammar.check(key: key)
        try requireConnection(for: "Setting the key \(key) at a revision", of: key)
        return try await keyValueStore().put(value, for: key, revision: revision)
    }

    /// Sets any number of keys, ten at a time. Without a connection all of them wait in the outbox.
    ///
    /// This is not atomic: others may see the first before the last is stored. If ten in a row fail, the rest is not
    /// tried, and fails for the same reason.
    ///
    /// - Parameter entries: Keys and values. Of several values for a key, the last one wins.
    /// - Returns: Which were stored, which wait and which failed, each with its reason.
    /// - Throws: As ``put(key:value:)`` for an invalid key or value; nothing was sent then.
    @discardableResult
    public func put(_ entries: [(key: String, value: MessageValue)]) async throws(RelayError) -> KeyValueBatch {
        guard !entries.isEmpty else { return KeyValueBatch() }
        if entries.allSatisfy({ mayChange($0.key) }) { return try await keyValueStore().put(entries) }
        var messages: [(key: String, message: OutboxMessage, pending: PendingPublish)] = []
        for (key, value) in entries {
            let pending = newPublish(nil)
            messages.append((key, try KeyValueStore.message(setting: key, to: value, id: pending.id), pending))
        }
        return try await sendThroughOutbox(messages)
    }

    /// Puts a value for a key into the outbox; ``publishes`` reports its progress too. The sequence of its receipt is
    /// the key's new revision. With a local store in a file the value is committed there first.
    ///
    /// - Parameters:
    ///   - key: As for ``put(key:value:)``.
    ///   - value: As for ``put(key:value:)``.
    ///   - id: The change's identifier; a new one if nil.
    /// - Returns: The pending publish, which can wait for the change's end.
    /// - Throws: ``RelayError/invalidArgument(_:)`` for the key and for an identifier that is in use already,
    ///   ``RelayError/invalidMessage(_:)`` for the value, ``RelayError/tooLarge(bytes:limit:)``,
    ///   ``RelayError/outboxFull``, ``RelayError/notConnected`` before the first `connect`.
    @discardableResult
    public nonisolated(nonsending) func enqueue(
        key: String, value: MessageValue, id: String? = nil
    ) async throws(RelayError) -> PendingPublish {
        let pending = newPublish(id)
        try await publisher.submit(KeyValueStore.message(setting: key, to: value, id: pending.id), for: pending)
        return pending
    }

    /// Puts the deletion of a key into the outbox, like ``enqueue(key:value:id:)``.
    @discardableResult
    public nonisolated(nonsending) func enqueueDeletion(
        ofKey key: String, id: String? = nil
    ) async throws(RelayError) -> PendingPublish {
        let pending = newPublish(id)
        try await publisher.submit(KeyValueStore.message(deleting: key, id: pending.id), for: pending)
        return pending
    }

    /// The value of a key.
    ///
    /// - Returns: Nil if the key has no value; a key set to null has ``MessageValue/null``.
    /// - Throws: ``RelayError/invalidArgument(_:)`` for the key, ``RelayError/notConnected``,
    ///   ``RelayError/timeout(_:)``, or the server's refusal.
    public func get(key: String) async throws(RelayError) -> StoredValue? {
        try KeyGrammar.check(key: key)
        return try await keyValueStore().get(key)
    }

    /// Deletes a key, and returns once the network has done so, or, without a connection, once the deletion is in the
    /// outbox. Deleting a key without a value is harmless.
    ///
    /// - Returns: Whether it is deleted; false if the deletion waits in the outbox, for a connection or for others.
    /// - Throws: As ``put(key:value:)``.
    @discardableResult
    public func delete(key: String) async throws(RelayError) -> Bool {
        try KeyGrammar.check(key: key)
        guard mayChange(key) else { return try await revision(of: enqueueDeletion(ofKey: key)) != nil }
        try await keyValueStore().delete(key, revision: nil)
        return true
    }

    /// Deletes a key if it has this revision, and returns once the network has done so.
    ///
    /// - Throws: As ``put(key:value:revision:)``.
    public func delete(key: String, revision: UInt64) async throws(RelayError) {
        try KeyGrammar.check(key: key)
        try requireConnection(for: "Deleting the key \(key) at a revision", of: key)
        try await keyValueStore().delete(key, revision: revision)
    }

    /// Deletes a key with its earlier values (as RelayX's SDKs do to delete).
    ///
    /// Users may not erase at once what their network's bucket keeps: in a bucket without rollups, the key is deleted,
    /// and its earlier values go when the bucket's limits say so. A network of Parley's own keeps none.
    ///
    /// - Throws: As ``delete(key:revision:)``.
    public func purge(key: String) async throws(RelayError) {
        try KeyGrammar.check(key: key)
        try requireConnection(for: "Purging the key \(key)", of: key)
        try await keyValueStore().purge(key)
    }

    /// The keys that have a value, in the order of their last change.
    ///
    /// - Parameter pattern: A key, in which `*` stands for one part between dots, and a final `>` for all that follow.
    /// - Throws: ``RelayError/invalidArgument(_:)`` for the pattern, ``RelayError/notConnected``,
    ///   ``RelayError/timeout(_:)``, or the server's refusal.
    public func keys(matching pattern: String = ">") async throws(RelayError) -> [String] {
        try KeyGrammar.check(pattern: pattern)
        return try await keyValueStore().keys(matching: pattern)
    }

    /// Calls `body` with the value of each matching key, in the order of their last change, before it reads the next
    /// one. Only the keys are kept in memory. A key that changes meanwhile is passed once.
    ///
    /// - Parameter pattern: As for ``keys(matching:)``.
    /// - Throws: As ``keys(matching:)``, perhaps after some values.
    public func forEachValue(
        matching pattern: String = ">", _ body: @Sendable (StoredValue) -> Void
    ) async throws(RelayError) {
        try KeyGrammar.check(pattern: pattern)
        try await keyValueStore().forEachValue(matching: pattern, body)
    }

    /// The changes of a key that the network still holds, oldest first, including the present value. A network of
    /// Parley's own holds only the newest change.
    ///
    /// - Throws: As ``get(key:)``.
    public func history(ofKey key: String) async throws(RelayError) -> [KeyValueChange] {
        try KeyGrammar.check(key: key)
        return try await keyValueStore().history(of: key)
    }

    /// Watches keys, connected or not: first the existing values, then ``KeyValueEvent/live``, then every change. After
    /// an outage it continues from the last change.
    ///
    /// - Parameter pattern: A key, or a pattern as for ``keys(matching:)``.
    /// - Throws: ``RelayError/invalidArgument(_:)`` for the pattern.
    public func watch(key pattern: String = ">") throws(RelayError) -> KeyValueEvents {
        try KeyGrammar.check(pattern: pattern)
        let (name, words) = ("the keys \(pattern)", KeyValueStore.words)
        let stream = StreamSubscription<KeyValueEvent>(name, from: .newestOfEach, words) { namespace, jetStream in
            KeyValueStore.source(of: pattern, namespace, jetStream)
        }
        return follow(stream).events
    }

    // MARK: The outbox

    /// Whether a key can be changed directly: there is a connection, and no earlier change of the key waits, which
    /// would later replace this one.
    private func mayChange(_ key: String) -> Bool {
        status.state == .connected && link?.jetStream != nil && !publisher.holds(.key(key))
    }

    /// - Throws: ``RelayError/needsConnection(_:)``, ``RelayError/busy(_:)``.
    private func requireConnection(for operation: String, of key: String) throws(RelayError) {
        guard status.state == .connected else { throw .needsConnection(operation) }
        guard !publisher.holds(.key(key)) else { throw .busy("Changing the key \(key)") }
    }

    /// Submits changes, and waits for their ends while there is a connection.
    private func sendThroughOutbox(
        _ messages: [(key: String, message: OutboxMessage, pending: PendingPublish)]
    ) async throws(RelayError) -> KeyValueBatch {
        // If one of them is invalid, none is sent.
        for (_, message, _) in messages {
            guard message.payload.count <= configuration.maximumMessageBytes else {
                throw .tooLarge(bytes: message.payload.count, limit: configuration.maximumMessageBytes)
            }
        }
        var refused: [Int: RelayError] = [:]
        for (place, (_, message, pending)) in messages.enumerated() {
            do throws(RelayError) { try publisher.admit(message, for: pending) } catch {
                if case .notConnected = error { throw error }
                refused[place] = error
            }
        }
        await publisher.kept()
        let deadline = surroundings.clock.now + limits.publish
        var batch = KeyValueBatch()
        for (place, (key, _, pending)) in messages.enumerated() {
            do throws(RelayError) {
                if let error = refused[place] { throw error }
                if let revision = try await revision(of: pending, by: deadline) {
                    batch.stored.append(.init(key: key, revision: revision))
                } else {
                    batch.waiting.append(key)
                }
            } catch {
                batch.failed.append(.init(key: key, error: error))
            }
        }
        return batch
    }

    /// Waits for the end of a change while there is a connection.
    ///
    /// - Returns: The new revision; nil if the change waits.
    private func revision(
        of pending: PendingPublish, by deadline: ContinuousClock.Instant? = nil
    ) async throws(RelayError) -> UInt64? {
        guard status.state == .connected else { return nil }
        let limit = deadline.map { max(.zero, $0 - surroundings.clock.now) } ?? limits.publish
        do throws(RelayError) {
            return try await pending.receipt(within: limit).sequence
        } catch {
            if case .timeout = error { return nil }
            throw error
        }
    }

    private func keyValueStore() throws(RelayError) -> KeyValueStore {
        guard let jetStream = link?.jetStream, let namespace else { throw .notConnected }
        let serversLimit = max(0, jetStream.connection.maximumPayload - Publisher.headerRoom)
        return try KeyValueStore(
            namespace.name, jetStream, maximumBytes: min(configuration.maximumMessageBytes, serversLimit),
            surroundings.clock)
    }
}
