// Messages that were accepted but not sent wait for the person's decision in a local store that is in a file.
extension RelayClient {
    /// The unsent messages, oldest first: those discarded at the end of a session, those that the server refused, and
    /// letters that may or may not have been stored. They stay until they are sent again or dropped, beyond this run of
    /// the program; if there are more than 10,000, the oldest are forgotten. Empty without a local store in a file.
    ///
    /// Opens the local store if that was not done yet.
    ///
    /// - Throws: ``RelayError/storage(_:)``.
    public func notSent() async throws(RelayError) -> [NotSentMessage] {
        guard let store = await settledStore() else { return [] }
        return try await store.notSent().map { NotSentMessage($0) }
    }

    /// Sends an unsent message again, with its identifier and after all others. ``publishes`` reports its progress. If
    /// several processes ask for the same message, one sends it.
    ///
    /// - Throws: ``RelayError/notFound(_:)`` if there is no unsent message with this identifier,
    ///   ``RelayError/storage(_:)``, and the errors of ``enqueue(topic:message:id:)``, after which the message stays
    ///   unsent, with the new reason if it was refused.
    public func sendAgain(id: String) async throws(RelayError) {
        let store = await settledStore()
        if try await publisher.sendAgain(id) { return }
        if let store, try await store.notSent().contains(where: { $0.message.id == id }) {
            throw store.opening.error
                ?? .storage("\(store.path): this run could not begin to write its outbox; start again")
        }
        throw .notFound("The unsent message \(id)")
    }

    /// Forgets unsent messages, all at once.
    ///
    /// - Returns: The identifiers of those that existed.
    /// - Throws: ``RelayError/storage(_:)``, after which all of them stay.
    @discardableResult
    public func drop(ids: [String]) async throws(RelayError) -> [String] {
        guard !ids.isEmpty, let store = await settledStore() else { return [] }
        return try await store.drop(notSent: ids)
    }

    /// The messages that this client is going to send, including those of earlier runs of the program, and the unsent
    /// ones, oldest first. Empty without a local store in a writable file; opens the store if that was not done yet.
    ///
    /// - Throws: ``RelayError/storage(_:)``.
    package func keptOutbox() async throws(RelayError) -> [KeptPublish] {
        _ = await openingStore().value
        guard let (store, run) = await publisher.written() else { return [] }
        return try await store.outbox(of: run)
    }

    /// The local store after all pending changes of the outbox; nil if there is none.
    private func settledStore() async -> LocalStore? {
        let store = await openingStore().value
        await publisher.settle()
        return store
    }
}
