import GRDB
import GRDBSQLite
import NIOConcurrencyHelpers

// A damaged file has values, orders and numbers that no version writes. Nothing that reads it may end the process, or
// go round for ever.

extension Row {
    /// A column's value. GRDB's own subscript ends the process where a damaged row has another kind of value there.
    subscript<Value: DatabaseValueConvertible & StatementColumnConvertible>(at index: Int) -> Value {
        get throws { try decode(Value.self, atIndex: index) }
    }
}

extension DatabaseError {
    /// The error for a file that contradicts itself in a way that SQLite does not see.
    static func damage(_ finding: String) -> DatabaseError {
        DatabaseError(resultCode: .SQLITE_CORRUPT, message: finding)
    }
}

extension StoreSchema {
    /// The tables that are read when a store is opened, or that what is typed goes to. All of them are small.
    static let readAtStart = [
        "outbox", "runs", "drafts", "joined", "cursors", "read_marks", "ignored", "muted", "choices", "facts",
        "streams", "topics", "unsearched",
    ]

    /// The condition that a row has a value of another kind than its column, or none where there must be one, as a
    /// database's own tables have it.
    static func misfit(_ table: String, in database: Database) throws -> String {
        let columns = try database.columns(in: table).compactMap { column -> String? in
            guard ["TEXT", "INTEGER", "BLOB"].contains(column.type) else { return nil }
            let kinds = "'\(column.type.lowercased())'" + (column.isNotNull ? "" : ", 'null'")
            return "typeof(\(column.name)) NOT IN (\(kinds))"
        }
        return columns.isEmpty ? "FALSE" : columns.joined(separator: " OR ")
    }

    /// Looks at every row of some tables.
    ///
    /// - Parameter model: a database whose tables are as they should be.
    /// - Throws: SQLite's error, or one of its kind where a row does not fit its table.
    static func check(_ tables: [String], in database: Database, like model: Database) throws {
        for table in tables {
            let sql = "SELECT EXISTS (SELECT 1 FROM \(table) WHERE \(try misfit(table, in: model)))"
            guard try Bool.fetchOne(database, sql: sql) == false else {
                throw DatabaseError.damage("a row of \(table) does not fit the table")
            }
        }
    }

    /// The tables whose numbers are given once.
    private static let numbered = [
        "read_letters", "ignored", "muted", "choices", "streams", "topics", "outbox", "lines", "letters", "gaps",
        "staged",
    ]

    /// Looks for a number that only damage can have brought. Where none is left behind one, SQLite says that the disk
    /// is full.
    static func checkNumbers(in database: Database) throws {
        let most = Int64(1) << 62
        let odd = try String.fetchOne(
            database, sql: "SELECT name FROM sqlite_sequence WHERE typeof(seq) != 'integer' OR seq > ?",
            arguments: [most])
        if let odd { throw DatabaseError.damage("the numbers of \(odd)") }
        for table in numbered {
            let last = try Int64.fetchOne(database, sql: "SELECT max(number) FROM \(table)") ?? 0
            if last > most { throw DatabaseError.damage("a number of \(table)") }
        }
    }
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
