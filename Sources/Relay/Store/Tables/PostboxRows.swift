import GRDB
import Platform

/// The postboxes of the local store, within a transaction of the caller's: as the network's host has told them, and
/// when.
enum PostboxRows {
    /// Under which names the store knows them.
    private static let (list, moment) = ("postboxes", "postboxes-moment")

    /// Keeps them in place of those that were kept before.
    static func keep(_ postboxes: KeptPostboxes, in database: Database) throws {
        let reply = PostboxReply(postboxes: postboxes.items.prefix(StoreBounds.postboxes).map { $0.entry })
        guard let value = try? JSONEncoder().encode(reply) else { return }
        let values = [list: String(decoding: value, as: UTF8.self), moment: String(postboxes.asOf.milliseconds)]
        for (name, value) in values {
            try database.execute(
                sql: "INSERT OR REPLACE INTO facts (name, value) VALUES (?, ?)", arguments: [name, value])
        }
    }

    /// Those that are kept; nil where none were told, or what is there cannot be read.
    static func kept(_ database: Database) throws -> KeptPostboxes? {
        let sql = "SELECT value FROM facts WHERE name = ?"
        guard let value = try String.fetchOne(database, sql: sql, arguments: [list]),
            let moment = try String.fetchOne(database, sql: sql, arguments: [moment]).flatMap({ Int64($0) }),
            let reply = try? JSONDecoder().decode(PostboxReply.self, from: Data(value.utf8)),
            let items = try? PostboxServiceClient.postboxes(in: reply, about: list)
        else { return nil }
        return KeptPostboxes(items: items, asOf: Timestamp(milliseconds: moment))
    }

    /// Forgets them.
    static func forget(_ database: Database) throws {
        try database.execute(sql: "DELETE FROM facts WHERE name IN (?, ?)", arguments: [list, moment])
    }
}

extension LocalStore {
    /// The postboxes as the network told them last; nil where it never did.
    ///
    /// - Throws: ``RelayError/storage(_:)``.
    package func postboxes() async throws(RelayError) -> KeptPostboxes? {
        try await reading { try PostboxRows.kept($0) }
    }
}

extension Postbox {
    /// The postbox as the network describes it.
    fileprivate var entry: PostboxReply.Entry {
        PostboxReply.Entry(
            id: id, name: name, title: hasTitle ? title : nil, sudoId: sudoId, isEnabled: isEnabled,
            createdAt: createdAt.milliseconds)
    }
}
