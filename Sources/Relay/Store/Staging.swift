import GRDB
import NIOCore

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The messages of a burst on their way to become rows, each step within a transaction of the caller's.
///
/// Whoever reads messages, or changes what is kept of them, makes rows of all of them first. So nobody else has to know
/// of them.
struct Staging {
    private let database: Database

    init(in database: Database) { self.database = database }

    /// Whether all messages are rows.
    func isEmpty() throws -> Bool {
        try Bool.fetchOne(database.cachedStatement(sql: "SELECT NOT EXISTS (SELECT 1 FROM staged)")) ?? true
    }

    /// How many bytes the values have, of which SQLite looks at the lengths alone.
    func bytes() throws -> Int {
        let sql = "SELECT coalesce(sum(length(messages)), 0) FROM staged"
        return try Int.fetchOne(database.cachedStatement(sql: sql)) ?? 0
    }

    /// Keeps messages as the values that they came in.
    ///
    /// - Returns: how many messages have no place in a store, and are not kept.
    func add(_ parts: [EncodedMessages]) throws -> Int {
        let statement = try database.cachedStatement(sql: "INSERT INTO staged (messages) VALUES (?)")
        var refused = 0
        for part in parts {
            refused += part.refused
            if part.count > 0 { try statement.execute(arguments: [Data(part.bytes.readableBytesView)]) }
        }
        return refused
    }

    /// Makes rows of the oldest values' messages: of as many as take some ten milliseconds.
    ///
    /// - Parameter limit: most values.
    /// - Returns: how many values there were.
    func unpack(_ limit: Int = .max) throws -> Int {
        var (values, bytes) = (0, 0)
        var writing = MessageWriting(to: database)
        while values < limit, bytes < EncodedMessages.usualBytes {
            let sql = "SELECT number, messages FROM staged ORDER BY number LIMIT 1"
            guard let row = try Row.fetchOne(database.cachedStatement(sql: sql)) else { break }
            let number: Int64 = row[0]
            let value: Data? = row[1]
            if let messages = Self.messages(of: row) {
                try writing.write(messages)
            } else {
                // The disk has changed what was written. Nobody knows any more what is whole, and the network is asked
                // again.
                try database.execute(sql: "DELETE FROM spans")
            }
            try database.execute(sql: "DELETE FROM staged WHERE number = ?", arguments: [number])
            values += 1
            bytes += value?.count ?? 0
        }
        return values
    }

    /// The messages in a row's `messages`; nil where that is damaged.
    static func messages(of row: Row) -> [KeptMessage]? {
        let value: Data? = row["messages"]
        return value.flatMap { EncodedMessages.messages(in: ByteBuffer(bytes: $0)) }
    }

    /// Makes rows of all.
    func unpackAll() throws { while try unpack() > 0 {} }
}
