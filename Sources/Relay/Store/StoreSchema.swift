import GRDB

/// The tables of the local store, as migrations. A migration that was released is never changed: another one follows.
enum StoreSchema {
    /// What brings a store of any earlier version up to date.
    static var migrator: DatabaseMigrator {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("1 facts") { database in
            try database.create(table: "facts") { table in
                table.primaryKey("name", .text)
                table.column("value", .text).notNull()
            }
        }
        migrator.registerMigration("2 history") { database in
            for statement in history { try database.execute(sql: statement) }
        }
        migrator.registerMigration("3 runs") { database in
            for statement in runs { try database.execute(sql: statement) }
        }
        migrator.registerMigration("4 gaps") { database in try database.execute(sql: gaps) }
        migrator.registerMigration("5 spans") { database in
            for statement in spans { try database.execute(sql: statement) }
        }
        migrator.registerMigration("6 letters") { database in
            for statement in letters { try database.execute(sql: statement) }
            try LetterRows.place(in: database)
        }
        migrator.registerMigration("7 staged") { database in try database.execute(sql: staged) }
        migrator.registerMigration("8 read letters") { database in try database.execute(sql: readLetters) }
        migrator.registerMigration("9 burst file") { database in
            for statement in burstFile { try database.execute(sql: statement) }
        }
        migrator.registerMigration("10 ignored") { database in try database.execute(sql: ignored) }
        migrator.registerMigration("11 conversations of lines") { database in
            try database.execute(sql: "ALTER TABLE lines ADD COLUMN conversation TEXT")
        }
        migrator.registerMigration("12 muted") { database in try database.execute(sql: muted) }
        migrator.registerMigration("13 choices") { database in try database.execute(sql: choices) }
        migrator.registerMigration("14 subjects of letters") { database in
            try database.execute(sql: "ALTER TABLE letters ADD COLUMN subject TEXT")
        }
        migrator.registerMigration("15 own messages") { database in
            try database.execute(sql: "ALTER TABLE messages ADD COLUMN own INTEGER NOT NULL DEFAULT 0")
        }
        return migrator
    }

    /// The names of the tables whose rows are read one by one from a damaged store, the dearest first. What `spans`
    /// says is shortened to what could be read.
    static let rescued = [
        "outbox", "drafts", "joined", "cursors", "gaps", "spans", "read_marks", "lines", "letters", "read_letters",
        "ignored", "muted", "choices", "facts",
    ]

    /// The words of messages, for the search.
    ///
    /// They are split as Unicode 6.1 has it and without their marks. Trigrams take 2.4 times the room (279 MB for a
    /// million lines of 65 bytes, against 116) and three times the time (53,000 rows a second, against 158,000), and do
    /// not find words of two ideographs, the most frequent ones. `SearchText` has what is written without blanks split
    /// at each character instead.
    ///
    /// `columnsize=0`, as what is found is ordered by its age and not by a rank.
    static let words = """
        CREATE VIRTUAL TABLE words USING fts5 (
            text, sender, topic, tokenize = 'unicode61 remove_diacritics 2', columnsize = 0)
        """

    /// The runs of programs that keep their outbox here, each with a lock of its own, and whose a row of the outbox is.
    private static let runs = [
        "CREATE TABLE runs (id TEXT PRIMARY KEY)",
        "ALTER TABLE outbox ADD COLUMN run TEXT",
    ]

    /// Where a letter stands in the postbox's stream, so that lists go on over its places without a connection too, and
    /// the identity that it was sent to.
    private static let letters = [
        "ALTER TABLE letters ADD COLUMN sudo TEXT",
        "ALTER TABLE letters ADD COLUMN incarnation INTEGER NOT NULL DEFAULT 0",
        "ALTER TABLE letters ADD COLUMN sequence INTEGER NOT NULL DEFAULT 0",
        "CREATE INDEX letters_by_place ON letters (direction, incarnation, sequence)",
    ]

    /// Which letters were read, by their places: a letter that is kept no more, as the retention has it, stays read.
    private static let readLetters = """
        CREATE TABLE read_letters (
            number INTEGER PRIMARY KEY AUTOINCREMENT, postbox TEXT NOT NULL, incarnation INTEGER NOT NULL,
            sequence INTEGER NOT NULL, UNIQUE (incarnation, sequence))
        """

    private static let ignored =
        "CREATE TABLE ignored (number INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE)"

    private static let muted =
        "CREATE TABLE muted (number INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE)"

    private static let choices = """
        CREATE TABLE choices (
            number INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, value INTEGER NOT NULL)
        """

    /// Numbers that name something in other tables are given once (AUTOINCREMENT): another process may still hold one
    /// whose row is gone.
    ///
    /// Of the indices that `messages` could have there is one. A second one for each topic's times would take a third
    /// of the rate, and a time is found by halving as well, since a server stores in the order of its clock.
    private static let history = [
        """
        CREATE TABLE streams (
            number INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, incarnation INTEGER NOT NULL,
            UNIQUE (name, incarnation))
        """,
        """
        CREATE TABLE topics (
            number INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE,
            messages INTEGER NOT NULL DEFAULT 0, bytes INTEGER NOT NULL DEFAULT 0)
        """,
        """
        CREATE TABLE messages (
            row INTEGER PRIMARY KEY, topic INTEGER NOT NULL, time INTEGER NOT NULL, id TEXT, sender TEXT,
            payload BLOB NOT NULL)
        """,
        "CREATE INDEX messages_of_topic ON messages (topic)",
        words,
        "CREATE TABLE unsearched (number INTEGER PRIMARY KEY, first INTEGER NOT NULL, last INTEGER NOT NULL)",
        "CREATE TABLE joined (place INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE)",
        """
        CREATE TABLE cursors (
            name TEXT PRIMARY KEY, stream TEXT NOT NULL, incarnation INTEGER NOT NULL, sequence INTEGER NOT NULL)
        """,
        """
        CREATE TABLE read_marks (
            name TEXT PRIMARY KEY, stream TEXT NOT NULL, incarnation INTEGER NOT NULL, sequence INTEGER NOT NULL)
        """,
        """
        CREATE TABLE outbox (
            number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, person TEXT, place TEXT NOT NULL,
            payload BLOB NOT NULL, may_be_stored INTEGER NOT NULL, is_unsigned INTEGER NOT NULL,
            state INTEGER NOT NULL, reason TEXT, since INTEGER NOT NULL)
        """,
        "CREATE TABLE drafts (number INTEGER PRIMARY KEY, conversation TEXT NOT NULL UNIQUE, text TEXT NOT NULL)",
        "CREATE TABLE lines (number INTEGER PRIMARY KEY AUTOINCREMENT, text TEXT NOT NULL)",
        """
        CREATE TABLE letters (
            number INTEGER PRIMARY KEY AUTOINCREMENT, direction INTEGER NOT NULL, id TEXT NOT NULL, person TEXT,
            postbox TEXT NOT NULL, time INTEGER NOT NULL, text TEXT NOT NULL, UNIQUE (direction, id))
        """,
        "CREATE INDEX letters_by_time ON letters (time)",
        """
        CREATE VIRTUAL TABLE letter_words USING fts5 (
            text, sender, tokenize = 'unicode61 remove_diacritics 2', columnsize = 0)
        """,
    ]

    /// Which parts of a stream are here of a topic or pattern. Earlier versions had a hole without a number of messages
    /// where what was received begins, and what lies between the last of them and the cursor is whole.
    private static let spans = [
        """
        CREATE TABLE spans (
            name TEXT NOT NULL, stream TEXT NOT NULL, incarnation INTEGER NOT NULL, first INTEGER NOT NULL,
            last INTEGER NOT NULL, PRIMARY KEY (name, stream, incarnation, first))
        """,
        """
        INSERT INTO spans (name, stream, incarnation, first, last)
            SELECT cursors.name, cursors.stream, cursors.incarnation, max(gaps.sequence), cursors.sequence
            FROM cursors JOIN gaps USING (name, stream, incarnation)
            WHERE gaps.lost = 0 AND gaps.sequence <= cursors.sequence
            GROUP BY cursors.name
        """,
        "DELETE FROM gaps WHERE lost = 0",
    ]

    /// Where what a subscription received has a hole.
    private static let gaps = """
        CREATE TABLE gaps (
            number INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, stream TEXT NOT NULL,
            incarnation INTEGER NOT NULL, sequence INTEGER NOT NULL, lost INTEGER NOT NULL,
            UNIQUE (name, stream, incarnation, sequence))
        """

    /// Messages of a burst, before they become rows of `messages`.
    private static let staged = "CREATE TABLE staged (number INTEGER PRIMARY KEY AUTOINCREMENT, messages BLOB NOT NULL)"

    /// The part of the file beside the database that has the messages in place of `messages`.
    /// What it loses is asked for again from where the cursors were before.
    private static let burstFile =
        ["place", "bytes", "checksum"].map { "ALTER TABLE staged ADD COLUMN \($0) INTEGER" } + [
            """
            CREATE TABLE staged_cursors (
                number INTEGER NOT NULL, name TEXT NOT NULL, stream TEXT, incarnation INTEGER, sequence INTEGER,
                PRIMARY KEY (number, name)) WITHOUT ROWID
            """
        ]
}
