import GRDB
import GRDBSQLite
import NIOConcurrencyHelpers

/// The data rescued from a damaged store into the new one: what a person typed and chose, and letters. Messages are
/// fetched from the network again.
public struct StoreRescue: Hashable, Sendable {
    /// The damaged file, which was put aside unchanged.
    public var path: String
    /// How many rows were rescued.
    public var entries: Int

    /// Creates a description.
    public init(path: String, entries: Int) {
        self.path = path
        self.entries = entries
    }
}

extension StoreRescue {
    /// Copies whatever can be read, the most valuable data first. The damaged file is not changed.
    ///
    /// - Parameters:
    ///   - path: The damaged file.
    ///   - database: The new, empty store.
    ///   - time: The time limit for reading the damaged file.
    /// - Returns: The number of rows copied.
    static func carry(
        from path: String, to database: any DatabaseWriter, within time: Duration = StoreTimeLimit.usual
    ) -> Int {
        let limit = StoreTimeLimit(time)
        var configuration = Configuration()
        configuration.readonly = true
        configuration.prepareDatabase { database in
            // Otherwise a truncated file is rejected entirely.
            try database.execute(sql: "PRAGMA writable_schema = ON")
            limit.watch(database)
        }
        guard let damaged = try? DatabaseQueue(path: path, configuration: configuration) else { return 0 }
        defer { try? damaged.close() }
        var entries = 0
        for table in StoreSchema.carried + ["letters", "read_letters"] {
            var table = DamagedTable(name: table, limit: limit)
            try? damaged.read { table.read(from: $0) }
            entries += (try? database.write { try table.insert(into: $0) }) ?? 0
        }
        try? database.write { database in
            try LetterRows.addWords(in: database)
            // There are no messages here. Unread ones are received again as new; the network has the others.
            try database.execute(
                sql: """
                    UPDATE cursors SET sequence = min(sequence, coalesce((
                        SELECT sequence FROM read_marks WHERE read_marks.name = cursors.name
                            AND read_marks.stream = cursors.stream AND read_marks.incarnation = cursors.incarnation),
                        sequence))
                    """)
        }
        return entries
    }
}

/// Reads a small table of a damaged file, skipping unreadable pages.
private struct DamagedTable {
    /// The most rows.
    private static let most = 50_000
    /// The most row numbers tried below the highest one: more than a table has rows.
    private static let span: Int64 = 1 << 16

    let name: String
    let limit: StoreTimeLimit
    /// A misplaced page repeats row numbers with different rows, so rows are compared.
    private var rows: Set<Row> = []

    init(name: String, limit: StoreTimeLimit) { (self.name, self.limit) = (name, limit) }

    /// Reads all rows, or, if that fails, one by one by their numbers, the newest first: this finds every row in its
    /// place, whatever the others contain.
    mutating func read(from database: Database) {
        guard !limit.isOver else { return }
        let sql = "SELECT rowid AS damaged_row, * FROM \(name)"
        do { return try readAll(from: database, sql + " ORDER BY rowid") } catch {}
        guard let one = try? database.makeStatement(sql: sql + " WHERE rowid = ?") else { return }
        // Either may be damaged, and be missing, too low or far too high.
        let highest = ["SELECT max(rowid) FROM \(name)", "SELECT seq FROM sqlite_sequence WHERE name = '\(name)'"]
            .compactMap { try? Int64.fetchOne(database, sql: $0) }.filter { (0...1 << 48).contains($0) }
        var next = Int64.max
        for end in (highest + [highest.isEmpty ? Self.span : 4_096]).sorted(by: >) {
            for number in stride(from: min(end, next - 1), through: max(0, end - Self.span), by: -1) {
                guard !limit.isOver, rows.count < Self.most else { return }
                next = number
                guard let row = try? Row.fetchOne(one, arguments: [number]), Self.number(of: row) == number else {
                    continue
                }
                rows.insert(row)
            }
        }
    }

    private mutating func readAll(from database: Database, _ sql: String) throws {
        let cursor = try Row.fetchCursor(database, sql: sql)
        var last = Int64.min
        while rows.count < Self.most, let row = try cursor.next() {
            // A damaged table may have its rows in any order, and reading it could loop.
            guard last < Self.number(of: row) else { throw DatabaseError.damage("\(name) is out of order") }
            last = Self.number(of: row)
            rows.insert(row.copy())
        }
    }

    /// Inserts the rows that fit into the new store's table, in order and with new numbers.
    ///
    /// - Returns: How many fitted.
    func insert(into database: Database) throws -> Int {
        let known = try Set(database.columns(in: name).map(\.name)).subtracting(["number"])
        var count = 0
        for row in rows.sorted(by: { Self.number(of: $0) < Self.number(of: $1) }) {
            let columns = row.columnNames.filter { known.contains($0) }
            let sql = """
                INSERT OR IGNORE INTO \(name) (\(columns.joined(separator: ", ")))
                VALUES (\(databaseQuestionMarks(count: columns.count)))
                """
            // A row that does not fit stays in the damaged file.
            try? database.cachedStatement(sql: sql)
                .execute(arguments: StatementArguments(columns.map { row[$0] as DatabaseValue }))
            count += database.changesCount
        }
        return count
    }

    private static func number(of row: Row) -> Int64 { Int64.fromDatabaseValue(row[0]) ?? .min }
}

/// Aborts statements of a database that take too long.
final class StoreTimeLimit: Sendable {
    /// The time limit for opening a store, and for reading a damaged one. Sleep of the machine does not count.
    static let usual = Duration.seconds(20)

    /// Nil once the limit was lifted.
    private let deadline: NIOLockedValueBox<SuspendingClock.Instant?>

    init(_ duration: Duration = StoreTimeLimit.usual) { deadline = NIOLockedValueBox(.now + duration) }

    var isOver: Bool { deadline.withLockedValue { $0 }.map { $0 <= .now } ?? false }

    func lift() { deadline.withLockedValue { $0 = nil } }

    /// Applies the limit to a connection, which must not outlive this object.
    func watch(_ database: Database) {
        let ask: @convention(c) (UnsafeMutableRawPointer?) -> Int32 = { limit in
            guard let limit else { return 0 }
            return Unmanaged<StoreTimeLimit>.fromOpaque(limit).takeUnretainedValue().isOver ? 1 : 0
        }
        sqlite3_progress_handler(database.sqliteConnection, 1_000, ask, Unmanaged.passUnretained(self).toOpaque())
    }
}
