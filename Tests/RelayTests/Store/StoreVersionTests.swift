import GRDB
import NIOCore
import Platform
import TestSupport
import Testing

@testable import Relay

/// Stores as earlier versions left them, brought up to date.
@Suite("Local store: earlier versions")
struct StoreVersionTests {
    /// What each version has that later ones may have changed.
    private struct Version {
        let number: Int

        var hasRuns: Bool { number >= 3 }
        var hasGaps: Bool { number >= 4 }
        var hasSpans: Bool { number >= 5 }
        var hasStaged: Bool { number >= 7 }
        var hasReadLetters: Bool { number >= 8 }
        var hasBurstFile: Bool { number >= 9 }
        var hasIgnored: Bool { number >= 10 }

        /// The messages that are rows; the stream had lost two before the last one.
        let rows: [UInt64] = [1, 2, 5]
        /// The messages of a burst that are no rows yet.
        var staged: [UInt64] { hasStaged ? [6, 7] : [] }
        var all: [UInt64] { rows + staged }
        var last: UInt64 { all.last ?? 0 }

        /// Writes a store as this version would have left it.
        func write(to path: String) throws {
            let migrator = StoreSchema.migrator
            let old = try DatabaseQueue(path: path)
            defer { try? old.close() }
            try old.writeWithoutTransaction { try $0.execute(sql: "PRAGMA journal_mode = WAL") }
            try migrator.migrate(old, upTo: migrator.migrations[number - 1])
            try old.write { database in
                try writeMessages(to: database)
                try writePlaces(to: database)
                try writeDesk(to: database)
            }
        }

        private func writeMessages(to database: Database) throws {
            try database.execute(sql: "INSERT INTO streams (number, name, incarnation) VALUES (1, 'N_stream', 1000)")
            let lines = rows.map { StoreFixture.line($0) }
            try database.execute(
                sql: "INSERT INTO topics (number, name, messages, bytes) VALUES (1, 'chat.lobby', ?, ?)",
                arguments: [lines.count, lines.reduce(0) { $0 + $1.payload.count }])
            for line in lines {
                try database.execute(
                    sql: "INSERT INTO messages (row, topic, time, id, sender, payload) VALUES (?, 1, ?, ?, ?, ?)",
                    arguments: [
                        RowNumber.row(stream: 1, sequence: line.place.sequence), line.time.milliseconds, line.id,
                        line.from, Data(line.payload),
                    ])
            }
            try database.execute(
                sql: "INSERT INTO unsearched (first, last) VALUES (?, ?)",
                arguments: [RowNumber.row(stream: 1, sequence: 1), RowNumber.row(stream: 1, sequence: 5)])
            let burst = EncodedMessages.encoding(staged.map { StoreFixture.line($0) })
            if hasBurstFile {
                _ = try Staging(in: database).add(burst, passedBy: ["chat.lobby"])
            } else {
                for value in burst {
                    try database.execute(
                        sql: "INSERT INTO staged (messages) VALUES (?)",
                        arguments: [Data(value.bytes.readableBytesView)])
                }
            }
        }

        private func writePlaces(to database: Database) throws {
            try database.execute(
                sql: "INSERT INTO cursors VALUES ('chat.lobby', 'N_stream', 1000, ?)", arguments: [Int64(last)])
            try database.execute(sql: "INSERT INTO read_marks VALUES ('chat.lobby', 'N_stream', 1000, 2)")
            guard hasGaps else { return }
            let gap = """
                INSERT INTO gaps (name, stream, incarnation, sequence, lost) VALUES ('chat.lobby', 'N_stream', 1000, ?, ?)
                """
            try database.execute(sql: gap, arguments: [5, 2])
            if hasSpans {
                try database.execute(
                    sql: "INSERT INTO spans VALUES ('chat.lobby', 'N_stream', 1000, 1, ?)", arguments: [Int64(last)])
            } else {
                // Where what was received begins.
                try database.execute(sql: gap, arguments: [1, 0])
            }
        }

        private func writeDesk(to database: Database) throws {
            try database.execute(sql: "INSERT INTO facts VALUES ('a', 'b')")
            try database.execute(sql: "INSERT INTO joined VALUES (0, 'chat.lobby')")
            try database.execute(sql: "INSERT INTO drafts (conversation, text) VALUES ('chat.lobby', 'half')")
            try database.execute(sql: "INSERT INTO lines (text) VALUES ('said')")
            try database.execute(
                sql: """
                    INSERT INTO letters (number, direction, id, person, postbox, time, text)
                    VALUES (1, 0, '1', 'carol', 'personal', 1, 'a note')
                    """)
            try database.execute(
                sql: "INSERT INTO letter_words (rowid, text, sender) VALUES (1, 'a note', 'carol')")
            for (id, state, reason) in [("1", 0, nil), ("2", 2, "refused")] as [(String, Int, String?)] {
                try database.execute(
                    sql: """
                        INSERT INTO outbox (id, person, place, payload, may_be_stored, is_unsigned, state, reason, since)
                        VALUES (?, NULL, 'chat.lobby', ?, 0, 0, ?, ?, 5)
                        """, arguments: [id, Data("typed".utf8), state, reason])
            }
            if hasRuns {
                try database.execute(sql: "INSERT INTO runs VALUES ('ended')")
                try database.execute(sql: "UPDATE outbox SET run = 'ended' WHERE state = 0")
            }
            if hasReadLetters {
                try database.execute(
                    sql: "INSERT INTO read_letters (postbox, incarnation, sequence) VALUES ('personal', 7, 3)")
            }
            if hasIgnored { try database.execute(sql: "INSERT INTO ignored (name) VALUES ('spam')") }
        }
    }

    @Test(
        "B9 a store of each earlier version is brought up to date, and keeps its messages, outbox, gaps and bursts",
        arguments: 2..<StoreSchema.migrator.migrations.count)
    func migrated(number: Int) async throws {
        let version = Version(number: number)
        let fixture = try StoreFixture()
        try version.write(to: fixture.path)

        let (store, isRecreated) = try LocalStore.open(.file(fixture.path), clock: fixture.time)
        #expect(!isRecreated && store.rescue == nil)
        let isUpToDate = try await store.database.read { try StoreSchema.migrator.hasCompletedMigrations($0) }
        #expect(isUpToDate)
        let kept = try await store.messages(of: TopicPattern("chat.lobby"), limit: 100).messages
        #expect(kept == version.all.map { StoreFixture.line($0) })
        #expect(try await store.status().messages == version.all.count)
        #expect(try await store.search(SearchQuery("hello")).hits.count == version.all.count)
        #expect(try await store.search(SearchQuery("note")).hits.count == 1)

        // What is whole is known from the version on that noted holes.
        let page = try await store.received(of: TopicPattern("chat.lobby"), limit: 100)
        #expect(page.sequences == (version.hasGaps ? version.all : []))
        #expect(page.gaps == (version.hasGaps ? [KeptGap(end: 5, lost: 2)] : []))
        let here = try await store.received(of: TopicPattern("chat.lobby"), limit: 100, acrossHoles: true)
        #expect(here.sequences == version.all)
        #expect(try await store.cursor(of: "chat.lobby") == StoreFixture.place(version.last))
        #expect(try await store.readMark(of: "chat.lobby") == StoreFixture.place(2))

        try await checkDesk(of: store, version)
        let run = try StoreFiles.run("new", of: fixture.path)
        #expect(try store.takeOver(as: run).map(\.message) == [StoreFixture.publish("1").message])
        try await store.keep([StoreFixture.line(8, "unheard of")])
        #expect(try await store.search(SearchQuery("unheard")).hits.count == 1)
        try await store.close()
        withExtendedLifetime(run) {}

        let again = try fixture.open()
        #expect(try await again.sequences() == version.all + [8])
        try await again.close()
    }

    private func checkDesk(of store: LocalStore, _ version: Version) async throws {
        #expect(try await store.joinedTopics() == ["chat.lobby"])
        #expect(try await store.drafts() == ["chat.lobby": "half"])
        #expect(try await store.lines() == [KeptLine("said")])
        #expect(try await store.ignored() == (version.hasIgnored ? ["spam"] : []))
        #expect(try await store.letters(limit: 9).map(\.text) == ["a note"])
        let read = try await store.readLetters(among: [])
        #expect(read.counts == (version.hasReadLetters ? ["personal": 1] : [:]))
        let outbox = try await store.outbox()
        #expect(outbox.map(\.message) == ["1", "2"].map { StoreFixture.publish($0).message })
        #expect(outbox.map(\.state) == [.queued, .notSent("refused")])
        #expect(outbox.first?.run == (version.hasRuns ? "ended" : nil))
        let facts = try await store.database.read { try String.fetchAll($0, sql: "SELECT value FROM facts") }
        #expect(facts == ["b"])
    }
}
