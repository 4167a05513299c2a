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

    /// Keeps messages in as few values as bounded ones allow.
    ///
    /// - Returns: how many messages have no place in a store, and are not kept.
    func add(_ parts: [[KeptMessage]]) throws -> Int {
        let statement = try database.cachedStatement(sql: "INSERT INTO staged (messages) VALUES (?)")
        var value = StagedMessages.Writer()
        var refused = 0
        for part in parts {
            for message in part {
                guard message.place.sequence < RowNumber.sequences else {
                    refused += 1
                    continue
                }
                value.write(message)
                if value.isFull { try statement.execute(arguments: [Data(value.take().readableBytesView)]) }
            }
        }
        if !value.isEmpty { try statement.execute(arguments: [Data(value.take().readableBytesView)]) }
        return refused
    }

    /// Makes rows of the oldest value's messages.
    ///
    /// - Returns: false when there was none.
    func unpack() throws -> Bool {
        let sql = "SELECT number, messages FROM staged ORDER BY number LIMIT 1"
        guard let row = try Row.fetchOne(database.cachedStatement(sql: sql)) else { return false }
        let number: Int64 = row[0]
        if let messages = Self.messages(of: row) {
            var writing = MessageWriting(to: database)
            try writing.write(messages)
        } else {
            // The disk has changed what was written. Nobody knows any more what is whole, and the network is asked again.
            try database.execute(sql: "DELETE FROM spans")
        }
        try database.execute(sql: "DELETE FROM staged WHERE number = ?", arguments: [number])
        return true
    }

    /// The messages in a row's `messages`; nil where that is damaged.
    static func messages(of row: Row) -> [KeptMessage]? {
        let value: Data? = row["messages"]
        return value.flatMap { StagedMessages(ByteBuffer(bytes: $0))?.messages }
    }

    /// Makes rows of all.
    func unpackAll() throws { while try unpack() {} }
}
