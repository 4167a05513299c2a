import GRDB

/// A result of a search.
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

/// The results of a search.
public struct SearchResult: Hashable, Sendable {
    /// The hits, newest first.
    public var hits: [SearchHit]
    /// Whether these are all hits. Otherwise there are more than requested, or more than could be examined; an earlier
    /// ``SearchQuery/before`` finds the next.
    public var isComplete: Bool
}

extension LocalStore {
    /// Searches messages and letters.
    ///
    /// Messages are found as soon as they are stored. Among a million messages most searches take a few milliseconds;
    /// one whose hits only filters exclude may take long, and examines the newest ``searchedRows`` with the words.
    ///
    /// - Parameters:
    ///   - query: The query; an empty one finds nothing.
    ///   - limit: The most hits, 1 to 1,000.
    /// - Throws: ``RelayError/invalidArgument(_:)``, ``RelayError/storage(_:)``.
    public func search(_ query: SearchQuery, limit: Int = 100) async throws(RelayError) -> SearchResult {
        guard (1...1_000).contains(limit) else { throw .invalidArgument("The limit is from 1 to 1000") }
        guard !query.isEmpty else { return SearchResult(hits: [], isComplete: true) }
        return try await reading { database in
            var search = try StoreSearch(query, limit: limit, database)
            return try search.result()
        }
    }

    /// Whether the search index has all stored messages. A search also finds the newest of the others.
    package func hasAllWords() async throws(RelayError) -> Bool {
        try await reading { try SearchIndexing.isComplete(in: $0) }
    }

    /// The most messages that a search examines.
    public static let searchedRows = 100_000
}

/// One search, within the caller's transaction.
private struct StoreSearch {
    /// The most messages outside the index that are examined.
    private static let unsearchedRows = 2_000
    /// The most topics in a query to the index.
    private static let askedTopics = 64

    private let query: SearchQuery
    private let limit: Int
    private let database: Database
    private let reading: StoreReading
    /// The topics to search; nil for all.
    private let topics: [Int64]?
    private var isComplete = true

    init(_ query: SearchQuery, limit: Int, _ database: Database) throws {
        (self.query, self.limit, self.database) = (query, limit, database)
        reading = try StoreReading(database)
        topics = try reading.topics(of: query.topics)
    }

    /// The query to the index; nil without a word to search for.
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
        // None of the given topics is known.
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

    /// The newest indexed messages of some ranges.
    private mutating func messages(in ranges: [ClosedRange<Int64>], _ expression: String) throws -> [KeptMessage] {
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

    /// The ranges of messages within the query's times, newest first. Messages that a stream has lost are stored after
    /// all newer ones, so they have a list of their own.
    private func ranges() throws -> [[ClosedRange<Int64>]] {
        let lost = reading.lostStreams
        guard query.after != nil || query.before != nil || !lost.isEmpty else { return [[RowNumber.all]] }
        let end = query.before.map { Timestamp(milliseconds: $0.milliseconds &- 1) }
        let all = try reading.rows(from: query.after, through: end)
        return [false, true].map { isLost in
            all.reversed().filter { lost.contains(RowNumber.stream(of: $0.lowerBound)) == isLost }
        }
    }

    /// Reads the messages themselves if there is no word to search for.
    private func messagesOfTime(in ranges: [ClosedRange<Int64>]) throws -> [KeptMessage] {
        var found: [KeptMessage] = []
        for range in ranges where found.count <= limit {
            let wanted = limit + 1 - found.count
            let rows = try reading.rows(of: topics, in: range, newestFirst: true, limit: wanted)
            found += try reading.messages(rows).filter { fits($0) }
        }
        return found
    }

    /// Searches the messages outside the index by a temporary index of them in memory.
    private mutating func unsearched(_ expression: String) throws -> [Int64] {
        let parts = try Row.fetchAll(database, sql: "SELECT first, last FROM unsearched ORDER BY number DESC LIMIT 100")
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

    /// Searches the newest messages first if a term that is only a prefix is frequent.
    ///
    /// SQLite returns the messages with a complete word one by one, from either end. For a prefix it first collects all
    /// matches: among a million messages, half of which match, that takes 40 to 130 ms for each such term. A prefix
    /// that is frequent among the newest messages is left out of the query, and applied in memory to what the other
    /// terms find: a hundred hits are then among the newest few hundred messages.
    ///
    /// - Returns: The hits, newest first, and the ranges that are still to be searched.
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
        // This many take some thirty milliseconds in memory.
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

    /// The newest indexed messages that match an expression, or of all.
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

    /// Applies the filters that are not part of the index.
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
