import GRDB
import Platform
import Relay

/// The same payloads in a bare table of SQLite's: a key, the bytes, and nothing to find them by. What the disk and
/// SQLite allow when the store's own form costs nothing.
struct StoreFloor {
    private static let rowsAtOnce = 1_000
    private let database: DatabaseQueue

    init(_ path: String) throws {
        var configuration = Configuration()
        configuration.journalMode = .wal
        // As the store has it.
        configuration.prepareDatabase { try $0.execute(sql: "PRAGMA synchronous = NORMAL; PRAGMA cache_size = -8000") }
        database = try DatabaseQueue(path: path, configuration: configuration)
        try database.write { try $0.execute(sql: "CREATE TABLE bare (row INTEGER PRIMARY KEY, payload BLOB NOT NULL)") }
    }

    /// Inserts the payloads, a thousand in each transaction.
    func insert(_ messages: [KeptMessage]) async throws {
        for first in stride(from: 0, to: messages.count, by: Self.rowsAtOnce) {
            let part = messages[first..<min(first + Self.rowsAtOnce, messages.count)]
            try await database.write { database in
                let statement = try database.makeStatement(sql: "INSERT INTO bare VALUES (?, ?)")
                for message in part {
                    try statement.execute(arguments: [Int64(message.place.sequence), Data(message.payload)])
                }
            }
        }
    }
}
