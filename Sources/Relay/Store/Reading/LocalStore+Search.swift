import GRDB

/// Something that a search found.
public enum SearchHit: Hashable, Sendable {
    /// A message of a topic.
    case message(KeptMessage)
    /// A letter.
    case letter(KeptLetter)

    /// When the server stored it.
    public var time: Timestamp {
        switch self {
        case .message(let message): message.time
        case .letter(let letter): letter.time
        }
    }
}

/// What a search found.
public struct SearchResult: Hashable, Sendable {
    /// What was found, the newest first.
    public var hits: [SearchHit]
    /// Whether this is all. Otherwise there are more than were asked for, or more than could be looked at; an earlier
    /// ``SearchQuery/before`` finds the next.
    public var isComplete: Bool
}

extension LocalStore {
    /// Looks for messages and letters.
    ///
    /// Messages are found as soon as they are kept. Among a million messages most searches take a few milliseconds; one
    /// for what only filters rule out may take long, and looks at the newest ``searchedRows`` that have the words.
    ///
    /// - Parameters:
    ///   - query: what to look for; an empty one finds nothing.
    ///   - limit: most hits, 1 to 1,000.
    /// - Throws: ``RelayError/invalidArgument(_:)``, ``RelayError/storage(_:)``.
    public func search(_ query: SearchQuery, limit: Int = 100) async throws(RelayError) -> SearchResult {
        guard (1...1_000).contains(limit) else { throw .invalidArgument("The limit is from 1 to 1000") }
        guard !query.isEmpty else { return SearchResult(hits: [], isComplete: true) }
        return try await reading { database in
            var search = try StoreSearch(query, limit: limit, database)
            return try search.result()
        }
    }

    /// Whether the search's words have all messages that are written. A search finds the newest of the others too.
    package func hasAllWords() async throws(RelayError) -> Bool {
        try await reading { try SearchIndexing.isComplete(in: $0) }
    }

    /// A search looks at so many messages at most.
    public static let searchedRows = 100_000
}

/// One search, within a transaction of the caller's.
private struct StoreSearch {
    /// So many of the newest messages that the words lack are looked at.
    private static let unsearchedRows = 2_000
    /// So many topics can be part of the question to the words.
    private static let askedTopics = 64

    private let query: SearchQuery
    private let limit: Int
    private let database: Database
    private let reading: StoreReading
    /// The topics that are meant; nil for all.
    private let topics: [Int64]?
    private var isComplete = true

    init(_ query: SearchQuery, limit: Int, _ database: Database) throws {
        (self.query, self.limit, self.database) = (query, limit, database)
        reading = try StoreReading(database)
        topics = try reading.topics(of: query.topics)
    }

    /// The question to the words; nil when no word is looked for.
    private func expression(without leftOut: Set<SearchQuery.Term> = []) -> String? {
        let isAsked = (topics?.count ?? 0) <= Self.askedTopics
        return query.expression(topicNumbers: isAsked ? topics : nil, without: leftOut)
    }

    mutating func result() throws -> SearchResult {
        let messages = try messages()
        var hits = messages.map { SearchHit.message($0) }
        if query.topics.isEmpty {
            let letters = try letters()
            hits += letters.map { SearchHit.letter($0) }
        }
        hits.sort { $0.time > $1.time }
        if hits.count > limit {
            isComplete = false
            hits.removeLast(hits.count - limit)
        }
        return SearchResult(hits: hits, isComplete: isComplete)
    }

    // MARK: Messages

    private mutating func messages() throws -> [KeptMessage] {
        // Topics were named, and none of them is known.
        if let topics, topics.isEmpty { return [] }
        var found: [KeptMessage] = []
        guard let expression = expression() else {
            for part in try ranges() { found += try messagesOfTime(in: part) }
            return found
        }
        let unsearched = try unsearched(expression)
        found = try reading.messages(unsearched).filter { fits($0) }
        for part in try ranges() { found += try messages(in: part, expression) }
        return found
    }

    /// The newest messages of some ranges as the words have them.
    private mutating func messages(
        in ranges: [ClosedRange<Int64>], _ expression: String
    ) throws -> [KeptMessage] {
        var found: [KeptMessage] = []
        var (looked, known) = (0, 0)
        let (newest, older) = try newest(ranges, expression)
        for message in try reading.messages(newest) where fits(message) {
            found.append(message)
            known += 1
        }
        for range in older {
            let cursor = try Int64.fetchCursor(
                database,
                sql: "SELECT rowid FROM words WHERE words MATCH ? AND rowid BETWEEN ? AND ? ORDER BY rowid DESC",
                arguments: [expression, range.lowerBound, range.upperBound])
            while known <= limit, let row = try cursor.next() {
                looked += 1
                guard looked <= LocalStore.searchedRows else {
                    isComplete = false
                    return found
                }
                guard let message = try reading.message(row), fits(message) else { continue }
                found.append(message)
                known += 1
            }
        }
        return found
    }

    /// Where the messages of the time that is meant are, each list with the newest first. What a stream has lost is
    /// kept behind all that is newer, and has a list of its own.
    private func ranges() throws -> [[ClosedRange<Int64>]] {
        let lost = reading.lostStreams
        guard query.after != nil || query.before != nil || !lost.isEmpty else { return [[RowNumber.all]] }
        let end = query.before.map { Timestamp(milliseconds: $0.milliseconds &- 1) }
        let all = try reading.rows(from: query.after, through: end)
        return [false, true].map { isLost in
            all.reversed().filter { lost.contains(RowNumber.stream(of: $0.lowerBound)) == isLost }
        }
    }

    /// Without a word to look for the messages themselves are walked.
    private func messagesOfTime(in ranges: [ClosedRange<Int64>]) throws -> [KeptMessage] {
        var found: [KeptMessage] = []
        for range in ranges where found.count <= limit {
            let wanted = limit + 1 - found.count
            let rows = try reading.rows(of: topics, in: range, newestFirst: true, limit: wanted)
            found += try reading.messages(rows).filter { fits($0) }
        }
        return found
    }

    /// What the words lack is put into words of its own, in memory, and asked the same.
    private mutating func unsearched(_ expression: String) throws -> [Int64] {
        let parts = try Row.fetchAll(
            database, sql: "SELECT first, last FROM unsearched ORDER BY number DESC LIMIT 100")
        var entries: [SearchIndexing.Entry] = []
        var seen: Set<Int64> = []
        for part in parts where entries.count < Self.unsearchedRows {
            let missing = try SearchIndexing.missing(
                from: try part[at: 0], through: try part[at: 1], newestFirst: true,
                limit: Self.unsearchedRows - entries.count, in: database)
            // Parts may overlap.
            entries += missing.filter { seen.insert($0.row).inserted }
        }
        guard !entries.isEmpty else { return [] }
        if entries.count >= Self.unsearchedRows || parts.count >= 100 { isComplete = false }
        let words = try TemporaryWords()
        return try words.rows(of: entries, matching: expression)
    }

    /// Looks among the newest messages where a term is frequent that only begins a word.
    ///
    /// SQLite tells the messages that have a whole word one by one, from either end. Those that have any word which
    /// begins with some letters it brings together first, all of them: among a million messages of which every second
    /// one has such a word that takes 40 to 130 ms, for each such term. One that is as frequent as that among the
    /// newest messages is left out of the question, and put to what the others find, in memory: a hundred hits are
    /// among the newest few hundred messages.
    ///
    /// - Returns: what was found, the newest first, and what is still to be asked.
    private func newest(
        _ ranges: [ClosedRange<Int64>], _ expression: String
    ) throws -> (rows: [Int64], rest: [ClosedRange<Int64>]) {
        let beginnings = query.terms.filter { !$0.isWhole }
        guard !beginnings.isEmpty else { return ([], ranges) }
        let sample = try entries(matching: nil, in: ranges, limit: 256)
        let words = try TemporaryWords()
        let found = try words.rows(of: sample, matching: expression)
        guard sample.count == 256 else { return (found, []) }
        let frequent = try beginnings.filter {
            try words.rows(matching: SearchQuery.expression(of: $0)).count * 10 >= sample.count
        }
        guard !frequent.isEmpty else { return ([], ranges) }
        let others = self.expression(without: Set(frequent))
        let walked = try TemporaryWords()
        var (rows, rest) = ([Int64](), ranges)
        var (looked, part) = (0, 256)
        // To look at so many in memory takes some thirty milliseconds.
        while rows.count <= limit, looked < 4_000 {
            let entries = try entries(matching: others, in: rest, limit: part)
            rows += try walked.rows(of: entries, matching: expression)
            guard entries.count == part, let last = entries.last?.row else { return (rows, []) }
            rest = rest.compactMap { $0.lowerBound < last ? $0.lowerBound...min($0.upperBound, last - 1) : nil }
            looked += part
            part = min(part * 2, 1_024)
        }
        return (rows, rest)
    }

    /// The newest messages as the words have them, of those that have something, or of all.
    private func entries(
        matching expression: String?, in ranges: [ClosedRange<Int64>], limit: Int
    ) throws -> [SearchIndexing.Entry] {
        let sql = """
            SELECT rowid, topic, sender, text FROM words
            WHERE \(expression == nil ? "" : "words MATCH ? AND") rowid BETWEEN ? AND ? ORDER BY rowid DESC LIMIT ?
            """
        var entries: [SearchIndexing.Entry] = []
        for range in ranges where entries.count < limit {
            let bounds: StatementArguments = [range.lowerBound, range.upperBound, limit - entries.count]
            let rows = try Row.fetchCursor(
                database, sql: sql, arguments: (expression.map { [$0] } ?? StatementArguments()) + bounds)
            while let row = try rows.next() {
                let topic: String? = try row[at: 1]
                entries.append(
                    SearchIndexing.Entry(
                        row: try row[at: 0], topic: topic.flatMap { SearchQuery.topic(ofToken: $0) } ?? 0,
                        text: try row[at: 3] ?? "", sender: try row[at: 2] ?? ""))
            }
        }
        return entries
    }

    /// What the words do not know of.
    private func fits(_ message: KeptMessage) -> Bool {
        if let before = query.before, message.time >= before { return false }
        if let after = query.after, message.time < after { return false }
        return query.topics.isEmpty || query.topics.contains { $0.matches(message.topic) }
    }

    // MARK: Letters

    private func letters() throws -> [KeptLetter] {
        let after: Int64 = query.after?.milliseconds ?? .min
        let before: Int64 = query.before?.milliseconds ?? .max
        guard let expression = query.expression() else {
            return try LetterRows.fetch(
                database, "FROM letters WHERE time >= ? AND time < ? ORDER BY time DESC LIMIT ?",
                [after, before, limit + 1])
        }
        return try LetterRows.fetch(
            database,
            """
            FROM letter_words JOIN letters ON letters.number = letter_words.rowid
            WHERE letter_words MATCH ? AND time >= ? AND time < ? ORDER BY time DESC LIMIT ?
            """, [expression, after, before, limit + 1])
    }
}
