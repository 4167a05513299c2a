import NATS

// The network's key-value store, which all its users share. `put`, `get`, `delete` and `keys` are RelayX's; its SDKs read
// what is stored here, and the other way round.
extension RelayClient {
    /// Sets a key, and returns when the network has stored it.
    ///
    /// Without a connection it fails at once: a value that waited for one could replace a newer one.
    ///
    /// - Parameters:
    ///   - key: letters, digits, `_`, `-`, `=`, `/`, and `.` between its parts.
    ///   - value: anything that JSON can hold, ``MessageValue/null`` too.
    ///   - revision: stores it only if this is the key's present revision, or for 0 if the key has no value; nil replaces
    ///     whatever is there.
    /// - Returns: the key's new revision.
    /// - Throws: ``RelayError/conflict(key:revision:)`` with the revision that somebody else made first,
    ///   ``RelayError/invalidArgument(_:)`` for the key, ``RelayError/invalidMessage(_:)`` for the value,
    ///   ``RelayError/tooLarge(bytes:limit:)``, ``RelayError/notConnected``, ``RelayError/timeout(_:)`` (it may be stored even
    ///   so), or the server's refusal.
    @discardableResult
    public func put(key: String, value: MessageValue, revision: UInt64? = nil) async throws(RelayError) -> UInt64 {
        try KeyGrammar.check(key: key)
        return try await keyValueStore().put(value, for: key, revision: revision)
    }

    /// Sets any number of keys, ten at a time.
    ///
    /// They are not set all or none: others may see the first before the last is stored. Where nothing of ten could be
    /// stored, the rest is not tried, and fails for the same reason.
    ///
    /// - Parameter entries: keys and values. Of several values for a key, the last one stays.
    /// - Returns: which were stored and which not, each with its reason.
    /// - Throws: as ``put(key:value:revision:)`` for a key or a value that cannot be stored; then nothing was sent.
    @discardableResult
    public func put(_ entries: [(key: String, value: MessageValue)]) async throws(RelayError) -> KeyValueBatch {
        try await keyValueStore().put(entries)
    }

    /// What a key has.
    ///
    /// - Returns: nil when the key has no value; a key that was set to null has ``MessageValue/null``.
    /// - Throws: ``RelayError/invalidArgument(_:)`` for the key, ``RelayError/notConnected``, ``RelayError/timeout(_:)``, or
    ///   the server's refusal.
    public func get(key: String) async throws(RelayError) -> StoredValue? {
        try KeyGrammar.check(key: key)
        return try await keyValueStore().get(key)
    }

    /// Deletes a key; one that has no value is none the worse for it.
    ///
    /// - Parameters:
    ///   - key: the key.
    ///   - revision: deletes it only if this is its present revision; nil deletes whatever is there.
    /// - Throws: as ``put(key:value:revision:)``.
    public func delete(key: String, revision: UInt64? = nil) async throws(RelayError) {
        try KeyGrammar.check(key: key)
        try await keyValueStore().delete(key, revision: revision)
    }

    /// Deletes a key with the values that it had before (what RelayX's SDKs do to delete).
    ///
    /// Users may not erase at once what their network's bucket keeps: where it takes no rollups, the key is deleted, and its
    /// earlier values go as the bucket's bounds have it. A network of Parley's own keeps none.
    ///
    /// - Throws: as ``delete(key:revision:)``.
    public func purge(key: String) async throws(RelayError) {
        try KeyGrammar.check(key: key)
        try await keyValueStore().purge(key)
    }

    /// The keys that have a value, in the order of their last change.
    ///
    /// - Parameter pattern: a key, in which `*` stands for one part between dots, and `>` at the end for all that follow.
    /// - Throws: ``RelayError/invalidArgument(_:)`` for the pattern, ``RelayError/notConnected``, ``RelayError/timeout(_:)``,
    ///   or the server's refusal.
    public func keys(matching pattern: String = ">") async throws(RelayError) -> [String] {
        try KeyGrammar.check(pattern: pattern)
        return try await keyValueStore().keys(matching: pattern)
    }

    /// The keys that have a value, each with it, in the order of their last change.
    ///
    /// - Parameter pattern: as for ``keys(matching:)``.
    /// - Throws: as ``keys(matching:)``.
    public func values(matching pattern: String = ">") async throws(RelayError) -> [StoredValue] {
        try KeyGrammar.check(pattern: pattern)
        return try await keyValueStore().values(matching: pattern)
    }

    /// What the network still holds of a key's past, oldest first, the present value included. A network of Parley's own
    /// holds the newest change alone.
    ///
    /// - Throws: as ``get(key:)``.
    public func history(ofKey key: String) async throws(RelayError) -> [KeyValueChange] {
        try KeyGrammar.check(key: key)
        return try await keyValueStore().history(of: key)
    }

    /// Watches keys, connected or not: first what is there, then ``KeyValueEvent/live``, then every change. After an outage
    /// it goes on behind the change that came last.
    ///
    /// - Parameter pattern: a key, or a pattern as for ``keys(matching:)``.
    /// - Throws: ``RelayError/invalidArgument(_:)`` for the pattern.
    public func watch(key pattern: String = ">") throws(RelayError) -> KeyValueEvents {
        try KeyGrammar.check(pattern: pattern)
        let stream = StreamSubscription<KeyValueEvent>(from: .newestOfEach, KeyValueStore.words)
        return follow(stream, as: "the keys \(pattern)") { namespace, jetStream in
            KeyValueStore.source(of: pattern, namespace, jetStream)
        }.events
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
