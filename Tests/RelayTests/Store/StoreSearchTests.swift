import GRDB
import TestSupport
import Testing

@testable import Relay

@Suite("Local store: search")
struct StoreSearchTests {
    private static let lines: [KeptMessage] = [
        StoreFixture.line(1, "The build is green", from: "bob"),
        StoreFixture.line(2, "Rebuilding the docs", topic: "chat.docs", from: "carol"),
        StoreFixture.line(3, "builds are GREEN again, is it?", topic: "chat.docs", from: "bob the builder"),
        StoreFixture.line(4, "今天下午开会，请准时参加", from: "dora"),
        StoreFixture.line(5, "Café at noon", topic: "alerts", from: "carol"),
        StoreFixture.line(6, "no:thing \"quoted\" t1 here", topic: "alerts", from: "t1"),
    ]

    private func found(_ store: LocalStore, _ text: String) async throws -> [UInt64] {
        try await store.search(SearchQuery(text)).hits.compactMap { hit -> UInt64? in
            if case .message(let message) = hit { message.place.sequence } else { nil }
        }
    }

    private func check(_ store: LocalStore) async throws {
        let expected: [(String, [UInt64])] = [
            ("build", [3, 1]), ("BUILD green", [3, 1]), ("\"build\"", [1]), ("\"is green\"", [1]), ("\"green is\"", []),
            ("rebuild", [2]), ("cafe", [5]), ("CAFÉ", [5]), ("build -again", [1]), ("again -build", []),
            ("开会", [4]), ("下午", [4]), ("会开", []), ("请准时", [4]), ("午开会，请", [4]),
            ("from:bob", [3, 1]), ("from:\"bob the\"", [3]), ("from:carol from:dora", [5, 4, 2]),
            ("from:carol cafe", [5]), ("from:carol build", []), ("in:chat.docs build", [3]),
            ("in:chat.*", [4, 3, 2, 1]),
            ("in:> in:alerts", [6, 5, 4, 3, 2, 1]), ("in:nowhere build", []), ("in:alerts -cafe", [6]), ("t1", [6]),
            ("\"quoted\"", [6]), ("after:1970-01-01T00:00:05Z", [6, 5]), ("before:1970-01-01T00:00:02Z", [1]),
            ("after:1970-01-01T00:00:02Z before:1970-01-01T00:00:04Z build", [3]), ("nothing here", []), ("", []),
        ]
        for (text, sequences) in expected {
            #expect(try await found(store, text) == sequences, "\(text)")
        }
    }

    @Test("Words, phrases, parts of ideographs, senders, topics and times are found, the newest first")
    func all() async throws {
        let store = try StoreFixture.store()
        try await store.keep(Self.lines)
        try await store.untilSearched()
        try await check(store)
    }

    @Test("What the words still lack is found all the same")
    func unsearched() async throws {
        let store = try StoreFixture.store()
        // Nothing brings the words up to date: it is written beside the intake.
        try await store.database.write { database in
            _ = try MessageWriting.write([Self.lines], to: database)
        }
        try await check(store)
        // Then a part of it.
        _ = try await store.database.write { try SearchIndexing.step(in: $0) }
        try await check(store)
        try await store.database.write { database in
            _ = try MessageWriting.write([[StoreFixture.line(7, "build seven")]], to: database)
        }
        #expect(try await found(store, "build") == [7, 3, 1])
    }

    @Test("What a stream has lost is found at its time, behind what is newer", arguments: ["\"word\"", "in:lobby"])
    func lost(text: String) async throws {
        let store = try StoreFixture.store()
        func keep(_ sequences: ClosedRange<UInt64>, from time: Int64) async throws {
            try await store.keep(
                sequences.map { StoreFixture.line($0, "word", topic: "lobby", time: time + Int64($0) * 1_000) })
        }
        try await keep(1...10, from: 0)
        try await store.commit([.rewound(StoreFixture.stream, through: 5, foundBy: "lobby")])
        try await keep(6...20, from: 10_000)
        try await store.untilSearched()
        var query = SearchQuery(text)
        var times: [Int64] = []
        while times.count < 25 {
            let result = try await store.search(query, limit: 4)
            times += result.hits.map { $0.time.milliseconds / 1_000 }
            guard !result.isComplete, let last = result.hits.last else { break }
            query.before = last.time
        }
        #expect(times == Array((16...30).reversed()) + Array((1...10).reversed()))
    }

    @Test("Letters are found beside messages, by their text and by the other one's name")
    func letters() async throws {
        let store = try StoreFixture.store()
        try await store.keep(Self.lines)
        let letter = KeptLetter(
            direction: .received, id: "1", person: "bob", postbox: "personal", time: Timestamp(milliseconds: 2_500),
            text: "the build again")
        try await store.commit([.letter(letter)])
        let hits = try await store.search(SearchQuery("build")).hits
        #expect(hits == [.message(Self.lines[2]), .letter(letter), .message(Self.lines[0])])
        #expect(try await store.search(SearchQuery("build from:bob")).hits.count == 3)
        #expect(try await store.search(SearchQuery("build in:chat.>")).hits.count == 2)
        #expect(try await store.search(SearchQuery("build before:1970-01-01T00:00:02Z")).hits.count == 1)
        try await store.commit([.letterDeleted(.received, id: "1")])
        #expect(try await store.search(SearchQuery("build")).hits.count == 2)
    }

    @Test("No more are found than were asked for, and that there are more is said")
    func limit() async throws {
        let store = try StoreFixture.store()
        try await store.keep((UInt64(1)...20).map { StoreFixture.line($0, "same words") })
        let part = try await store.search(SearchQuery("same"), limit: 5)
        #expect(part.hits.count == 5 && !part.isComplete && part.hits[0].time == Timestamp(milliseconds: 20_000))
        let all = try await store.search(SearchQuery("same"), limit: 20)
        #expect(all.hits.count == 20 && all.isComplete)
        await #expect(throws: RelayError.invalidArgument("The limit is from 1 to 1000")) {
            try await store.search(SearchQuery("same"), limit: 0)
        }
    }

    @Test(
        "A beginning that every second message has finds the newest ones, whatever else is asked for", .processorBound)
    func frequentBeginnings() async throws {
        let store = try StoreFixture.store()
        let sequences = Array(UInt64(1)...6_000)
        func has(_ sequence: UInt64, _ beginning: String) -> Bool {
            switch beginning {
            case "th": sequence % 2 == 0
            case "wi": sequence % 2 == 1 || sequence <= 40
            case "zebra": sequence % 1_999 == 0
            default: sequence % 10 == 0
            }
        }
        let endings = ["e", "em", "is"]
        let lines = sequences.map { sequence -> KeptMessage in
            var words: [String] = ["line"]
            if has(sequence, "th") { words.append("th" + endings[Int(sequence / 2 % 3)]) }
            if has(sequence, "wi") { words.append("with") }
            if has(sequence, "zebra") { words.append("zebras") }
            if has(sequence, "alpha") { words.append("alpha") }
            return StoreFixture.line(
                sequence, words.joined(separator: " "), topic: sequence % 4 < 2 ? "chat.even" : "chat.odd",
                from: sequence % 6 == 0 ? "carol" : "bob")
        }
        try await store.keep(lines)
        try await store.untilSearched()
        let expected: [(String, (UInt64) -> Bool)] = [
            ("th", { has($0, "th") }),
            ("th zebra", { has($0, "th") && has($0, "zebra") }),
            ("th wi", { has($0, "th") && has($0, "wi") }),
            ("th from:carol", { has($0, "th") && $0 % 6 == 0 }),
            ("th in:chat.odd", { has($0, "th") && $0 % 4 >= 2 }),
            ("alpha -wi", { has($0, "alpha") && !has($0, "wi") }),
            ("zebra -th", { has($0, "zebra") && !has($0, "th") }),
            ("th before:1970-01-01T00:01:40Z", { has($0, "th") && $0 < 100 }),
            ("th before:1970-01-01T00:30Z", { has($0, "th") && $0 < 1_800 }),
            ("th after:1970-01-01T01:39:50Z", { has($0, "th") && $0 >= 5_990 }),
            ("zebra", { has($0, "zebra") }),
        ]
        for (text, isMeant) in expected {
            let meant = sequences.reversed().filter(isMeant)
            #expect(try await found(store, text) == Array(meant.prefix(100)), "\(text)")
            #expect(try await store.search(SearchQuery(text)).isComplete == (meant.count <= 100), "\(text)")
        }
    }
}
