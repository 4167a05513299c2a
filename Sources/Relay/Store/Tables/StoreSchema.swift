import GRDB

/// The tables of the local store. There is one layout and no migration: a file with another ``version`` is put aside
/// like a damaged one, and what a person typed and chose is carried over.
///
/// The tables are `STRICT`, so that a row's values always have their columns' types.
enum StoreSchema {
    /// The layout's number, SQLite's `user_version`. Increase it with every change of a table.
    static let version = 1

    /// The suffix of the name of a stream with messages that another one lost
    /// (``StoreChange/rewound(_:through:foundBy:)``); no stream of a network can have such a name.
    static let lostMark = " (lost)"

    /// Whether a name is the pattern itself, or a topic that matches it: `matches(pattern, name)`.
    static let matches = DatabaseFunction("matches", argumentCount: 2, pure: true) { values in
        guard let text = String.fromDatabaseValue(values[0]), let name = String.fromDatabaseValue(values[1]) else {
            return false
        }
        return text == name || (try? TopicPattern(text))?.matches(name) == true
    }

    /// The search index of messages.
    ///
    /// Words are split by the rules of Unicode 6.1, without diacritics. Trigrams take 2.4 times the room (279 MB for a
    /// million lines of 65 bytes, against 116) and three times the time (53,000 rows a second, against 158,000), and do
    /// not find words of two ideographs, the most frequent ones. Instead, `SearchText` splits scripts without blanks at
    /// each character.
    ///
    /// `columnsize=0`, because hits are ordered by age rather than rank.
    static let words = """
        CREATE VIRTUAL TABLE words USING fts5 (
            text, sender, topic, tokenize = 'unicode61 remove_diacritics 2', columnsize = 0);
        """

    private static let letterWords = """
        CREATE VIRTUAL TABLE letter_words USING fts5 (
            text, sender, tokenize = 'unicode61 remove_diacritics 2', columnsize = 0);
        """

    /// `messages` has a single index. Another one for each topic's times would reduce the rate by a third, and a binary
    /// search finds times as well, since a server stores in the order of its clock.
    private static let tables = """
        -- Names, each with the number that stands for it elsewhere. A number is given once (AUTOINCREMENT), since
        -- another process may still hold one whose row is gone.
        CREATE TABLE streams (
            number INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, incarnation INTEGER NOT NULL,
            UNIQUE (name, incarnation)) STRICT;
        -- With how many messages of the topic are here, and the bytes of their payloads.
        CREATE TABLE topics (
            number INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE,
            messages INTEGER NOT NULL DEFAULT 0, bytes INTEGER NOT NULL DEFAULT 0) STRICT;
        -- What arrived. The row is the stream's number and the sequence in one (RowNumber).
        CREATE TABLE messages (
            row INTEGER PRIMARY KEY, topic INTEGER NOT NULL, time INTEGER NOT NULL, id TEXT, sender TEXT,
            payload BLOB NOT NULL, own INTEGER NOT NULL) STRICT;
        CREATE INDEX messages_of_topic ON messages (topic);
        -- Parts of messages, from one row to another, that the words lack.
        CREATE TABLE unsearched (number INTEGER PRIMARY KEY, first INTEGER NOT NULL, last INTEGER NOT NULL) STRICT;

        -- How far topics and patterns were received and read.
        CREATE TABLE cursors (
            name TEXT PRIMARY KEY NOT NULL, stream TEXT NOT NULL, incarnation INTEGER NOT NULL,
            sequence INTEGER NOT NULL) STRICT;
        CREATE TABLE read_marks (
            name TEXT PRIMARY KEY NOT NULL, stream TEXT NOT NULL, incarnation INTEGER NOT NULL,
            sequence INTEGER NOT NULL) STRICT;
        -- Which parts of a stream are here of a topic or pattern, received or read as history (KeptSpans).
        CREATE TABLE spans (
            name TEXT NOT NULL, stream TEXT NOT NULL, incarnation INTEGER NOT NULL, first INTEGER NOT NULL,
            last INTEGER NOT NULL, PRIMARY KEY (name, stream, incarnation, first)) STRICT;
        -- Where the network had already deleted what belongs between two messages.
        CREATE TABLE gaps (
            number INTEGER PRIMARY KEY, name TEXT NOT NULL, stream TEXT NOT NULL, incarnation INTEGER NOT NULL,
            sequence INTEGER NOT NULL, lost INTEGER NOT NULL, UNIQUE (name, stream, incarnation, sequence)) STRICT;

        -- What is on its way out or was not sent, and the runs of programs that send it.
        CREATE TABLE outbox (
            number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, person TEXT, place TEXT NOT NULL,
            payload BLOB NOT NULL, may_be_stored INTEGER NOT NULL, is_unsigned INTEGER NOT NULL,
            state INTEGER NOT NULL, reason TEXT, since INTEGER NOT NULL, run TEXT) STRICT;
        CREATE TABLE runs (id TEXT PRIMARY KEY NOT NULL) STRICT;

        -- What the person typed, joined and chose.
        CREATE TABLE drafts (
            number INTEGER PRIMARY KEY, conversation TEXT NOT NULL UNIQUE, text TEXT NOT NULL) STRICT;
        CREATE TABLE lines (
            number INTEGER PRIMARY KEY AUTOINCREMENT, conversation TEXT, text TEXT NOT NULL) STRICT;
        CREATE TABLE joined (number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT;
        CREATE TABLE ignored (number INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE) STRICT;
        CREATE TABLE muted (number INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE) STRICT;
        CREATE TABLE choices (
            number INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, value INTEGER NOT NULL) STRICT;
        -- The place on the screen, when letters were listed last, and the postboxes that there are.
        CREATE TABLE facts (name TEXT PRIMARY KEY NOT NULL, value TEXT NOT NULL) STRICT;

        -- Letters that came (direction 0) or were sent (1). A letter that came has its place in the postbox's stream,
        -- so that lists go on over it without a connection too.
        CREATE TABLE letters (
            number INTEGER PRIMARY KEY AUTOINCREMENT, direction INTEGER NOT NULL, id TEXT NOT NULL, person TEXT,
            postbox TEXT NOT NULL, time INTEGER NOT NULL, text TEXT NOT NULL, subject TEXT, sudo TEXT,
            incarnation INTEGER NOT NULL, sequence INTEGER NOT NULL, UNIQUE (direction, id)) STRICT;
        CREATE INDEX letters_by_time ON letters (time);
        CREATE INDEX letters_by_place ON letters (direction, incarnation, sequence);
        -- Which letters were read, by their places: one that is kept no more, as the retention has it, stays read.
        CREATE TABLE read_letters (
            number INTEGER PRIMARY KEY AUTOINCREMENT, postbox TEXT NOT NULL, incarnation INTEGER NOT NULL,
            sequence INTEGER NOT NULL, UNIQUE (incarnation, sequence)) STRICT;
        """

    static func make(in database: Database) throws {
        for script in [tables, words, letterWords] { try database.execute(sql: script) }
        try database.execute(sql: "PRAGMA user_version = \(version)")
    }

    /// The tables with what a person typed, joined and chose, and with data that exists nowhere else, the most valuable
    /// first. They are small, checked when a store is opened, and carried over from a damaged one.
    static let carried = [
        "outbox", "drafts", "lines", "joined", "read_marks", "cursors", "ignored", "muted", "choices", "facts",
    ]

    /// Checks for damage that should not appear later: in the small tables, and in the columns of all of them.
    ///
    /// - Throws: SQLite's error, or one like it if the tables are another version's, rows are out of order, or a number
    ///   is so high that none is left after it, which SQLite would report as a full disk.
    static func check(_ database: Database) throws {
        guard try Int.fetchOne(database, sql: "PRAGMA user_version") == version else {
            throw DatabaseError.damage("another version's tables")
        }
        let names = ["messages", "spans", "gaps", "letters", "read_letters", "words", "letter_words"]
        for table in names { _ = try database.makeStatement(sql: "SELECT * FROM \(table)") }
        let highest = Int64(1) << 62
        for table in carried + ["streams", "topics", "runs", "unsearched"] {
            var last = Int64.min
            let rows = try Int64.fetchCursor(database, sql: "SELECT rowid, * FROM \(table) ORDER BY rowid")
            while let row = try rows.next() {
                guard last < row, row < highest else { throw DatabaseError.damage("the rows of \(table)") }
                last = row
            }
        }
        let odd = try String.fetchOne(
            database, sql: "SELECT name FROM sqlite_sequence WHERE typeof(seq) <> 'integer' OR seq >= \(highest)")
        if let odd { throw DatabaseError.damage("the numbers of \(odd)") }
    }
}

/// A message's key in the store: its stream's number and its sequence in one integer.
///
/// SQLite stores a table in the order of such a key without a separate index, and the search index uses it too. A key
/// of two columns needs a second tree: a million rows of 224 bytes were written at 203,000 rows a second of processor
/// time with one, and at 222,000 with this, and a page is found by a single lookup.
///
/// The stream's number takes 15 bits and the sequence 48: at a million messages a second a stream reaches its end after
/// nine years.
enum RowNumber {
    /// The sequences of a stream are below this.
    static let sequences: UInt64 = 1 << 48
    /// The numbers of streams are below this, so that there is a number after each key.
    static let streams: Int64 = 1 << 15 - 1
    static let all: ClosedRange<Int64> = 0...Int64.max

    /// The key of a message; nil if the sequence or the stream's number does not fit.
    static func row(stream: Int64, sequence: UInt64) -> Int64? {
        guard sequence < sequences, (0..<streams).contains(stream) else { return nil }
        return stream << 48 | Int64(sequence)
    }

    /// All keys of a stream; nil if its number does not fit.
    static func rows(ofStream stream: Int64) -> ClosedRange<Int64>? {
        guard (0..<streams).contains(stream) else { return nil }
        return stream << 48...(stream << 48 | Int64(sequences - 1))
    }

    static func stream(of row: Int64) -> Int64 { row >> 48 }

    static func sequence(of row: Int64) -> UInt64 { UInt64(row & Int64(sequences - 1)) }
}
