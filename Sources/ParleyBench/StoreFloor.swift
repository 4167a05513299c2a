import GRDBSQLite
import NATS
import Relay

/// The same payloads in a bare table of SQLite's: a key, the bytes, and nothing to find them by. What the disk and
/// SQLite allow when the store's own form costs nothing.
final class StoreFloor {
    private static let rowsAtOnce = 1_000
    private var database: OpaquePointer?
    private var statement: OpaquePointer?

    init(_ path: String) throws {
        try check(sqlite3_open(path, &database))
        // As the store has it.
        for sql in [
            "PRAGMA journal_mode = WAL", "PRAGMA synchronous = NORMAL", "PRAGMA cache_size = -8000",
            "CREATE TABLE bare (row INTEGER PRIMARY KEY, payload BLOB NOT NULL)",
        ] { try check(sqlite3_exec(database, sql, nil, nil, nil)) }
        try check(sqlite3_prepare_v2(database, "INSERT INTO bare VALUES (?, ?)", -1, &statement, nil))
    }

    deinit {
        sqlite3_finalize(statement)
        sqlite3_close(database)
    }

    /// Inserts the payloads, a thousand in each transaction.
    func insert(_ messages: [KeptMessage]) throws {
        for first in stride(from: 0, to: messages.count, by: Self.rowsAtOnce) {
            try check(sqlite3_exec(database, "BEGIN", nil, nil, nil))
            for message in messages[first..<min(first + Self.rowsAtOnce, messages.count)] {
                sqlite3_bind_int64(statement, 1, Int64(message.place.sequence))
                let code = message.payload.withUnsafeBytes { bytes in
                    sqlite3_bind_blob(statement, 2, bytes.baseAddress, Int32(bytes.count), nil)
                    return sqlite3_step(statement)
                }
                sqlite3_reset(statement)
                try check(code == SQLITE_DONE ? SQLITE_OK : code)
            }
            try check(sqlite3_exec(database, "COMMIT", nil, nil, nil))
        }
    }

    private func check(_ code: Int32) throws {
        guard code == SQLITE_OK else {
            throw NATSError.invalidArgument("SQLite: \(String(cString: sqlite3_errstr(code)))")
        }
    }
}
