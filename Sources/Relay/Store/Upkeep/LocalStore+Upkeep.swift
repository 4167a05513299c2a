import GRDB

// The size of the store, and how it is limited.
extension LocalStore {
    /// The size of the store.
    ///
    /// - Throws: ``RelayError/storage(_:)``.
    public func status() async throws(RelayError) -> StoreStatus {
        try await reading { [path, notKept = writer?.notKept] database in
            func number(_ sql: String) throws -> Int { try Int.fetchOne(database, sql: "SELECT " + sql) ?? 0 }
            var status = StoreStatus(path: path)
            status.bytes = StoreFiles.bytes(path)
            status.notKept = notKept ?? 0
            status.messages = try number("sum(messages) FROM topics")
            status.messageBytes = try number("sum(bytes) FROM topics")
            status.topics = try number("count(*) FROM topics")
            status.letters = try number("count(*) FROM letters")
            status.outbox = try number("count(*) FROM outbox")
            let oldest = try Int64.fetchOne(database, sql: "SELECT time FROM messages ORDER BY row LIMIT 1")
            status.oldest = oldest.map { Timestamp(milliseconds: $0) }
            return status
        }
    }

    /// Deletes the data of a topic, or of all that match a pattern: messages, their index, the draft, and the positions
    /// of receiving and reading. The network's messages stay, and so does the outbox.
    ///
    /// Deleted data is overwritten in the file. Single words may stay in the search index until ``compact(_:)``.
    ///
    /// - Returns: How many messages were deleted.
    /// - Throws: ``RelayError/storage(_:)``; a part may be deleted then.
    @discardableResult
    public func forget(_ pattern: TopicPattern) async throws(RelayError) -> Int {
        let count = try await deleteAll { database in
            let deletion = StoreDeletion(in: database)
            let part = try deletion.next(of: pattern)
            try deletion.delete(part)
            return part.messages.count
        }
        try await writing { try StoreDeletion(in: $0).names(of: pattern) }
        return count
    }

    /// Deletes in small steps, so that no one waits long for the writer, until a step finds nothing.
    ///
    /// - Returns: How many were deleted.
    func deleteAll(by step: @escaping @Sendable (Database) throws -> Int) async throws(RelayError) -> Int {
        try await flush()
        var count = 0
        while true {
            let deleted = try await writing(step)
            guard deleted > 0 else { return count }
            count += deleted
        }
    }

    /// Deletes some of the data that a policy does not keep, oldest first, and returns free room to the disk: a small
    /// step of some ten milliseconds, to be repeated while there is more.
    ///
    /// - Returns: Whether there is more.
    /// - Throws: ``RelayError/storage(_:)``.
    @discardableResult
    public func compactStep(_ policy: RetentionPolicy) async throws(RelayError) -> Bool {
        let now = Timestamp(milliseconds: clock.secondsSince1970 * 1_000)
        // Mostly there is nothing to do, which a reader can find out without the writer.
        let isDue = try await reading { database in
            let deletion = StoreDeletion(in: database)
            return try deletion.hasFree() || !deletion.next(policy, now: now).isEmpty
        }
        guard isDue else { return false }
        return try await writing { database in
            let deletion = StoreDeletion(in: database)
            let part = try deletion.next(policy, now: now)
            try deletion.delete(part)
            return try deletion.free() || !part.isEmpty
        }
    }

    /// Applies a policy in the background while the store is open, in small steps with pauses for other writers.
    ///
    /// - Parameters:
    ///   - clock: Times the steps. The store's own clock tells the age of data.
    ///   - gate: Pauses the work, without a timer, while it is closed.
    func lookAfter(_ policy: RetentionPolicy, by clock: any Timekeeper, while gate: RestGate = RestGate()) {
        writer?.keep(
            Task { [weak self] in
                // The start of a program has more urgent work.
                var wait = Duration.seconds(10)
                var hasDeleted = false
                while true {
                    do { try await clock.sleep(for: wait) } catch { return }
                    await gate.pass()
                    if Task.isCancelled { return }
                    // The store can be deallocated between steps.
                    guard let self else { return }
                    let began = clock.now
                    // Failures of writing are reported elsewhere, and keeping too much loses nothing.
                    let hasMore = (try? await self.compactStep(policy)) ?? false
                    if hasDeleted, !hasMore { await self.cutFile() }
                    hasDeleted = hasMore
                    // On a slow disk steps take longer, and the pauses with them.
                    wait = hasMore ? max(.milliseconds(50), (clock.now - began) * 3) : .seconds(60)
                }
            })
    }

    /// Checkpoints the log as far as readers allow, which makes the file as small as its pages permit.
    private func cutFile() async {
        // A closed store refuses this statement, while the library's own call would end the process.
        try? await database.writeWithoutTransaction { try $0.execute(sql: "PRAGMA wal_checkpoint(PASSIVE)") }
    }

    /// Applies a policy completely, merges the search index, and returns all free room to the disk. Takes seconds in a
    /// store of millions of messages; readers and writers continue with short pauses.
    ///
    /// - Throws: ``RelayError/storage(_:)``; a part may be done then.
    public func compact(_ policy: RetentionPolicy) async throws(RelayError) {
        try await flush()
        while try await compactStep(policy) {}
        try await writing { database in
            for words in ["words", "letter_words"] {
                try database.execute(sql: "INSERT INTO \(words) (\(words)) VALUES ('optimize')")
            }
        }
        while try await compactStep(policy) {}
        // A reader of an old state prevents truncating the log until the next time.
        _ = try? await database.writeWithoutTransaction { _ = try $0.checkpoint(.truncate) }
    }
}
