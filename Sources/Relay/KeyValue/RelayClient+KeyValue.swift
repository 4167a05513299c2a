import NATS

// The network's key-value store, which all its users share. `put`, `get`, `delete` and `keys` are RelayX's; its SDKs
// read what is stored here, and the other way round.
//
// Without a connection, values wait in the outbox like messages, as its policy has it: with a local store in a file
// they outlive the process, and they leave with the next connection, those of a key in their order. ``publishes`` tells
// what becomes of them. A value that waited replaces what others stored meanwhile, as the last one stays. It never
// replaces what somebody has stored since it may have been stored itself: it ends as
// ``RelayError/conflict(key:revision:)`` then, with the revision that won. What depends on a revision, and what reads,
// needs a connection.
extension RelayClient {
    /// Sets a key, and returns when the network has stored it, or, without a connection, when the value waits in the
    /// outbox.
    ///
    /// - Parameters:
    ///   - key: letters, digits, `_`, `-`, `=`, `/`, and `.` between its parts.
    ///   - value: anything that JSON can hold, ``MessageValue/null`` too.
    /// - Returns: the key's new revision; nil where the value waits in the outbox, for a connection or behind others.
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

    /// Sets a key if it has a certain revision, and returns when the network has stored it.
    ///
    /// - Parameters:
    ///   - key: as for ``put(key:value:)``.
    ///   - value: as for ``put(key:value:)``.
    ///   - revision: stores the value only if this is the key's present revision, or for 0 if the key has no value.
    /// - Returns: the key's new revision.
    /// - Throws: ``RelayError/conflict(key:revision:)`` with the revision that somebody else made first,
    ///   ``RelayError/needsConnection(_:)`` without a connection, as the network alone can compare,
    ///   ``RelayError/busy(_:)`` while an earlier change of the key is on its way through the outbox, and what
    ///   ``put(key:value:)`` throws.
    @discardableResult
    public func put(key: String, value: MessageValue, revision: UInt64) async throws(RelayError) -> UInt64 {
        try KeyGrammar.check(key: key)
        try requireConnection(for: "Setting the key \(key) at a revision", of: key)
        return try await keyValueStore().put(value, for: key, revision: revision)
    }

    /// Sets any number of keys, ten at a time. Without a connection all of them wait in the outbox.
    ///
    /// They are not set all or none: others may see the first before the last is stored. Where nothing of ten could be
    /// stored, the rest is not tried, and fails for the same reason.
    ///
    /// - Parameter entries: keys and values. Of several values for a key, the last one stays.
    /// - Returns: which were stored, which wait and which failed, each with its reason.
    /// - Throws: as ``put(key:value:)`` for a key or a value that cannot be stored; then nothing was sent.
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

    /// Puts a value for a key into the outbox; ``publishes`` tells of it, too. The sequence of its receipt is the key's
    /// new revision. With a local store in a file the value is committed there first.
    ///
    /// - Parameters:
    ///   - key: as for ``put(key:value:)``.
    ///   - value: as for ``put(key:value:)``.
    ///   - id: the change's identifier; a new one when nil.
    /// - Returns: what names the change and waits for its end.
    /// - Throws: ``RelayError/invalidArgument(_:)`` for the key and for an identifier that is on its way already,
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

    /// Puts the deletion of a key into the outbox, as ``enqueue(key:value:id:)`` does with a value.
    ///
    /// - Parameters:
    ///   - key: the key.
    ///   - id: the change's identifier; a new one when nil.
    /// - Throws: as ``enqueue(key:value:id:)``.
    @discardableResult
    public nonisolated(nonsending) func enqueueDeletion(
        ofKey key: String, id: String? = nil
    ) async throws(RelayError) -> PendingPublish {
        let pending = newPublish(id)
        try await publisher.submit(KeyValueStore.message(deleting: key, id: pending.id), for: pending)
        return pending
    }

    /// What a key has.
    ///
    /// - Returns: nil when the key has no value; a key that was set to null has ``MessageValue/null``.
    /// - Throws: ``RelayError/invalidArgument(_:)`` for the key, ``RelayError/notConnected``,
    ///   ``RelayError/timeout(_:)``, or the server's refusal.
    public func get(key: String) async throws(RelayError) -> StoredValue? {
        try KeyGrammar.check(key: key)
        return try await keyValueStore().get(key)
    }

    /// Deletes a key, and returns when the network has done so, or, without a connection, when the deletion waits in
    /// the outbox. A key that has no value is none the worse for it.
    ///
    /// - Parameter key: the key.
    /// - Returns: whether it is deleted; false where the deletion waits in the outbox, for a connection or behind
    ///   others.
    /// - Throws: as ``put(key:value:)``.
    @discardableResult
    public func delete(key: String) async throws(RelayError) -> Bool {
        try KeyGrammar.check(key: key)
        guard mayChange(key) else { return try await revision(of: enqueueDeletion(ofKey: key)) != nil }
        try await keyValueStore().delete(key, revision: nil)
        return true
    }

    /// Deletes a key if it has a certain revision, and returns when the network has done so.
    ///
    /// - Parameters:
    ///   - key: the key.
    ///   - revision: deletes it only if this is its present revision.
    /// - Throws: as ``put(key:value:revision:)``.
    public func delete(key: String, revision: UInt64) async throws(RelayError) {
        try KeyGrammar.check(key: key)
        try requireConnection(for: "Deleting the key \(key) at a revision", of: key)
        try await keyValueStore().delete(key, revision: revision)
    }

    /// Deletes a key with the values that it had before (what RelayX's SDKs do to delete).
    ///
    /// Users may not erase at once what their network's bucket keeps: where it takes no rollups, the key is deleted,
    /// and its earlier values go as the bucket's bounds have it. A network of Parley's own keeps none.
    ///
    /// - Throws: as ``delete(key:revision:)``.
    public func purge(key: String) async throws(RelayError) {
        try KeyGrammar.check(key: key)
        try requireConnection(for: "Purging the key \(key)", of: key)
        try await keyValueStore().purge(key)
    }

    /// The keys that have a value, in the order of their last change.
    ///
    /// - Parameter pattern: a key, in which `*` stands for one part between dots, and `>` at the end for all that
    ///   follow.
    /// - Throws: ``RelayError/invalidArgument(_:)`` for the pattern, ``RelayError/notConnected``,
    ///   ``RelayError/timeout(_:)``, or the server's refusal.
    public func keys(matching pattern: String = ">") async throws(RelayError) -> [String] {
        try KeyGrammar.check(pattern: pattern)
        return try await keyValueStore().keys(matching: pattern)
    }

    /// Reads the keys that have a value, each with it, in the order of their last change. Of what was read, only the
    /// names are held. A key that changes meanwhile is told of once.
    ///
    /// - Parameters:
    ///   - pattern: as for ``keys(matching:)``.
    ///   - body: is given each value before the next one is read.
    /// - Throws: as ``keys(matching:)``, perhaps after some values.
    public func forEachValue(
        matching pattern: String = ">", _ body: @Sendable (StoredValue) -> Void
    ) async throws(RelayError) {
        try KeyGrammar.check(pattern: pattern)
        try await keyValueStore().forEachValue(matching: pattern, body)
    }

    /// What the network still holds of a key's past, oldest first, the present value included. A network of Parley's
    /// own holds the newest change alone.
    ///
    /// - Throws: as ``get(key:)``.
    public func history(ofKey key: String) async throws(RelayError) -> [KeyValueChange] {
        try KeyGrammar.check(key: key)
        return try await keyValueStore().history(of: key)
    }

    /// Watches keys, connected or not: first what is there, then ``KeyValueEvent/live``, then every change. After an
    /// outage it goes on behind the change that came last.
    ///
    /// - Parameter pattern: a key, or a pattern as for ``keys(matching:)``.
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

    /// Whether a key can be changed now: there is a connection, and nothing that was put earlier waits for the same
    /// key, which it would replace later.
    private func mayChange(_ key: String) -> Bool {
        status.state == .connected && link?.jetStream != nil && !publisher.holds(.key(key))
    }

    /// - Throws: ``RelayError/needsConnection(_:)``, ``RelayError/busy(_:)``.
    private func requireConnection(for operation: String, of key: String) throws(RelayError) {
        guard status.state == .connected else { throw .needsConnection(operation) }
        guard !publisher.holds(.key(key)) else { throw .busy("Changing the key \(key)") }
    }

    /// Hands changes over, and waits for their ends where there is a connection.
    private func sendThroughOutbox(
        _ messages: [(key: String, message: OutboxMessage, pending: PendingPublish)]
    ) async throws(RelayError) -> KeyValueBatch {
        // What is wrong with one of them keeps all from being sent.
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

    /// Waits for the end of a change, as long as there is a connection.
    ///
    /// - Returns: the new revision; nil where the change waits.
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
        // What the server takes includes the headers.
        let serversLimit = max(0, jetStream.connection.maximumPayload - 256)
        return try KeyValueStore(
            namespace.name, jetStream, maximumBytes: min(configuration.maximumMessageBytes, serversLimit),
            surroundings.clock)
    }
}
