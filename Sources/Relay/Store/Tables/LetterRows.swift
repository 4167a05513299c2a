import GRDB
import Platform

/// The letters of the local store, within a transaction of the caller's.
enum LetterRows {
    /// Under which name the store knows when letters were heard of last.
    private static let moment = "letters"

    // MARK: Writing

    /// Keeps a letter, if it is not there. Where there are as many as are kept, one that is older than what would give
    /// way for it is not kept: a list from the newest letter on comes to it last.
    static func keep(_ letter: KeptLetter, in database: Database) throws {
        let first = try Row.fetchOne(database, sql: "SELECT number, time FROM letters ORDER BY number LIMIT 1")
        if let first, let last = try Int64.fetchOne(database, sql: "SELECT max(number) FROM letters") {
            let (oldest, time): (Int64, Int64) = try (first[at: 0], first[at: 1])
            if last &- oldest &+ 1 >= Int64(StoreBounds.letters), letter.time.milliseconds < time { return }
        }
        let place = letter.direction == .received ? PostboxMessageID(letter.id) : nil
        let sql = """
            INSERT INTO letters (direction, id, person, postbox, time, text, sudo, incarnation, sequence, subject)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            ON CONFLICT (direction, id) DO NOTHING
            """
        let arguments: StatementArguments = [
            letter.direction.rawValue, letter.id, letter.person, letter.postbox, letter.time.milliseconds, letter.text,
            letter.sudoId, Int64(bitPattern: place?.incarnation ?? 0), Int64(bitPattern: place?.sequence ?? 0),
            letter.subject,
        ]
        try database.execute(sql: sql, arguments: arguments)
        guard database.changesCount > 0 else { return try correctPersona(of: letter, in: database) }
        let number = database.lastInsertedRowID
        try addWords(number, letter.searchedText, letter.person ?? "", in: database)
        let last = number &- Int64(StoreBounds.letters)
        guard last > 0 else { return }
        try database.execute(sql: "DELETE FROM letter_words WHERE rowid <= ?", arguments: [last])
        try database.execute(sql: "DELETE FROM letters WHERE number <= ?", arguments: [last])
    }

    /// While the network does not say to whom a postbox belongs, its letters count as the owner's; later it is known.
    private static func correctPersona(of letter: KeptLetter, in database: Database) throws {
        guard let persona = letter.sudoId else { return }
        try database.cachedStatement(
            sql: "UPDATE letters SET sudo = ? WHERE direction = ? AND id = ? AND sudo IS NOT ?"
        ).execute(arguments: [persona, letter.direction.rawValue, letter.id, persona])
    }

    /// Deletes letters by their numbers here, with the words to find them.
    static func delete(_ numbers: [Int64], in database: Database) throws {
        for number in numbers {
            try database.execute(sql: "DELETE FROM letter_words WHERE rowid = ?", arguments: [number])
            try database.execute(sql: "DELETE FROM letters WHERE number = ?", arguments: [number])
            // Who deletes them all would go on for ever.
            if database.changesCount == 0 { throw DatabaseError.damage("a letter stays") }
        }
    }

    /// Takes a page in: what it has is kept, and what lies in its part of the postbox without being on it was deleted
    /// on the network, perhaps by another device.
    static func take(_ page: KeptLetterPage, in database: Database) throws {
        let places = page.letters.compactMap { PostboxMessageID($0.id).map { Int64(bitPattern: $0.sequence) } }
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
        try StoreFacts.keep("\(page.moment.milliseconds)", as: moment, in: database)
    }

    /// Notes that a letter was read; what has no place in a stream is none of the network's.
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

    /// Forgets that a letter was read, which is there no more.
    static func forgetRead(_ id: String, in database: Database) throws {
        guard let place = PostboxMessageID(id) else { return }
        try database.execute(
            sql: "DELETE FROM read_letters WHERE incarnation = ? AND sequence = ?", arguments: place.arguments)
    }

    /// Writes the words of all letters, where there are none.
    static func addWords(in database: Database) throws {
        let rows = try Row.fetchAll(
            database,
            sql: "SELECT number, coalesce(subject || char(10), '') || text, coalesce(person, '') FROM letters")
        for row in rows {
            let (number, text, person): (Int64, String, String) = try (row[at: 0], row[at: 1], row[at: 2])
            try addWords(number, text, person, in: database)
        }
    }

    private static func addWords(
        _ number: Int64, _ text: String, _ person: String, in database: Database
    ) throws {
        try database.execute(
            sql: "INSERT INTO letter_words (rowid, text, sender) VALUES (?, ?, ?)",
            arguments: [number, SearchText.split(text), SearchText.split(person)])
    }

    // MARK: Reading

    /// When letters were listed last; nil where they never were.
    static func asOf(_ database: Database) throws -> Timestamp? {
        try StoreFacts.value(of: moment, in: database).flatMap { Int64($0) }.map { Timestamp(milliseconds: $0) }
    }

    /// Forgets when letters were listed last.
    static func forgetMoment(_ database: Database) throws { try StoreFacts.keep(nil, as: moment, in: database) }

    /// When the postbox was made whose letters are kept; nil where there are none. One that was made anew has nothing
    /// of those before it.
    static func incarnation(_ database: Database) throws -> UInt64? {
        let sql = "SELECT max(incarnation) FROM letters WHERE direction = 0 AND incarnation > 0"
        return try Int64.fetchOne(database, sql: sql).map { UInt64(bitPattern: $0) }
    }

    /// Which of these letters were read, and how many of each postbox.
    static func read(among ids: [String], in database: Database) throws -> ReadLetters {
        var read = ReadLetters()
        let statement = try database.cachedStatement(
            sql: "SELECT 1 FROM read_letters WHERE incarnation = ? AND sequence = ?")
        for id in ids {
            guard let place = PostboxMessageID(id) else { continue }
            let isRead = try Int.fetchOne(statement, arguments: place.arguments)
            if isRead != nil { read.ids.insert(id) }
        }
        let newest = try Int64.fetchOne(
            database,
            sql: """
                SELECT max(incarnation) FROM (
                    SELECT incarnation FROM read_letters
                    UNION ALL SELECT max(incarnation) FROM letters WHERE direction = 0)
                """)
        guard let newest else { return read }
        read.counts = try counts("read_letters WHERE incarnation = ?", newest, in: database)
        read.kept = try counts("letters WHERE direction = 0 AND incarnation = ?", newest, in: database)
        return read
    }

    static func counts(_ part: String, _ incarnation: Int64, in database: Database) throws -> [String: Int] {
        var counts: [String: Int] = [:]
        let rows = try Row.fetchAll(
            database, sql: "SELECT postbox, count(*) FROM \(part) GROUP BY postbox", arguments: [incarnation])
        for row in rows { counts[try row[at: 0]] = try row[at: 1] as Int }
        return counts
    }

    /// The first letters of a postbox from a place on, in a list's order; nil for the list's beginning.
    static func received(
        incarnation: UInt64, from sequence: UInt64?, _ order: LetterOrder, postbox: String?, limit: Int,
        in database: Database
    ) throws -> [(letter: KeptLetter, sequence: UInt64)] {
        let isAscending = order == .oldestFirst
        let rest = """
            FROM letters WHERE direction = 0 AND incarnation = ? AND sequence \(isAscending ? ">=" : "<=") ?
            AND (? IS NULL OR postbox = ?) ORDER BY sequence \(isAscending ? "ASC" : "DESC") LIMIT ?
            """
        let begin = sequence.map { Int64(clamping: $0) } ?? (isAscending ? 0 : .max)
        let letters = try KeptLetter.fetch(
            database, rest, [Int64(bitPattern: incarnation), begin, postbox, postbox, limit])
        return letters.compactMap { letter in
            PostboxMessageID(letter.id).map { (letter: letter, sequence: $0.sequence) }
        }
    }
}

extension PostboxMessageID {
    /// Its columns' values.
    fileprivate var arguments: StatementArguments { [Int64(bitPattern: incarnation), Int64(bitPattern: sequence)] }
}

/// Single values under names, within a transaction of the caller's.
enum StoreFacts {
    static func value(of name: String, in database: Database) throws -> String? {
        try String.fetchOne(database, sql: "SELECT value FROM facts WHERE name = ?", arguments: [name])
    }

    /// Keeps a value in place of an earlier one; nil forgets it.
    static func keep(_ value: String?, as name: String, in database: Database) throws {
        let sql =
            value == nil
            ? "DELETE FROM facts WHERE name = ?" : "INSERT OR REPLACE INTO facts (name, value) VALUES (?, ?)"
        try database.execute(sql: sql, arguments: value.map { [name, $0] } ?? [name])
    }
}

/// The postboxes of the local store, within a transaction of the caller's: as the network's host has told them, and
/// when.
enum PostboxRows {
    /// Under which names the store knows them.
    private static let (list, moment) = ("postboxes", "postboxes-moment")

    /// Keeps them in place of those that were kept before.
    static func keep(_ postboxes: KeptPostboxes, in database: Database) throws {
        let reply = PostboxReply(postboxes: postboxes.items.prefix(StoreBounds.postboxes).map { $0.entry })
        guard let value = try? JSONEncoder().encode(reply) else { return }
        try StoreFacts.keep(String(decoding: value, as: UTF8.self), as: list, in: database)
        try StoreFacts.keep("\(postboxes.asOf.milliseconds)", as: moment, in: database)
    }

    /// Those that are kept; nil where none were told, or what is there cannot be read.
    static func kept(_ database: Database) throws -> KeptPostboxes? {
        guard let value = try StoreFacts.value(of: list, in: database),
            let moment = try StoreFacts.value(of: moment, in: database).flatMap({ Int64($0) }),
            let reply = try? JSONDecoder().decode(PostboxReply.self, from: Data(value.utf8)),
            let items = try? PostboxServiceClient.postboxes(in: reply, about: list)
        else { return nil }
        return KeptPostboxes(items: items, asOf: Timestamp(milliseconds: moment))
    }

    /// Forgets them.
    static func forget(_ database: Database) throws {
        for name in [list, moment] { try StoreFacts.keep(nil, as: name, in: database) }
    }
}

extension LocalStore {
    /// The postboxes as the network told them last; nil where it never did.
    ///
    /// - Throws: ``RelayError/storage(_:)``.
    package func postboxes() async throws(RelayError) -> KeptPostboxes? {
        try await reading { try PostboxRows.kept($0) }
    }
}

extension Postbox {
    /// The postbox as the network describes it.
    fileprivate var entry: PostboxReply.Entry {
        PostboxReply.Entry(
            id: id, name: name, title: hasTitle ? title : nil, sudoId: sudoId, isEnabled: isEnabled,
            createdAt: createdAt.milliseconds)
    }
}
