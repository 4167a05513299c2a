import GRDB
import Platform

/// The letters of the local store, within the caller's transaction.
enum LetterRows {
    // MARK: Writing

    /// Stores a letter unless it exists. If the store is full, a letter older than the one it would replace is dropped:
    /// a list from the newest letter on reaches it last.
    static func keep(_ letter: KeptLetter, in database: Database) throws {
        let isTooOld = try Bool.fetchOne(
            database,
            sql: """
                SELECT max(number) - min(number) + 1 >= ?
                    AND (SELECT time FROM letters ORDER BY number LIMIT 1) > ? FROM letters
                """, arguments: [StoreBounds.letters, letter.time.milliseconds])
        if isTooOld == true { return }
        let place = letter.direction == .received ? PostboxMessageID(letter.id) : nil
        let sql = """
            INSERT INTO letters (direction, id, person, postbox, time, text, sudo, subject, incarnation, sequence)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            ON CONFLICT (direction, id) DO NOTHING
            """
        let values: StatementArguments = [
            letter.direction.rawValue, letter.id, letter.person, letter.postbox, letter.time.milliseconds, letter.text,
            letter.sudoId, letter.subject,
        ]
        try database.execute(sql: sql, arguments: values + (place?.arguments ?? [0, 0]))
        guard database.changesCount > 0 else { return try correctPersona(of: letter, in: database) }
        let number = database.lastInsertedRowID
        try addWords(number, letter.subject.map { $0 + "\n" + letter.text } ?? letter.text, letter.person, in: database)
        let last = number &- Int64(StoreBounds.letters)
        guard last > 0 else { return }
        try database.execute(sql: "DELETE FROM letter_words WHERE rowid <= ?", arguments: [last])
        try database.execute(sql: "DELETE FROM letters WHERE number <= ?", arguments: [last])
    }

    /// Letters count as their owner's until the network reports the persona of their postbox; it is then corrected.
    private static func correctPersona(of letter: KeptLetter, in database: Database) throws {
        guard let persona = letter.sudoId else { return }
        try database.cachedStatement(
            sql: "UPDATE letters SET sudo = ? WHERE direction = ? AND id = ? AND sudo IS NOT ?"
        ).execute(arguments: [persona, letter.direction.rawValue, letter.id, persona])
    }

    /// Stores a page. Letters in its part of the postbox that are not on it were deleted on the network, perhaps by
    /// another device.
    static func take(_ page: KeptLetterPage, in database: Database) throws {
        let ids = page.letters.map(\.id) + page.unreadable
        let places = ids.compactMap { PostboxMessageID($0).map { Int64(bitPattern: $0.sequence) } }
        let gone = """
            incarnation = ? AND sequence >= ? AND sequence < ? AND (? IS NULL OR postbox = ?)
            AND sequence NOT IN (\(databaseQuestionMarks(count: places.count)))
            """
        let arguments: StatementArguments =
            [
                Int64(bitPattern: page.incarnation), Int64(bitPattern: page.start), Int64(bitPattern: page.end),
                page.postbox, page.postbox,
            ] + StatementArguments(places)
        let numbers = try Int64.fetchAll(
            database, sql: "SELECT number FROM letters WHERE direction = 0 AND \(gone)", arguments: arguments)
        try delete(numbers, in: database)
        try database.execute(sql: "DELETE FROM read_letters WHERE \(gone)", arguments: arguments)
        for letter in page.letters.sorted(by: { $0.time < $1.time }) { try keep(letter, in: database) }
        try StoreFacts.keep("\(page.moment.milliseconds)", as: StoreFacts.lettersMoment, in: database)
    }

    /// Deletes a letter that the network no longer has.
    static func delete(_ id: String, _ direction: KeptLetter.Direction, in database: Database) throws {
        if direction == .received, let place = PostboxMessageID(id) {
            try database.execute(
                sql: "DELETE FROM read_letters WHERE incarnation = ? AND sequence = ?", arguments: place.arguments)
        }
        let numbers = try Int64.fetchAll(
            database, sql: "SELECT number FROM letters WHERE direction = ? AND id = ?",
            arguments: [direction.rawValue, id])
        try delete(numbers, in: database)
    }

    /// Deletes letters and their index entries by their row numbers.
    static func delete(_ numbers: [Int64], in database: Database) throws {
        for number in numbers {
            try database.execute(sql: "DELETE FROM letter_words WHERE rowid = ?", arguments: [number])
            try database.execute(sql: "DELETE FROM letters WHERE number = ?", arguments: [number])
            // Deleting all letters would loop forever.
            if database.changesCount == 0 { throw DatabaseError.damage("a letter stays") }
        }
    }

    /// Records that a letter was read; one without a place in a stream is not from the network.
    static func noteRead(_ id: String, of postbox: String, in database: Database) throws {
        guard let place = PostboxMessageID(id) else { return }
        try database.execute(
            sql: "INSERT OR IGNORE INTO read_letters (postbox, incarnation, sequence) VALUES (?, ?, ?)",
            arguments: [postbox] + place.arguments)
        guard database.changesCount > 0 else { return }
        try database.execute(
            sql: "DELETE FROM read_letters WHERE number <= ?",
            arguments: [database.lastInsertedRowID &- Int64(StoreBounds.letters)])
    }

    /// Indexes all letters, if none is indexed.
    static func addWords(in database: Database) throws {
        let sql = "SELECT number, coalesce(subject || char(10), '') || text, person FROM letters"
        for row in try Row.fetchAll(database, sql: sql) {
            try addWords(try row[at: 0], try row[at: 1], try row[at: 2], in: database)
        }
    }

    private static func addWords(_ number: Int64, _ text: String, _ person: String?, in database: Database) throws {
        try database.execute(
            sql: "INSERT INTO letter_words (rowid, text, sender) VALUES (?, ?, ?)",
            arguments: [number, SearchText.split(text), SearchText.split(person ?? "")])
    }

    // MARK: Reading

    /// Letters by the rest of a statement, from `FROM` on.
    static func fetch(_ database: Database, _ rest: String, _ arguments: StatementArguments) throws -> [KeptLetter] {
        let columns = ["direction", "id", "person", "postbox", "time", "text", "sudo", "subject"]
            .map { "letters." + $0 }
        let sql = "SELECT \(columns.joined(separator: ", ")) \(rest)"
        return try Row.fetchAll(database, sql: sql, arguments: arguments).map { row in
            KeptLetter(
                direction: KeptLetter.Direction(rawValue: try row[at: 0]) ?? .received, id: try row[at: 1],
                person: try row[at: 2], postbox: try row[at: 3], time: Timestamp(milliseconds: try row[at: 4]),
                text: try row[at: 5], sudoId: try row[at: 6], subject: try row[at: 7])
        }
    }

    /// The incarnation of the postbox whose letters are stored; nil without any. A recreated one shares nothing with
    /// the previous ones.
    static func incarnation(_ database: Database) throws -> Int64? {
        let sql = "SELECT max(incarnation) FROM letters WHERE direction = 0 AND incarnation > 0"
        return try Int64.fetchOne(database, sql: sql)
    }

    /// How many rows of a table belong to each postbox.
    static func counts(_ part: String, _ incarnation: Int64, in database: Database) throws -> [String: Int] {
        var counts: [String: Int] = [:]
        let rows = try Row.fetchAll(
            database, sql: "SELECT postbox, count(*) FROM \(part) GROUP BY postbox", arguments: [incarnation])
        for row in rows { counts[try row[at: 0]] = try row[at: 1] as Int }
        return counts
    }
}

extension PostboxMessageID {
    var arguments: StatementArguments { [Int64(bitPattern: incarnation), Int64(bitPattern: sequence)] }
}

/// Single values by name, within the caller's transaction.
enum StoreFacts {
    /// The person's place on the screen, and when letters were last listed.
    static let (place, lettersMoment) = ("place", "letters")
    /// The postboxes as the network's host reported them, and when.
    private static let (postboxes, postboxesMoment) = ("postboxes", "postboxes-moment")

    static func value(of name: String, in database: Database) throws -> String? {
        try String.fetchOne(database, sql: "SELECT value FROM facts WHERE name = ?", arguments: [name])
    }

    static func moment(_ name: String, in database: Database) throws -> Timestamp? {
        try value(of: name, in: database).flatMap { Int64($0) }.map { Timestamp(milliseconds: $0) }
    }

    static func keep(_ value: String, as name: String, in database: Database) throws {
        try database.execute(sql: "INSERT OR REPLACE INTO facts (name, value) VALUES (?, ?)", arguments: [name, value])
    }

    static func keep(_ kept: KeptPostboxes, in database: Database) throws {
        let reply = PostboxReply(postboxes: kept.items.prefix(StoreBounds.postboxes).map { $0.entry })
        guard let value = try? JSONEncoder().encode(reply) else { return }
        try keep(String(decoding: value, as: UTF8.self), as: postboxes, in: database)
        try keep("\(kept.asOf.milliseconds)", as: postboxesMoment, in: database)
    }

    /// The postboxes; nil if none were reported, or they cannot be decoded.
    static func postboxes(_ database: Database) throws -> KeptPostboxes? {
        guard let value = try value(of: postboxes, in: database),
            let moment = try moment(postboxesMoment, in: database),
            let reply = try? JSONDecoder().decode(PostboxReply.self, from: Data(value.utf8)),
            let items = try? PostboxServiceClient.postboxes(in: reply, about: postboxes)
        else { return nil }
        return KeptPostboxes(items: items, asOf: moment)
    }

    /// Forgets what is known of letters and postboxes.
    static func forgetLetters(in database: Database) throws {
        try database.execute(
            sql: "DELETE FROM facts WHERE name IN (?, ?, ?)", arguments: [lettersMoment, postboxes, postboxesMoment])
    }
}

extension Postbox {
    fileprivate var entry: PostboxReply.Entry {
        PostboxReply.Entry(
            id: id, name: name, title: hasTitle ? title : nil, sudoId: sudoId, isEnabled: isEnabled,
            createdAt: createdAt.milliseconds)
    }
}
