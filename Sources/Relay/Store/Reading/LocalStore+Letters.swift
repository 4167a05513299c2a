import GRDB

// The postbox without a connection.
extension LocalStore {
    /// A page of the stored letters, like one from the network.
    ///
    /// - Parameters:
    ///   - limit: The most letters, 1 to 100.
    ///   - nextToken: Where an earlier page of the same order ended, stored or from the network; nil for the beginning.
    ///   - postbox: Limits the list to this postbox; nil for all.
    ///   - owner: The postboxes' owner.
    ///   - order: The list's order.
    /// - Throws: ``RelayError/invalidArgument(_:)``, ``RelayError/invalidToken``, ``RelayError/storage(_:)``.
    package func letterPage(
        limit: Int, nextToken: String?, postbox: String?, owner: String, order: LetterOrder = .oldestFirst
    ) async throws(RelayError) -> KeptLetters {
        guard (1...LetterPage.maximumLimit).contains(limit) else {
            throw .invalidArgument("The limit is from 1 to \(LetterPage.maximumLimit)")
        }
        var token: PageToken?
        if let nextToken { token = try PageToken(nextToken, order: order) }
        // Letters deleted a moment ago must not be listed. A failing disk does not prevent reading.
        try? await flush()
        return try await reading { [token] database in
            let asOf = try StoreFacts.moment(StoreFacts.lettersMoment, in: database)
            let incarnation = try LetterRows.incarnation(database)
            if let token, incarnation != Int64(bitPattern: token.incarnation) { throw RelayError.invalidToken }
            guard let incarnation else { return KeptLetters(page: ListOutput(items: [], nextToken: nil), asOf: asOf) }
            let isAscending = order == .oldestFirst
            let letters = try LetterRows.fetch(
                database,
                """
                FROM letters WHERE direction = 0 AND incarnation = ? AND sequence \(isAscending ? ">=" : "<=") ?
                AND (? IS NULL OR postbox = ?) ORDER BY sequence \(isAscending ? "ASC" : "DESC") LIMIT ?
                """,
                [
                    incarnation, token.map { Int64(clamping: $0.sequence) } ?? (isAscending ? 0 : .max), postbox,
                    postbox, limit + 1,
                ])
            let next = letters.dropFirst(limit).first.flatMap { PostboxMessageID($0.id) }
            let page = ListOutput(
                items: letters.prefix(limit).map { PostboxMessage($0, owner: owner) },
                nextToken: next.map {
                    PageToken(incarnation: $0.incarnation, sequence: $0.sequence, order: order).text
                })
            let counts = try LetterRows.counts(
                "letters WHERE direction = 0 AND incarnation = ?", incarnation, in: database)
            return KeptLetters(page: page, asOf: asOf, counts: counts)
        }
    }

    /// Which letters were read on this machine, after all pending writes.
    ///
    /// - Parameter ids: The letters in question.
    package func readLetters(among ids: [String]) async throws(RelayError) -> ReadLetters {
        try await flush()
        return try await reading { database in
            var read = ReadLetters()
            let statement = try database.cachedStatement(
                sql: "SELECT 1 FROM read_letters WHERE incarnation = ? AND sequence = ?")
            for id in ids {
                guard let place = PostboxMessageID(id) else { continue }
                if try Int.fetchOne(statement, arguments: place.arguments) != nil { read.ids.insert(id) }
            }
            let newest = try Int64.fetchOne(
                database,
                sql: """
                    SELECT max(incarnation) FROM (
                        SELECT incarnation FROM read_letters
                        UNION ALL SELECT max(incarnation) FROM letters WHERE direction = 0)
                    """)
            guard let newest else { return read }
            read.counts = try LetterRows.counts("read_letters WHERE incarnation = ?", newest, in: database)
            read.kept = try LetterRows.counts("letters WHERE direction = 0 AND incarnation = ?", newest, in: database)
            return read
        }
    }

    /// The newest letters, newest first.
    ///
    /// - Parameters:
    ///   - direction: Received or sent letters; nil for both.
    ///   - limit: The most letters, 1 to 10,000.
    /// - Throws: ``RelayError/invalidArgument(_:)``, ``RelayError/storage(_:)``.
    public func letters(_ direction: KeptLetter.Direction? = nil, limit: Int) async throws(RelayError) -> [KeptLetter] {
        try Self.check(limit)
        let code = direction?.rawValue
        return try await reading { database in
            try LetterRows.fetch(
                database, "FROM letters WHERE ? IS NULL OR direction = ? ORDER BY time DESC LIMIT ?",
                [code, code, limit])
        }
    }

    /// Letters in the order in which they were stored.
    ///
    /// - Parameters:
    ///   - number: Where an earlier part ended; 0 for the beginning.
    ///   - limit: The most letters.
    /// - Returns: The letters, and where they end; nil if there are none.
    package func letters(
        after number: Int64, limit: Int
    ) async throws(RelayError) -> (letters: [KeptLetter], last: Int64?) {
        try await reading { database in
            let rest = "FROM letters WHERE number > ? ORDER BY number LIMIT ?"
            let numbers = try Int64.fetchAll(database, sql: "SELECT number \(rest)", arguments: [number, limit])
            return (try LetterRows.fetch(database, rest, [number, limit]), numbers.last)
        }
    }

    /// The postboxes as last reported by the network, if ever.
    package func postboxes() async throws(RelayError) -> KeptPostboxes? {
        try await reading { try StoreFacts.postboxes($0) }
    }

    // MARK: Forgetting

    /// The most deletions in one write, so that other readers and writers get their turn.
    package static let deletionsAtOnce = 1_000

    /// Removes letters that the network no longer has, however many, within a moment.
    ///
    /// - Parameter ids: The identifiers of received letters.
    package func forgetLetters(_ ids: [String]) async {
        for start in stride(from: 0, to: ids.count, by: Self.deletionsAtOnce) {
            let part = ids[start..<min(ids.count, start + Self.deletionsAtOnce)]
            await append([], part.map { .letterDeleted(.received, id: $0) })
        }
    }

    /// Deletes all stored letters and postboxes; those on the network stay.
    ///
    /// - Returns: How many letters were deleted.
    /// - Throws: ``RelayError/storage(_:)``; a part may be deleted then.
    @discardableResult
    public func forgetLetters() async throws(RelayError) -> Int {
        let count = try await deleteAll { database in
            let numbers = try Int64.fetchAll(
                database, sql: "SELECT number FROM letters LIMIT ?", arguments: [StoreDeletion.rowsAtOnce])
            try LetterRows.delete(numbers, in: database)
            return numbers.count
        }
        try await writing { database in
            try database.execute(sql: "DELETE FROM read_letters")
            try StoreFacts.forgetLetters(in: database)
        }
        return count
    }
}

extension PostboxMessage {
    fileprivate init(_ letter: KeptLetter, owner: String) {
        self.init(
            id: letter.id, createdAt: letter.time, updatedAt: letter.time, ownerId: owner,
            sudoId: letter.sudoId ?? owner, postboxId: letter.postbox, message: letter.text, from: letter.person,
            subject: letter.subject)
    }
}
