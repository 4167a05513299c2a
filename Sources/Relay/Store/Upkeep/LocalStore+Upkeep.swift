import GRDB

// How much is kept, and what is done about it.
extension LocalStore {
    /// How much is kept.
    ///
    /// - Throws: ``RelayError/storage(_:)``.
    public func status() async throws(RelayError) -> StoreStatus {
        var status = StoreStatus(path: path)
        status.bytes = StoreFiles.bytes(path)
        status.notKept = writer?.notKept ?? 0
        return try await reading { [status] database in
            func number(_ sql: String) throws -> Int { try Int.fetchOne(database, sql: "SELECT " + sql) ?? 0 }
            var status = status
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

    /// Deletes what is kept of a topic, or of all that match a pattern: messages, the words to find them, the draft,
    /// how far it was received and read. The network keeps its own; what is on its way out stays.
    ///
    /// What is deleted is overwritten in the file. Single words of it may stay in the search's index until
    /// ``compact(_:)``.
    ///
    /// - Returns: how many messages were deleted.
    /// - Throws: ``RelayError/storage(_:)``; a part may be deleted then.
    @discardableResult
    public func forget(_ pattern: TopicPattern) async throws(RelayError) -> Int {
        try await flush()
        var count = 0
        while true {
            let deleted = try await writing { database in
                let part = try StoreDeletion(in: database).next(of: pattern)
                try StoreDeletion(in: database).delete(part)
                return part.messages.count
            }
            guard deleted > 0 else { break }
            count += deleted
        }
        try await writing { try StoreDeletion(in: $0).names(of: pattern) }
        return count
    }

    /// Deletes some of what a policy does not keep, the oldest first, and gives free room back to the disk: a small
    /// step, of some ten milliseconds, to be repeated as long as there is more.
    ///
    /// - Returns: whether there is more.
    /// - Throws: ``RelayError/storage(_:)``.
    @discardableResult
    public func compactStep(_ policy: RetentionPolicy) async throws(RelayError) -> Bool {
        let now = Timestamp(milliseconds: clock.secondsSince1970 * 1_000)
        // Most of the time there is nothing to do, which readers find out beside the writer.
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

    /// Looks after the store for as long as it is open: carries a policy out in the background, in small steps with
    /// pauses in which everybody else has the writer.
    ///
    /// - Parameters:
    ///   - clock: whose time says when. How old something is, the store's own clock says.
    ///   - gate: nothing is done while it is closed, and nothing waits by the clock for the next step.
    func lookAfter(_ policy: RetentionPolicy, by clock: any Timekeeper, while gate: RestGate = RestGate()) {
        writer?.keep(
            Task { [weak self] in
                // Whoever has just started the program is shown first what they wait for.
                var wait = Duration.seconds(10)
                var hasDeleted = false
                while true {
                    do { try await clock.sleep(for: wait) } catch { return }
                    await gate.pass()
                    if Task.isCancelled { return }
                    // Nobody has to wait for a step to be rid of the store.
                    guard let self else { return }
                    let began = clock.now
                    // Trouble is told by whoever finds something not kept, and nothing is lost by keeping too much.
                    let hasMore = (try? await self.compactStep(policy)) ?? false
                    if hasDeleted, !hasMore { await self.cutFile() }
                    hasDeleted = hasMore
                    // On a slow disk steps take longer, and the pauses with them.
                    wait = hasMore ? max(.milliseconds(50), (clock.now - began) * 3) : .seconds(60)
                }
            })
    }

    /// Carries the log over into the file, as far as nobody reads it, which makes the file as small as its pages allow.
    private func cutFile() async {
        // By a statement, which a store that was closed meanwhile refuses; the library's own call ends the process
        // there.
        try? await database.writeWithoutTransaction { try $0.execute(sql: "PRAGMA wal_checkpoint(PASSIVE)") }
    }

    /// Does all that a policy asks for, brings the search's words together, and gives all free room back to the disk.
    /// Takes seconds in a store of millions of messages; readers and writers go on meanwhile, but for moments.
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
        // Somebody who reads an old state keeps the log from being cut; the next time does it.
        _ = try? await database.writeWithoutTransaction { _ = try $0.checkpoint(.truncate) }
    }
}
