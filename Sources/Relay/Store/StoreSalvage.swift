import GRDB

/// Reads what can be read of a damaged store into a new one.
///
/// Rows are read in small parts from the table's end, and from its beginning where that was not all. Where a part
/// cannot be read, a smaller one is tried, and then reading goes on further ahead, in steps that are small at first and
/// double later until something is found: of a file that lost its last third two thirds of the messages come back, and
/// of one with a hole all around it. What a person typed comes first. The damaged file itself is not changed.
enum StoreSalvage {
    /// So many messages are carried over at most, the newest where those can be read.
    static let maximumMessages = 200_000
    /// So many rows of each other table.
    static let maximumRows = 50_000

    /// Carries over what can be read, and nothing where nothing can.
    ///
    /// - Parameters:
    ///   - path: the damaged file.
    ///   - database: the new store, which is empty.
    ///   - time: how long the damaged file is read.
    /// - Returns: how much it was.
    static func carry(
        from path: String, to database: any DatabaseWriter, within time: Duration = StoreTimeLimit.usual
    ) -> StoreRescue {
        let limit = StoreTimeLimit(time)
        var rescue = StoreRescue(path: path, messages: 0, others: 0)
        var configuration = Configuration()
        configuration.readonly = true
        configuration.prepareDatabase { database in
            // A file that was cut off is refused as a whole otherwise.
            try database.execute(sql: "PRAGMA writable_schema = ON")
            limit.watch(database)
        }
        guard let damaged = try? DatabaseQueue(path: path, configuration: configuration) else { return rescue }
        var isDoubtful = false
        for table in StoreSchema.rescued {
            var reader = TableReader(damaged, table, key: "rowid", limit: maximumRows, within: limit)
            let count = insert(reader.rows(), into: table, database)
            switch table {
            // Nobody knows where the holes were that they told of.
            case "gaps", "spans": isDoubtful = isDoubtful || reader.hasHoles
            default: rescue.others += count
            }
        }
        // Without the names of a message's stream and topic nobody could find it.
        var streams = TableReader(damaged, "streams", key: "number", limit: maximumRows, within: limit)
        let known = streams.rows()
        var topics = TableReader(damaged, "topics", key: "number", limit: maximumRows, within: limit)
        var coverage = StoreCoverage()
        if insert(known, into: "streams", database) > 0, insert(topics.rows(), into: "topics", database) > 0 {
            // The newest streams first.
            for stream in known {
                guard let number = TableReader.key(of: stream), let rows = RowNumber.rows(ofStream: number) else {
                    continue
                }
                let most = maximumMessages - rescue.messages
                guard most > 0 else { break }
                var reader = TableReader(
                    damaged, "messages", key: "row", from: rows.lowerBound - 1, to: rows.upperBound, limit: most,
                    within: limit)
                rescue.messages += insert(reader.rows(), into: "messages", database)
                coverage.streams[number] = reader.coverage
            }
        }
        var staged = TableReader(damaged, "staged", key: "number", limit: maximumRows, within: limit)
        let burst = BurstFile(path: path + BurstFile.ending)
        // The oldest first.
        let values = staged.rows().reversed().map { try? Staging.messages(of: $0, in: burst) }
        let isStagingWhole = !staged.hasHoles && !values.contains { $0 == nil }
        let arrived = values.compactMap(\.self).flatMap(\.self)
        rescue.messages += insert(arrived, database)
        try? database.read { try coverage.add(arrived, isWhole: isStagingWhole, $0) }
        // Without a topic's name its messages are not there.
        coverage.isDoubtful = isDoubtful || topics.hasHoles || streams.hasHoles || !isStagingWhole
        try? database.write { [coverage] in
            try settle($0)
            try coverage.turnBack($0)
        }
        try? damaged.close()
        return rescue
    }

    /// Makes rows of the messages of a burst.
    ///
    /// - Returns: how many there are.
    private static func insert(_ messages: [KeptMessage], _ database: any DatabaseWriter) -> Int {
        let count = "SELECT count(*) FROM messages"
        let inserted = try? database.write { database -> Int in
            let before = try Int.fetchOne(database, sql: count) ?? 0
            var writing = MessageWriting(to: database)
            try writing.write(messages)
            return (try Int.fetchOne(database, sql: count) ?? 0) - before
        }
        return inserted ?? 0
    }

    /// Puts rows into the table of the same name, each that fits.
    private static func insert(_ rows: [Row], into table: String, _ database: any DatabaseWriter) -> Int {
        let count = "SELECT count(*) FROM \(table)"
        let inserted = try? database.write { database -> Int in
            let before = try Int.fetchOne(database, sql: count) ?? 0
            let misfit = try StoreSchema.misfit(table, in: database)
            let hasRivals = Set(rows.map { TableReader.key(of: $0) }).count < rows.count
            for _ in 0..<(hasRivals ? 2 : 1) {
                // The oldest first, so that new numbers follow their order.
                for row in rows.reversed() { insert(row, into: table, database) }
                // The new store takes what its tables have no word against.
                try database.execute(sql: "DELETE FROM \(table) WHERE \(misfit)")
            }
            return (try Int.fetchOne(database, sql: count) ?? 0) - before
        }
        return inserted ?? 0
    }

    private static func insert(_ row: Row, into table: String, _ database: Database) {
        let columns = Array(row.columnNames).filter { $0 != TableReader.keyName }
        let values = columns.map { column -> DatabaseValue in row[column] }
        let places = columns.map { _ in "?" }.joined(separator: ", ")
        let sql = "INSERT OR IGNORE INTO \(table) (\(columns.joined(separator: ", "))) VALUES (\(places))"
        try? database.cachedStatement(sql: sql).execute(arguments: StatementArguments(values))
    }

    /// Brings what follows from the rows up to date: the topics' figures, and what the search is to read.
    private static func settle(_ database: Database) throws {
        let sql = """
            DELETE FROM gaps WHERE lost = 0;
            DELETE FROM messages WHERE topic NOT IN (SELECT number FROM topics);
            UPDATE topics SET
                messages = (SELECT count(*) FROM messages WHERE topic = topics.number),
                bytes = (SELECT coalesce(sum(length(payload)), 0) FROM messages WHERE topic = topics.number);
            INSERT INTO unsearched (first, last) SELECT min(row), max(row) FROM messages HAVING count(*) > 0;
            """
        try database.execute(sql: sql)
        // An earlier version did not note it.
        try LetterRows.place(in: database)
        let letters = try Row.fetchAll(
            database,
            sql: "SELECT number, coalesce(subject || char(10), '') || text, coalesce(person, '') FROM letters")
        for letter in letters {
            let number: Int64 = try letter[at: 0]
            let text: String = try letter[at: 1]
            let person: String = try letter[at: 2]
            try database.execute(
                sql: "INSERT INTO letter_words (rowid, text, sender) VALUES (?, ?, ?)",
                arguments: [number, SearchText.split(text), SearchText.split(person)])
        }
    }
}

/// Reads a table of a damaged file around what cannot be read.
private struct TableReader {
    /// The name under which each row has its key.
    static let keyName = "rescued_key"
    /// So many steps ahead are of one row each: damaged pages seldom have more, and what follows them is not leapt
    /// over.
    private static let smallSteps = 256
    /// Steps ahead without finding anything before one gives up; the last is as long as a table can be.
    private static let maximumSteps = smallSteps + 49
    private static let largestPart = 200

    private let database: DatabaseQueue
    private let table: String
    private let key: String
    private let bounds: (low: Int64, high: Int64)
    private let limit: Int
    private let time: StoreTimeLimit
    private var found: [Row] = []
    private var seen: Set<Row> = []
    /// Rows between which nothing is missing, in the order in which they were read.
    private var stretches: [ClosedRange<Int64>] = []
    private var isEndWhole = true
    /// Whether something could not be read. A table that an earlier version did not have has no holes.
    private(set) var hasHoles = false

    /// - Parameters:
    ///   - low: all keys are above this.
    ///   - high: all keys are below this.
    init(
        _ database: DatabaseQueue, _ table: String, key: String, from low: Int64 = -1, to high: Int64 = 1 << 47,
        limit: Int, within time: StoreTimeLimit
    ) {
        self.time = time
        self.database = database
        self.table = table
        self.key = key
        bounds = (low, high)
        self.limit = limit
    }

    /// The rows, as far as they can be read, those with the largest keys first.
    mutating func rows() -> [Row] {
        if !read(isDescending: true) { _ = read(isDescending: false) }
        return found.sorted { left, right in (Self.key(of: left) ?? 0) > (Self.key(of: right) ?? 0) }
    }

    /// The key of a row; nil where the damaged table has none.
    static func key(of row: Row) -> Int64? {
        (row[keyName] as DatabaseValue?).flatMap { Int64.fromDatabaseValue($0) }
    }

    /// What of the table's end is there.
    var coverage: StoreCoverage.Part {
        var newest = stretches.max { $0.upperBound < $1.upperBound }
        for other in stretches {
            guard let part = newest, part.overlaps(other) else { continue }
            newest = min(part.lowerBound, other.lowerBound)...max(part.upperBound, other.upperBound)
        }
        return StoreCoverage.Part(newest: newest, isEndWhole: isEndWhole, isStartWhole: !hasHoles)
    }

    /// Reads in one direction, and says whether that was all.
    private mutating func read(isDescending: Bool) -> Bool {
        var (low, high) = bounds
        var leap: Int64 = 1
        var steps = 0
        var size = Self.largestPart
        var isWhole = true
        var stretch: ClosedRange<Int64>?
        defer { if let stretch { stretches.append(stretch) } }
        while steps < Self.maximumSteps, low < high, found.count < limit {
            if time.isOver {
                (isWhole, hasHoles) = (false, true)
                if isDescending, stretches.isEmpty, stretch == nil { isEndWhole = false }
                break
            }
            guard let part = part(low, high, isDescending, size) else {
                isWhole = false
                guard size == 1 else {
                    size = max(1, size / 8)
                    continue
                }
                if let read = stretch {
                    stretches.append(read)
                    stretch = nil
                } else if isDescending, stretches.isEmpty {
                    isEndWhole = false
                }
                if isDescending { high -= leap } else { low += leap }
                steps += 1
                if steps > Self.smallSteps { leap *= 2 }
                continue
            }
            for row in part {
                guard let number = Self.key(of: row) else { continue }
                // Where a page stands in another one's place, two rows have the same key.
                if seen.insert(row).inserted { found.append(row) }
                if isDescending { high = number } else { low = number }
                stretch = stretch.map { min($0.lowerBound, number)...max($0.upperBound, number) } ?? number...number
            }
            guard part.count == size else { return isWhole }
            (leap, steps, size) = (1, 0, min(Self.largestPart, size * 8))
        }
        return isWhole
    }

    private mutating func part(_ low: Int64, _ high: Int64, _ isDescending: Bool, _ size: Int) -> [Row]? {
        let sql = """
            SELECT \(key) AS \(Self.keyName), * FROM \(table) WHERE \(key) >= ? AND \(key) <= ?
            ORDER BY \(key) \(isDescending ? "DESC" : "ASC") LIMIT ?
            """
        do {
            // A search for what is above or below a row would begin on that row's page, which may be the damaged one.
            let rows = try database.read { try Row.fetchAll($0, sql: sql, arguments: [low + 1, high - 1, size]) }
            // A damaged table may have its rows in any order, and reading would go round in it.
            var last = isDescending ? high : low
            for row in rows {
                guard let key = Self.key(of: row), isDescending ? low < key && key < last : last < key && key < high
                else {
                    throw DatabaseError.damage("\(table) is out of order")
                }
                last = key
            }
            return rows
        } catch {
            // That there is no such table is SQLite's plain error.
            if (error as? DatabaseError)?.resultCode != .SQLITE_ERROR { hasHoles = true }
            return nil
        }
    }
}
