import GRDB

// The postbox without a connection.
extension LocalStore {
    /// A page of the letters that are kept, as a list on the network has it.
    ///
    /// - Parameters:
    ///   - limit: most letters, 1 to 100.
    ///   - nextToken: where an earlier page of the same order ended, kept or from the network; nil for the beginning.
    ///   - postbox: only this one's letters; nil for all.
    ///   - owner: whose postboxes they are.
    ///   - order: which comes first.
    /// - Throws: ``RelayError/invalidArgument(_:)``, ``RelayError/invalidToken``, ``RelayError/storage(_:)``.
    package func letterPage(
        limit: Int, nextToken: String?, postbox: String?, owner: String, order: LetterOrder = .oldestFirst
    ) async throws(RelayError) -> KeptLetters {
        guard (1...LetterPage.maximumLimit).contains(limit) else {
            throw .invalidArgument("The limit is from 1 to \(LetterPage.maximumLimit)")
        }
        var token: PageToken?
        if let nextToken { token = try PageToken(nextToken, order: order) }
        let found = try await reading { [token] database -> (UInt64, KeptLetters)? in
            guard let incarnation = try LetterRows.incarnation(database) else { return nil }
            let rows = try LetterRows.received(
                incarnation: incarnation, from: token?.sequence, order, postbox: postbox, limit: limit + 1, in: database
            )
            let next = rows.count > limit ? rows[limit].sequence : nil
            let page = ListOutput(
                items: rows.prefix(limit).map { PostboxMessage($0.letter, owner: owner) },
                nextToken: next.map { PageToken(incarnation: incarnation, sequence: $0, order: order).text })
            let counts = try LetterRows.counts(
                "letters WHERE direction = 0 AND incarnation = ?", Int64(bitPattern: incarnation), in: database)
            return (incarnation, KeptLetters(page: page, asOf: try LetterRows.asOf(database), counts: counts))
        }
        guard let (incarnation, letters) = found else {
            if token != nil { throw .invalidToken }
            let asOf = try await reading { try LetterRows.asOf($0) }
            return KeptLetters(page: ListOutput(items: [], nextToken: nil), asOf: asOf)
        }
        if let token, token.incarnation != incarnation { throw .invalidToken }
        return letters
    }

    /// So many deletions are written together at most: whoever reads or writes something else meanwhile has its turn.
    package static let deletionsAtOnce = 1_000

    /// Forgets letters that the network does not have any more, however many, within a moment.
    ///
    /// - Parameter ids: the identifiers of received letters.
    package func forgetLetters(_ ids: [String]) async {
        for start in stride(from: 0, to: ids.count, by: Self.deletionsAtOnce) {
            let part = ids[start..<min(ids.count, start + Self.deletionsAtOnce)]
            await append([], part.map { .letterDeleted(.received, id: $0) })
        }
    }

    /// Which letters were read on this machine, after all is written that waits.
    ///
    /// - Parameter ids: the letters that are asked about.
    /// - Throws: ``RelayError/storage(_:)``.
    package func readLetters(among ids: [String]) async throws(RelayError) -> ReadLetters {
        try await flush()
        return try await reading { try LetterRows.read(among: ids, in: $0) }
    }

    /// Letters in the order in which they were kept.
    ///
    /// - Parameters:
    ///   - number: where an earlier part ended; 0 for the beginning.
    ///   - limit: most letters.
    /// - Returns: the letters, and where they end; nil when there are none.
    /// - Throws: ``RelayError/storage(_:)``.
    package func letters(
        after number: Int64, limit: Int
    ) async throws(RelayError) -> (letters: [KeptLetter], last: Int64?) {
        try await reading { database in
            let rest = "FROM letters WHERE number > ? ORDER BY number LIMIT ?"
            let numbers = try Int64.fetchAll(database, sql: "SELECT number \(rest)", arguments: [number, limit])
            return (try KeptLetter.fetch(database, rest, [number, limit]), numbers.last)
        }
    }

    /// Deletes all letters that are kept, and what is known of the postboxes; those of the network stay there.
    ///
    /// - Returns: how many were deleted.
    /// - Throws: ``RelayError/storage(_:)``; a part may be deleted then.
    @discardableResult
    public func forgetLetters() async throws(RelayError) -> Int {
        try await flush()
        var count = 0
        while true {
            let deleted = try await writing { database -> Int in
                let numbers = try Int64.fetchAll(
                    database, sql: "SELECT number FROM letters LIMIT ?", arguments: [StoreDeletion.rowsAtOnce])
                try LetterRows.delete(numbers, in: database)
                return numbers.count
            }
            guard deleted > 0 else { break }
            count += deleted
        }
        try await writing { database in
            try database.execute(sql: "DELETE FROM read_letters")
            try LetterRows.forgetMoment(database)
            try PostboxRows.forget(database)
        }
        return count
    }
}

extension KeptLetter {
    /// What a search looks through: the subject, and what is below it.
    var searchedText: String { subject.map { $0 + "\n" + text } ?? text }
}

extension PostboxMessage {
    /// A letter that is kept.
    init(_ letter: KeptLetter, owner: String) {
        self.init(
            id: letter.id, createdAt: letter.time, updatedAt: letter.time, ownerId: owner,
            sudoId: letter.sudoId ?? owner, postboxId: letter.postbox, message: letter.text, from: letter.person,
            subject: letter.subject)
    }
}
