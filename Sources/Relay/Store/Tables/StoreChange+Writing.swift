import GRDB
import Platform

extension StoreChange {
    /// Writes the change, within a transaction of the caller's.
    func write(to database: Database) throws {
        switch self {
        case .outbox(let publish): try Self.put(publish, in: database)
        case .outboxNotSent(let id, let reason, let mayBeStored):
            let state = KeptPublish.State.notSent(reason)
            try database.execute(
                sql: "UPDATE outbox SET may_be_stored = ?, state = ?, reason = ? WHERE id = ?",
                arguments: [mayBeStored, state.code, reason, id])
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
        case .draft(let conversation, let text): try Self.keepDraft(text, of: conversation, in: database)
        case .line(let line):
            try database.execute(
                sql: "INSERT INTO lines (conversation, text) VALUES (?, ?)",
                arguments: [line.conversation, Self.bounded(line.text, StoreBounds.textBytes)])
            try database.execute(
                sql: "DELETE FROM lines WHERE number <= ?",
                arguments: [database.lastInsertedRowID &- Int64(StoreBounds.lines)])
        case .ignored(let name, let isIgnored):
            try Self.keep(name, isIgnored, in: "ignored", atMost: StoreBounds.ignored, database)
        case .muted(let name, let isMuted):
            try Self.keep(name, isMuted, in: "muted", atMost: StoreBounds.muted, database)
        case .place(let place):
            try StoreFacts.keep(Self.bounded(place, 1_024), as: Self.placeFact, in: database)
        case .choice(let name, let value): try Self.keepChoice(value, of: name, in: database)
        case .joined(let names): try Self.keepJoined(names, in: database)
        case .join(let name):
            try database.execute(
                sql: "INSERT OR IGNORE INTO joined (name) VALUES (?)",
                arguments: [name])
        case .order(let names):
            let joined = try String.fetchAll(database, sql: "SELECT name FROM joined ORDER BY number")
            let known = Set(joined)
            let ordered = Set(names)
            try Self.keepJoined(
                names.filter { known.contains($0) } + joined.filter { !ordered.contains($0) }, in: database)
        case .leave(let name): try database.execute(sql: "DELETE FROM joined WHERE name = ?", arguments: [name])
        case .cursor(let name, let place):
            try database.cachedStatement(
                sql: "INSERT OR REPLACE INTO cursors (name, stream, incarnation, sequence) VALUES (?, ?, ?, ?)"
            ).execute(arguments: Self.arguments(name, place))
        case .received(let name, let stream, let span): try Self.keep(span, of: name, in: stream, database)
        case .rewound(let stream, let sequence): try StoreRewinding(database, stream, through: sequence).carryOut()
        case .gap(let name, let stream, let gap): try Self.keep(gap, of: name, in: stream, database)
        case .readMark(let name, let place):
            let sql = """
                INSERT INTO read_marks (name, stream, incarnation, sequence) VALUES (?, ?, ?, ?)
                ON CONFLICT (name) DO UPDATE SET
                    stream = excluded.stream, incarnation = excluded.incarnation, sequence = excluded.sequence
                WHERE excluded.stream <> stream OR excluded.incarnation <> incarnation OR excluded.sequence > sequence
                """
            try database.execute(sql: sql, arguments: Self.arguments(name, place))
        case .letter(let letter): try LetterRows.keep(letter, in: database)
        case .letterRead(let id, let postbox): try LetterRows.noteRead(id, of: postbox, in: database)
        case .letterDeleted(let direction, let id):
            if direction == .received { try LetterRows.forgetRead(id, in: database) }
            let number = try Int64.fetchOne(
                database, sql: "SELECT number FROM letters WHERE direction = ? AND id = ?",
                arguments: [direction.rawValue, id])
            if let number { try LetterRows.delete([number], in: database) }
        case .lettersListed(let page): try LetterRows.take(page, in: database)
        case .postboxesListed(let postboxes): try PostboxRows.keep(postboxes, in: database)
        }
    }

    /// Keeps a name in a table of names, of which it has so many at most, or takes it out.
    private static func keep(
        _ name: String, _ isThere: Bool, in table: String, atMost limit: Int, _ database: Database
    ) throws {
        guard isThere else {
            return try database.execute(sql: "DELETE FROM \(table) WHERE name = ?", arguments: [name])
        }
        try database.execute(
            sql: "INSERT OR IGNORE INTO \(table) (name) VALUES (?)", arguments: [Self.bounded(name, 1_024)])
        try database.execute(
            sql: "DELETE FROM \(table) WHERE number <= (SELECT max(number) FROM \(table)) - ?", arguments: [limit])
    }

    /// The name of the fact that has what the person looks at.
    static let placeFact = "place"

    private static func keepChoice(_ value: Bool?, of name: String, in database: Database) throws {
        try database.execute(sql: "DELETE FROM choices WHERE name = ?", arguments: [name])
        guard let value else { return }
        try database.execute(
            sql: "INSERT INTO choices (name, value) VALUES (?, ?)", arguments: [Self.bounded(name, 1_024), value])
        try database.execute(
            sql: "DELETE FROM choices WHERE number <= (SELECT max(number) FROM choices) - ?",
            arguments: [StoreBounds.choices])
    }

    private static func keepJoined(_ names: [String], in database: Database) throws {
        try database.execute(sql: "DELETE FROM joined")
        for name in names {
            try database.execute(sql: "INSERT OR IGNORE INTO joined (name) VALUES (?)", arguments: [name])
        }
    }

    /// Keeps a letter of the outbox that the network has.
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

    private static func put(_ publish: KeptPublish, in database: Database) throws {
        let message = publish.message
        let person: String?
        let place: String
        switch message.destination {
        case .topic(let topic): (person, place) = (nil, topic)
        case .postbox(let user, let postbox): (person, place) = (user, postbox)
        case .key: (person, place) = (nil, "\(message.destination)")
        }
        // No bytes may be bound as NULL; the deletion of a key has none.
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

    private static func keepDraft(_ text: String, of conversation: String, in database: Database) throws {
        guard !text.isEmpty else {
            return try database.execute(
                sql: "DELETE FROM drafts WHERE conversation = ?", arguments: [conversation])
        }
        let sql = """
            INSERT INTO drafts (conversation, text) VALUES (?, ?)
            ON CONFLICT (conversation) DO UPDATE SET text = excluded.text
            """
        try database.execute(sql: sql, arguments: [conversation, bounded(text, StoreBounds.draftBytes)])
        try database.execute(
            sql: "DELETE FROM drafts WHERE number <= (SELECT max(number) FROM drafts) - ?",
            arguments: [StoreBounds.drafts])
    }

    /// Puts a part among the others, as one with those that it meets.
    private static func keep(
        _ span: ClosedRange<UInt64>, of name: String, in stream: StreamIdentity, _ database: Database
    ) throws {
        let (first, last) = (Int64(clamping: span.lowerBound), Int64(clamping: span.upperBound))
        let key: StatementArguments = [name, stream.name, Int64(bitPattern: stream.incarnation)]
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

    private static func arguments(_ name: String, _ place: KeptPlace) -> StatementArguments {
        [name, place.stream.name, Int64(bitPattern: place.stream.incarnation), Int64(bitPattern: place.sequence)]
    }

    private static func keep(
        _ gap: KeptGap, of name: String, in stream: StreamIdentity, _ database: Database
    ) throws {
        let arguments: StatementArguments = [
            name, stream.name, Int64(bitPattern: stream.incarnation), Int64(bitPattern: gap.end),
            Int64(bitPattern: gap.lost),
        ]
        // Where the same place is met again, what is known of it stays.
        try database.execute(
            sql: "INSERT OR IGNORE INTO gaps (name, stream, incarnation, sequence, lost) VALUES (?, ?, ?, ?, ?)",
            arguments: arguments)
        guard database.changesCount > 0 else { return }
        let sql = """
            DELETE FROM gaps WHERE name = ? AND lost > 0 AND number NOT IN (
                SELECT number FROM gaps WHERE name = ? ORDER BY number DESC LIMIT ?)
            """
        try database.execute(sql: sql, arguments: [name, name, StoreBounds.gaps])
    }

    /// A text's beginning of so many bytes, cut between characters.
    static func bounded(_ text: String, _ bytes: Int) -> String {
        guard text.utf8.count > bytes else { return text }
        var kept = ""
        var count = 0
        for character in text {
            count += character.utf8.count
            guard count <= bytes else { break }
            kept.append(character)
        }
        return kept
    }
}

extension KeptPublish.State {
    /// How the state is written.
    var code: Int {
        switch self {
        case .queued: 0
        case .sending: 1
        case .notSent: 2
        }
    }

    /// Why it was not sent.
    var reason: String? {
        if case .notSent(let reason) = self { reason } else { nil }
    }

    /// A state as it was written; what no version writes counts as waiting.
    init(code: Int, reason: String?) {
        self =
            switch code {
            case 1: .sending
            case 2: .notSent(reason ?? "")
            default: .queued
            }
    }
}
