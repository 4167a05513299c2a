import GRDB

/// Looks for beginnings of words that many messages have, from the newest message on.
///
/// SQLite tells the messages that have a whole word one by one, from either end. Those that have any word which begins
/// with some letters it brings together first, all of them: among a million messages of which every second one has such
/// a word that takes 40 to 130 ms, and it is done for each such term, whatever else rules messages out. A term as
/// frequent as that is left out of the question, and put to what the others find, in memory: a hundred hits are among
/// the newest few hundred messages.
struct WordsWalk {
    /// So many of the newest messages tell how frequent a term is.
    static let sample = 256
    /// A term is frequent that one message in so many has.
    static let frequency = 10
    /// So many messages are looked at in memory: some thirty milliseconds.
    private static let most = 4_000
    /// So many are looked at before it is seen whether these are enough.
    private static let largestPart = 1_024

    private let database: Database

    init(_ database: Database) { self.database = database }

    /// The newest messages, as the words have them.
    ///
    /// - Parameters:
    ///   - expression: what they have; nil for any.
    ///   - ranges: where they are, the newest range first.
    ///   - limit: most of them.
    func entries(
        matching expression: String?, in ranges: [ClosedRange<Int64>], limit: Int
    ) throws -> [SearchIndexing.Entry] {
        let sql = """
            SELECT rowid, topic, sender, text FROM words
            WHERE \(expression == nil ? "" : "words MATCH ? AND") rowid BETWEEN ? AND ? ORDER BY rowid DESC LIMIT ?
            """
        var entries: [SearchIndexing.Entry] = []
        for range in ranges where entries.count < limit {
            var arguments: StatementArguments = [range.lowerBound, range.upperBound, limit - entries.count]
            if let expression { arguments = [expression] + arguments }
            let rows = try Row.fetchCursor(database, sql: sql, arguments: arguments)
            while let row = try rows.next() {
                let number: Int64 = try row[at: 0]
                let topic: String? = try row[at: 1]
                let sender: String? = try row[at: 2]
                let text: String? = try row[at: 3]
                entries.append(
                    SearchIndexing.Entry(
                        row: number, topic: topic.flatMap { SearchQuery.topic(ofToken: $0) } ?? 0, text: text ?? "",
                        sender: sender ?? ""))
            }
        }
        return entries
    }

    /// Asks the newest messages one part after the other.
    ///
    /// - Parameters:
    ///   - expression: the whole question.
    ///   - others: the part of it that the store's words are asked; nil for none.
    ///   - ranges: where the messages are, the newest range first.
    ///   - limit: so many are enough.
    /// - Returns: what was found, the newest first, and where nothing was looked at.
    func rows(
        matching expression: String, among others: String?, in ranges: [ClosedRange<Int64>], limit: Int
    ) throws -> (rows: [Int64], rest: [ClosedRange<Int64>]) {
        let words = try TemporaryWords()
        var found: [Int64] = []
        var rest = ranges
        var looked = 0
        var part = Self.sample
        while found.count < limit, looked < Self.most {
            let entries = try entries(matching: others, in: rest, limit: part)
            found += try words.rows(of: entries, matching: expression)
            guard entries.count == part, let last = entries.last?.row else { return (found, []) }
            rest = rest.compactMap { range in
                range.lowerBound < last ? range.lowerBound...min(range.upperBound, last - 1) : nil
            }
            looked += part
            part = min(part * 2, Self.largestPart)
        }
        return (found, rest)
    }
}

/// Words in memory, to be asked as those of the store are.
struct TemporaryWords {
    private let memory: DatabaseQueue

    init() throws {
        memory = try DatabaseQueue()
        try memory.write { try $0.execute(sql: StoreSchema.words) }
    }

    /// Adds messages that are not there yet.
    ///
    /// - Returns: which of them are meant, the newest first.
    func rows(of entries: [SearchIndexing.Entry], matching expression: String) throws -> [Int64] {
        // SQLite begins a new part of its index with each message that comes before the last one: ten times the time.
        let entries = entries.sorted { $0.row < $1.row }
        guard let low = entries.first?.row, let high = entries.last?.row else { return [] }
        try memory.write { try SearchIndexing.add(entries, to: $0) }
        return try rows(matching: expression, in: low...high)
    }

    /// Which messages are meant, the newest first.
    func rows(matching expression: String, in range: ClosedRange<Int64> = RowNumber.all) throws -> [Int64] {
        try memory.read { database in
            try Int64.fetchAll(
                database,
                sql: "SELECT rowid FROM words WHERE words MATCH ? AND rowid BETWEEN ? AND ? ORDER BY rowid DESC",
                arguments: [expression, range.lowerBound, range.upperBound])
        }
    }
}
