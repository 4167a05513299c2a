import TestSupport
import Testing

@testable import Relay

@Suite("Local store: letters")
struct StoreLettersTests {
    private static func id(_ sequence: UInt64, incarnation: UInt64 = 7) -> String {
        PostboxMessageID(incarnation: incarnation, sequence: sequence).text
    }

    private static func letter(
        _ sequence: UInt64, postbox: String = "personal", time: Int64 = 5, incarnation: UInt64 = 7
    ) -> KeptLetter {
        KeptLetter(
            direction: .received, id: id(sequence, incarnation: incarnation), person: "bob", postbox: postbox,
            time: Timestamp(milliseconds: time), text: "letter \(sequence)")
    }

    private static func listed(
        _ sequences: [UInt64], _ part: Range<UInt64>, postbox: String? = nil, incarnation: UInt64 = 7
    ) -> StoreChange {
        .lettersListed(
            KeptLetterPage(
                letters: sequences.map { letter($0) }, incarnation: incarnation, start: part.lowerBound,
                end: part.upperBound, postbox: postbox, moment: Timestamp(milliseconds: 99)))
    }

    private func texts(_ store: LocalStore, postbox: String? = nil) async throws -> [String] {
        try await store.letterPage(limit: 100, nextToken: nil, postbox: postbox, owner: "alice").page.items
            .map(\.message)
    }

    @Test("B46 letters of one moment are listed in the stream's order, whatever came first")
    func order() async throws {
        let store = try StoreFixture.store()
        try await store.commit([4, 2, 9, 1].map { .letter(Self.letter($0)) })
        #expect(try await texts(store) == ["letter 1", "letter 2", "letter 4", "letter 9"])
        let first = try await store.letterPage(limit: 3, nextToken: nil, postbox: nil, owner: "alice")
        #expect(first.asOf == nil && first.page.items.map(\.ownerId) == ["alice", "alice", "alice"])
        let second = try await store.letterPage(
            limit: 3, nextToken: first.page.nextToken, postbox: nil, owner: "alice")
        #expect(second.page.items.map(\.message) == ["letter 9"] && second.page.nextToken == nil)
    }

    @Test("B50 a list takes away what it does not have, and nothing beyond its part and its postbox")
    func listed() async throws {
        let store = try StoreFixture.store()
        try await store.commit((1...6).map { .letter(Self.letter(UInt64($0), postbox: $0 == 3 ? "work" : "personal")) })
        try await store.commit([Self.listed([2], 1..<5, postbox: "personal")])
        #expect(try await texts(store) == ["letter 2", "letter 3", "letter 5", "letter 6"])
        let asOf = try await store.letterPage(limit: 1, nextToken: nil, postbox: nil, owner: "").asOf
        #expect(asOf == Timestamp(milliseconds: 99))
        try await store.commit([Self.listed([], 1..<100, incarnation: 8), Self.listed([], 0..<0)])
        #expect(try await texts(store).count == 4)
        try await store.commit([Self.listed([5], 4..<100)])
        #expect(try await texts(store) == ["letter 2", "letter 3", "letter 5"])
        #expect(try await store.search(SearchQuery("letter")).hits.count == 3)
    }

    @Test("B50 any number of letters is forgotten, where the store takes only some at a time, too")
    func manyDeleted() async throws {
        let fixture = try StoreFixture()
        let store = try fixture.open(StoreBatching(rows: 10, maximumRows: 1_000))
        let letters = (1...3_500).map { Self.letter(UInt64($0)) }
        try await store.commit(letters.map { .letter($0) })
        await store.forgetLetters(letters.dropLast().map(\.id))
        try await store.flush()
        #expect(try await texts(store) == ["letter 3500"])
        try await store.close()
        withExtendedLifetime(fixture) {}
    }

    @Test("Letters go with their age, and all of them when they are to be forgotten")
    func gone() async throws {
        let (fixture, store) = try StoreFixture.opened()
        let now = fixture.time.secondsSince1970 * 1_000
        try await store.commit([
            .letter(Self.letter(1, time: now - 7_200_000)), .letter(Self.letter(2, time: now)), Self.listed([], 0..<0),
        ])
        while try await store.compactStep(RetentionPolicy(all: .init(age: .seconds(3_600)))) {}
        #expect(try await texts(store) == ["letter 2"])
        let part = try await store.letters(after: 0, limit: 10)
        let last = try #require(part.last)
        #expect(part.letters.map(\.text) == ["letter 2"])
        #expect(try await store.letters(after: last, limit: 10).last == nil)
        #expect(try await store.forgetLetters() == 1)
        let kept = try await store.letterPage(limit: 1, nextToken: nil, postbox: nil, owner: "")
        #expect(kept.page.items.isEmpty && kept.asOf == nil)
        #expect(try await store.search(SearchQuery("letter")).hits.isEmpty)
        try await store.close()
    }

    @Test("What was read stays read, whatever the retention deletes, until the letter itself is gone")
    func read() async throws {
        let fixture = try StoreFixture()
        var store = try fixture.open()
        let now = fixture.time.secondsSince1970 * 1_000
        try await store.commit(
            (1...4).map {
                .letter(Self.letter(UInt64($0), postbox: $0 == 4 ? "work" : "personal", time: now - 7_200_000))
            })
        await store.append([], [2, 3].map { .letterRead(id: Self.id($0), postbox: "personal") })
        await store.append(
            [], [.letterRead(id: Self.id(4), postbox: "work"), .letterRead(id: "none", postbox: "work")])
        var known = try await store.readLetters(among: (1...4).map { Self.id(UInt64($0)) } + ["none"])
        #expect(known.ids == [Self.id(2), Self.id(3), Self.id(4)])
        #expect(known.counts == ["personal": 2, "work": 1] && known.kept == ["personal": 3, "work": 1])
        while try await store.compactStep(RetentionPolicy(all: .init(age: .seconds(3_600)))) {}
        try await store.close()

        store = try fixture.open()
        known = try await store.readLetters(among: [Self.id(3)])
        #expect(known.ids == [Self.id(3)] && known.counts == ["personal": 2, "work": 1] && known.kept.isEmpty)
        try await store.commit([.letterDeleted(.received, id: Self.id(4))])
        // Another device has deleted the second letter.
        try await store.commit([Self.listed([1, 3], 1..<5, postbox: "personal")])
        known = try await store.readLetters(among: [Self.id(2), Self.id(3)])
        #expect(known.ids == [Self.id(3)] && known.counts == ["personal": 1])
        // A postbox that was made anew has nothing that was read.
        try await store.commit([Self.listed([], 0..<0, incarnation: 8), .letter(Self.letter(1, incarnation: 8))])
        #expect(try await store.readLetters(among: []).counts.isEmpty)
        try await store.forgetLetters()
        #expect(try await store.readLetters(among: [Self.id(3)]) == ReadLetters())
        try await store.close()
    }

    @Test("Postboxes are kept as the network told them last, so many at most, and go with the letters")
    func postboxes() async throws {
        let store = try StoreFixture.store()
        #expect(try await store.postboxes() == nil)
        func postbox(_ name: String, _ title: String? = nil, isEnabled: Bool = true) -> Postbox {
            Postbox(
                id: name, name: name, title: title, sudoId: "seller", isEnabled: isEnabled,
                createdAt: Timestamp(milliseconds: 42))
        }
        let two = KeptPostboxes(
            items: [postbox("shop", "Sales 📦"), postbox("old", isEnabled: false)], asOf: Timestamp(milliseconds: 7))
        try await store.commit([.postboxesListed(two)])
        #expect(try await store.postboxes() == two)
        let many = KeptPostboxes(items: (1...1_001).map { postbox("b\($0)") }, asOf: Timestamp(milliseconds: 8))
        try await store.commit([.postboxesListed(many)])
        let kept = try await store.postboxes()
        #expect(kept?.asOf == many.asOf && kept?.items == Array(many.items.prefix(1_000)))
        try await store.commit([.letter(Self.letter(1))])
        #expect(try await store.forgetLetters() == 1)
        #expect(try await store.postboxes() == nil)
    }
}
