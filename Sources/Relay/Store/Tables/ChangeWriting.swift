import GRDB
import Platform

extension StoreChange {
    func write(to database: Database) throws {
        switch self {
        case .outbox(let publish): try Self.put(publish, in: database)
        case .outboxNotSent(let id, let reason, let mayBeStored):
            try database.execute(
                sql: "UPDATE outbox SET may_be_stored = ?, state = 2, reason = ? WHERE id = ?",
                arguments: [mayBeStored, reason, id])
        case .outboxEnded(let id): try database.execute(sql: "DELETE FROM outbox WHERE id = ?", arguments: [id])
        case .outboxStored(let id):
            try Self.keepSent(id, in: database)
            try database.execute(sql: "DELETE FROM outbox WHERE id = ?", arguments: [id])
        case .outboxLeaves(let run):
            try database.execute(sql: "UPDATE outbox SET state = 1 WHERE run = ? AND state = 0", arguments: [run])
        case .outboxTrimmed:
            try database.execute(
                sql: """
                    DELETE FROM outbox WHERE state = 2 AND number <= (
                        SELECT number FROM outbox WHERE state = 2 ORDER BY number DESC LIMIT 1 OFFSET ?)
                    """, arguments: [StoreBounds.notSent])
        case .draft(let conversation, let text):
            guard !text.isEmpty else {
                return try Self.forget(conversation, in: "drafts", column: "conversation", database)
            }
            let sql = """
                INSERT INTO drafts (conversation, text) VALUES (?, ?)
                ON CONFLICT (conversation) DO UPDATE SET text = excluded.text
                """
            try database.cachedStatement(sql: sql)
                .execute(arguments: [conversation, Self.bounded(text, StoreBounds.draftBytes)])
            try Self.trim("drafts", to: StoreBounds.drafts, database)
        case .line(let line):
            try database.execute(
                sql: "INSERT INTO lines (conversation, text) VALUES (?, ?)",
                arguments: [line.conversation, Self.bounded(line.text, StoreBounds.textBytes)])
            try Self.trim("lines", to: StoreBounds.lines, database)
        case .ignored(let name, let isIgnored):
            try Self.keep(name, isIgnored, in: "ignored", atMost: StoreBounds.ignored, database)
        case .muted(let name, let isMuted):
            try Self.keep(name, isMuted, in: "muted", atMost: StoreBounds.muted, database)
        case .place(let place):
            try StoreFacts.keep(Self.bounded(place, 1_024), as: StoreFacts.place, in: database)
        case .choice(let name, let value):
            try Self.forget(name, in: "choices", database)
            guard let value else { return }
            try database.execute(
                sql: "INSERT INTO choices (name, value) VALUES (?, ?)", arguments: [Self.bounded(name, 1_024), value])
            try Self.trim("choices", to: StoreBounds.choices, database)
        case .join(let name):
            try database.execute(sql: "INSERT OR IGNORE INTO joined (name) VALUES (?)", arguments: [name])
        case .order(let names):
            let joined = try String.fetchAll(database, sql: "SELECT name FROM joined ORDER BY number")
            let (known, ordered) = (Set(joined), Set(names))
            try database.execute(sql: "DELETE FROM joined")
            for name in names.filter(known.contains) + joined.filter({ !ordered.contains($0) }) {
                try StoreChange.join(name).write(to: database)
            }
        case .leave(let name): try Self.forget(name, in: "joined", database)
        case .cursor(let name, let place):
            try database.cachedStatement(
                sql: "INSERT OR REPLACE INTO cursors (name, stream, incarnation, sequence) VALUES (?, ?, ?, ?)"
            ).execute(arguments: Self.arguments(name, place))
        case .received(let name, let stream, let span): try Self.keep(span, of: name, in: stream, database)
        case .rewound(let stream, let sequence, let name):
            try Self.rewind(stream, through: sequence, foundBy: name, database)
        case .gap(let name, let stream, let gap): try Self.keep(gap, of: name, in: stream, database)
        case .readMark(let name, let place):
            let sql = """
                INSERT INTO read_marks (name, stream, incarnation, sequence) VALUES (?, ?, ?, ?)
                ON CONFLICT (name) DO UPDATE SET
                    stream = excluded.stream, incarnation = excluded.incarnation, sequence = excluded.sequence
                WHERE excluded.stream <> stream OR excluded.incarnation <> incarnation OR excluded.sequence > sequence
                """
            try database.cachedStatement(sql: sql).execute(arguments: Self.arguments(name, place))
        case .letter(let letter): try LetterRows.keep(letter, in: database)
        case .letterRead(let id, let postbox): try LetterRows.noteRead(id, of: postbox, in: database)
        case .letterDeleted(let direction, let id): try LetterRows.delete(id, direction, in: database)
        case .lettersListed(let page): try LetterRows.take(page, in: database)
        case .postboxesListed(let postboxes): try StoreFacts.keep(postboxes, in: database)
        }
    }

    // MARK: Names

    /// Adds a name to a limited table of names, or removes it.
    private static func keep(
        _ name: String, _ isThere: Bool, in table: String, atMost limit: Int, _ database: Database
    ) throws {
        guard isThere else { return try forget(name, in: table, database) }
        try database.execute(sql: "INSERT OR IGNORE INTO \(table) (name) VALUES (?)", arguments: [bounded(name, 1_024)])
        try trim(table, to: limit, database)
    }

    private static func forget(_ name: String, in table: String, column: String = "name", _ database: Database) throws {
        try database.cachedStatement(sql: "DELETE FROM \(table) WHERE \(column) = ?").execute(arguments: [name])
    }

    private static func trim(_ table: String, to limit: Int, _ database: Database) throws {
        try database.cachedStatement(
            sql: "DELETE FROM \(table) WHERE number <= (SELECT max(number) FROM \(table)) - ?"
        ).execute(arguments: [limit])
    }

    /// The beginning of a text with at most this many bytes, cut between characters.
    private static func bounded(_ text: String, _ bytes: Int) -> String {
        guard text.utf8.count > bytes else { return text }
        var count = 0
        return String(
            text.prefix {
                count += $0.utf8.count
                return count <= bytes
            })
    }

    // MARK: The outbox

    private static func put(_ publish: KeptPublish, in database: Database) throws {
        let message = publish.message
        let person: String?
        let place: String
        switch message.destination {
        case .topic(let topic): (person, place) = (nil, topic)
        case .postbox(let user, let postbox): (person, place) = (user, postbox)
        case .key: (person, place) = (nil, "\(message.destination)")
        }
        // An empty payload, as for the deletion of a key, may be bound as NULL.
        let sql = """
            INSERT INTO outbox (id, person, place, payload, may_be_stored, is_unsigned, state, reason, since, run)
            VALUES (?, ?, ?, coalesce(?, x''), ?, ?, ?, ?, ?, ?)
            ON CONFLICT (id) DO UPDATE SET
                person = excluded.person, place = excluded.place, payload = excluded.payload,
                may_be_stored = excluded.may_be_stored, is_unsigned = excluded.is_unsigned,
                state = excluded.state, reason = excluded.reason, since = excluded.since, run = excluded.run
            """
        let arguments: StatementArguments = [
            message.id, person, place, Data(message.payload), message.mayBeStored, message.unsigned != nil,
            publish.state.code, publish.state.reason, publish.since.milliseconds, publish.run,
        ]
        try database.execute(sql: sql, arguments: arguments)
    }

    private static func keepSent(_ id: String, in database: Database) throws {
        let row = try Row.fetchOne(
            database.cachedStatement(
                sql: "SELECT person, place, payload, since FROM outbox WHERE id = ? AND person IS NOT NULL"),
            arguments: [id])
        guard let row else { return }
        let payload: Data = try row[at: 2]
        let letter = PostboxLetter(reading: Array(payload))
        try LetterRows.keep(
            KeptLetter(
                direction: .sent, id: id, person: try row[at: 0], postbox: try row[at: 1],
                time: Timestamp(milliseconds: try row[at: 3]), text: letter?.message ?? "", subject: letter?.subject),
            in: database)
    }

    // MARK: Streams

    private static func arguments(_ name: String, _ place: KeptPlace) -> StatementArguments {
        [name] + place.stream.arguments + [Int64(bitPattern: place.sequence)]
    }

    /// Adds a part, merging it with adjacent and overlapping ones.
    private static func keep(
        _ span: ClosedRange<UInt64>, of name: String, in stream: StreamIdentity, _ database: Database
    ) throws {
        let (first, last) = (Int64(clamping: span.lowerBound), Int64(clamping: span.upperBound))
        let key: StatementArguments = [name] + stream.arguments
        let met: StatementArguments = key + [last == .max ? last : last + 1, max(0, first - 1)]
        let condition = "name = ? AND stream = ? AND incarnation = ? AND first <= ? AND last >= ?"
        let ends = try Row.fetchOne(
            database.cachedStatement(sql: "SELECT min(first), max(last) FROM spans WHERE \(condition)"), arguments: met)
        let (low, high): (Int64?, Int64?) = try (ends?[at: 0], ends?[at: 1])
        try database.cachedStatement(sql: "DELETE FROM spans WHERE \(condition)").execute(arguments: met)
        try database.cachedStatement(
            sql: "INSERT INTO spans (name, stream, incarnation, first, last) VALUES (?, ?, ?, ?, ?)"
        ).execute(arguments: key + [min(first, low ?? first), max(last, high ?? last)])
        try database.cachedStatement(
            sql: """
                DELETE FROM spans WHERE name = ? AND stream = ? AND incarnation = ? AND first <= (
                    SELECT first FROM spans WHERE name = ? AND stream = ? AND incarnation = ?
                    ORDER BY first DESC LIMIT 1 OFFSET \(StoreBounds.spans))
                """
        ).execute(arguments: key + key)
    }

    private static func keep(_ gap: KeptGap, of name: String, in stream: StreamIdentity, _ database: Database) throws {
        // A known gap stays as it is.
        try database.execute(
            sql: "INSERT OR IGNORE INTO gaps (name, stream, incarnation, sequence, lost) VALUES (?, ?, ?, ?, ?)",
            arguments: arguments(name, KeptPlace(stream: stream, sequence: gap.end)) + [Int64(bitPattern: gap.lost)])
        guard database.changesCount > 0 else { return }
        let sql = """
            DELETE FROM gaps WHERE name = ? AND lost > 0 AND number NOT IN (
                SELECT number FROM gaps WHERE name = ? ORDER BY number DESC LIMIT ?)
            """
        try database.execute(sql: sql, arguments: [name, name, StoreBounds.gaps])
    }

    /// Moves aside the messages that a stream has lost from its end. The network no longer has them and gives their
    /// sequences to others. They stay here, for search and export, as a stream of their own; cursors, marks, spans and
    /// gaps end where the stream does.
    private static func rewind(
        _ stream: StreamIdentity, through sequence: UInt64, foundBy name: String, _ database: Database
    ) throws {
        let last = Int64(clamping: min(sequence, RowNumber.sequences - 1))
        // All subscriptions to the stream notice this, one by one. The first sets all cursors back, and may have
        // received newer messages by now, which the others must not move aside.
        let cursor = try Int64.fetchOne(
            database, sql: "SELECT sequence FROM cursors WHERE name = ? AND stream = ? AND incarnation = ?",
            arguments: [name] + stream.arguments)
        if let cursor, cursor <= last { return }
        try database.execute(
            sql: """
                UPDATE cursors SET sequence = min(sequence, :last) WHERE stream = :name AND incarnation = :made;
                UPDATE read_marks SET sequence = min(sequence, :last) WHERE stream = :name AND incarnation = :made;
                DELETE FROM gaps WHERE stream = :name AND incarnation = :made AND sequence > :last;
                DELETE FROM spans WHERE stream = :name AND incarnation = :made AND first > :last;
                UPDATE spans SET last = min(last, :last) WHERE stream = :name AND incarnation = :made;
                """,
            arguments: ["last": last, "name": stream.name, "made": Int64(bitPattern: stream.incarnation)])
        let number = try Int64.fetchOne(
            database, sql: "SELECT number FROM streams WHERE name = ? AND incarnation = ?", arguments: stream.arguments)
        guard let number, let all = RowNumber.rows(ofStream: number), all.lowerBound + last < all.upperBound else {
            return
        }
        let lost: StatementArguments = [all.lowerBound + last + 1, all.upperBound]
        let isAny = try Bool.fetchOne(
            database, sql: "SELECT EXISTS (SELECT 1 FROM messages WHERE row BETWEEN ? AND ?)", arguments: lost)
        guard isAny == true else { return }
        // This may happen to the same stream again.
        try database.execute(
            sql: """
                INSERT INTO streams (name, incarnation)
                SELECT ?1, coalesce(max(incarnation), 0) + 1 FROM streams WHERE name = ?1
                """, arguments: [stream.name + StoreSchema.lostMark])
        guard let aside = RowNumber.rows(ofStream: database.lastInsertedRowID) else { return }
        let distance = aside.lowerBound - all.lowerBound
        try database.execute(
            sql: "DELETE FROM words WHERE rowid IN (SELECT row FROM messages WHERE row BETWEEN ? AND ?)",
            arguments: lost)
        try database.execute(
            sql: "UPDATE messages SET row = row + ? WHERE row BETWEEN ? AND ?", arguments: [distance] + lost)
        try database.execute(
            sql: "INSERT INTO unsearched (first, last) VALUES (?, ?)",
            arguments: [aside.lowerBound + last + 1, aside.upperBound])
    }
}

extension KeptPublish.State {
    fileprivate var code: Int {
        switch self {
        case .queued: 0
        case .sending: 1
        case .notSent: 2
        }
    }

    var reason: String? { if case .notSent(let reason) = self { reason } else { nil } }

    /// The state of a stored code; unknown ones count as queued.
    init(code: Int, reason: String?) { self = code == 1 ? .sending : code == 2 ? .notSent(reason ?? "") : .queued }
}
