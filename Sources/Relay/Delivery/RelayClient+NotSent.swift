// What was accepted and not sent: with a local store in a file it waits there for the person.
extension RelayClient {
    /// What was not sent, oldest first: what was discarded at the end of a session, what the server refused, and
    /// letters of which it cannot be found out whether they were stored. It stays until it is sent again or dropped,
    /// beyond this run of the program; of more than 10,000 the oldest are forgotten. Empty without a local store in a
    /// file.
    ///
    /// Opens the local store where that was not done yet.
    ///
    /// - Throws: ``RelayError/storage(_:)``.
    public func notSent() async throws(RelayError) -> [NotSentMessage] {
        guard let store = await settledStore() else { return [] }
        return try await store.notSent().map { NotSentMessage($0) }
    }

    /// Sends a message again that was not sent, under its identifier and behind all that waits. ``publishes`` reports
    /// what becomes of it. Where several processes ask for the same message, one sends it.
    ///
    /// - Throws: ``RelayError/notFound(_:)`` when no message under this identifier waits for the person,
    ///   ``RelayError/storage(_:)``, and what ``enqueue(topic:message:id:)`` throws, after which it goes on waiting,
    ///   for that reason where it was refused.
    public func sendAgain(id: String) async throws(RelayError) {
        let store = await settledStore()
        if try await publisher.sendAgain(id) { return }
        if let store, try await store.notSent().contains(where: { $0.message.id == id }) {
            throw store.opening.error
                ?? .storage("\(store.path): this run could not begin to write its outbox; start again")
        }
        throw .notFound("The unsent message \(id)")
    }

    /// Forgets messages that were not sent, all at once.
    ///
    /// - Returns: the identifiers of those that there were.
    /// - Throws: ``RelayError/storage(_:)``, after which all of them wait as before.
    @discardableResult
    public func drop(ids: [String]) async throws(RelayError) -> [String] {
        guard !ids.isEmpty, let store = await settledStore() else { return [] }
        return try await store.drop(notSent: ids)
    }

    /// What this client is to send, which earlier runs of the program may have left, and what was not sent, oldest
    /// first. Empty without a local store in a file that may be written, which is opened where that was not done yet.
    ///
    /// - Throws: ``RelayError/storage(_:)``.
    package func keptOutbox() async throws(RelayError) -> [KeptPublish] {
        _ = await openingStore().value
        guard let (store, run) = await publisher.written() else { return [] }
        return try await store.outbox(of: run)
    }

    /// The local store, behind all of the outbox that waits to be written; nil where there is none.
    private func settledStore() async -> LocalStore? {
        let store = await openingStore().value
        await publisher.settle()
        return store
    }
}
