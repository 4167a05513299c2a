import GRDB
import GRDBSQLite
import NIOConcurrencyHelpers

/// What could be read of a damaged store, and is in the new one: what a person typed and chose, and letters. Messages
/// come from the network again.
public struct StoreRescue: Hashable, Sendable {
    /// The damaged file, which was put aside whole.
    public var path: String
    /// How many rows were read of it.
    public var entries: Int

    /// Describes a rescue.
    public init(path: String, entries: Int) {
        self.path = path
        self.entries = entries
    }
}

extension StoreRescue {
    /// Carries over what can be read, the dearest first, and nothing where nothing can. The damaged file itself is not
    /// changed.
    ///
    /// - Parameters:
    ///   - path: the damaged file.
    ///   - database: the new store, which is empty.
    ///   - time: how long the damaged file is read.
    /// - Returns: how many rows it was.
    static func carry(
        from path: String, to database: any DatabaseWriter, within time: Duration = StoreTimeLimit.usual
    ) -> Int {
        let limit = StoreTimeLimit(time)
        var configuration = Configuration()
        configuration.readonly = true
        configuration.prepareDatabase { database in
            // A file that was cut off is refused as a whole otherwise.
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
            // Of the messages none is here. What was not read comes again, and counts as new; all else is the network's
            // to show.
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

/// Reads a small table of a damaged file around the pages that cannot be read.
private struct DamagedTable {
    /// Under which name each row has its number.
    private static let key = "damaged_row"
    /// So many rows at most.
    private static let most = 50_000
    /// No row of a table that is whole has a higher number.
    private static let highest: Int64 = 1 << 48

    let name: String
    let limit: StoreTimeLimit
    /// From both ends some come twice, and a page in another one's place has other rows under the same numbers.
    private var rows: Set<Row> = []

    init(name: String, limit: StoreTimeLimit) { (self.name, self.limit) = (name, limit) }

    /// Reads from the beginning, and where that was not all from the end, and then number by number: what is in its
    /// place is found so, whatever stands in another's.
    mutating func read(from database: Database) {
        if read(from: database, isDescending: false) { return }
        _ = read(from: database, isDescending: true)
        let sql = "SELECT rowid AS \(Self.key), * FROM \(name) WHERE rowid = ?"
        let last = rows.map { Self.number(of: $0) }.max() ?? 0
        for number in 0...min(last, 1 << 17) where !limit.isOver {
            guard let statement = try? database.cachedStatement(sql: sql),
                let row = try? Row.fetchOne(statement, arguments: [number]), Self.number(of: row) == number
            else { continue }
            rows.insert(row)
        }
    }

    /// Reads rows in the order of their numbers. Behind a page that cannot be read it goes on with the next number, and
    /// after 256 of them, which is more than a page has rows, in steps that double.
    ///
    /// - Returns: whether that was all.
    private mutating func read(from database: Database, isDescending: Bool) -> Bool {
        let sql = """
            SELECT rowid AS \(Self.key), * FROM \(name) WHERE rowid \(isDescending ? "<=" : ">=") ?
            ORDER BY rowid \(isDescending ? "DESC" : "ASC")
            """
        let sign: Int64 = isDescending ? -1 : 1
        var next: Int64 = isDescending ? Self.highest : 0
        var (failures, isWhole) = (0, true)
        while failures < 256 + 48, !limit.isOver {
            do {
                let cursor = try Row.fetchCursor(database, sql: sql, arguments: [next])
                while rows.count < Self.most, let row = try cursor.next() {
                    // A damaged table may have its rows in any order, and reading would go round in it.
                    guard let number = Int64.fromDatabaseValue(row[0]), (0...Self.highest).contains(number),
                        (number - next) * sign >= 0
                    else {
                        throw DatabaseError.damage("\(name) is out of order")
                    }
                    rows.insert(row.copy())
                    next = number &+ sign
                    failures = 0
                }
                return isWhole
            } catch {
                isWhole = false
                next &+= sign << max(0, failures - 256)
                failures += 1
            }
        }
        return false
    }

    /// Puts the rows into the new store's table, each that fits, in their order and under new numbers.
    ///
    /// - Returns: how many that was.
    func insert(into database: Database) throws -> Int {
        let known = try Set(database.columns(in: name).map(\.name)).subtracting(["number"])
        var count = 0
        for row in rows.sorted(by: { Self.number(of: $0) < Self.number(of: $1) }) {
            let columns = row.columnNames.filter { known.contains($0) }
            let values = columns.map { row[$0] as DatabaseValue }
            let sql = """
                INSERT OR IGNORE INTO \(name) (\(columns.joined(separator: ", ")))
                VALUES (\(columns.map { _ in "?" }.joined(separator: ", ")))
                """
            // One that does not fit stays in the damaged file.
            try? database.cachedStatement(sql: sql).execute(arguments: StatementArguments(values))
            count += database.changesCount
        }
        return count
    }

    private static func number(of row: Row) -> Int64 { Int64.fromDatabaseValue(row[0]) ?? 0 }
}

/// Ends the statements of a database that take too long.
final class StoreTimeLimit: Sendable {
    /// How long a store may take to be opened, and a damaged one to be read. The time of a sleeping machine does not
    /// count.
    static let usual = Duration.seconds(20)

    /// Nil once there is no limit any more.
    private let deadline: NIOLockedValueBox<SuspendingClock.Instant?>

    init(_ duration: Duration = StoreTimeLimit.usual) { deadline = NIOLockedValueBox(.now + duration) }

    /// Whether the time is over.
    var isOver: Bool { deadline.withLockedValue { $0 }.map { $0 <= .now } ?? false }

    /// Lets statements take as long as they need from now on.
    func lift() { deadline.withLockedValue { $0 = nil } }

    /// Holds a connection to the limit. It must not outlast this.
    func watch(_ database: Database) {
        let ask: @convention(c) (UnsafeMutableRawPointer?) -> Int32 = { limit in
            guard let limit else { return 0 }
            return Unmanaged<StoreTimeLimit>.fromOpaque(limit).takeUnretainedValue().isOver ? 1 : 0
        }
        sqlite3_progress_handler(database.sqliteConnection, 1_000, ask, Unmanaged.passUnretained(self).toOpaque())
    }
}
