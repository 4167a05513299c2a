import GRDB
import Platform
import TestSupport
import Testing

@testable import Relay

@Suite("Local store: upkeep")
struct StoreUpkeepTests {
    /// So many messages of two topics by turns, each with a payload of some 400 bytes.
    private func fill(_ store: LocalStore, _ count: UInt64, at time: Int64) async throws {
        let text = String(repeating: "word ", count: 60)
        for start in stride(from: UInt64(1), through: count, by: 500) {
            let end = min(count, start + 499)
            try await store.keep(
                (start...end).map {
                    StoreFixture.line(
                        $0, text, topic: $0 % 2 == 0 ? "even" : "odd", time: time + Int64($0) * 1_000)
                })
        }
    }

    /// The bytes of the database alone: its log keeps its length, and is written from its beginning again.
    private func fileBytes(_ fixture: StoreFixture) throws -> Int {
        let attributes = try FileManager.default.attributesOfItem(atPath: fixture.path)
        return try #require(attributes[.size] as? Int)
    }

    /// Lets time pass until the store is found in order.
    private func untilInOrder(_ time: ManualTime) async throws {
        try await eventually("the end of the steps") {
            if let wait = time.untilNext {
                guard wait < .seconds(60) else { return true }
                time.advance(by: wait)
            }
            return false
        }
    }

    @Test(
        "An open store is looked after in the background: not at once, then a step at a time, and again and again",
        .processorBound)
    func background() async throws {
        let (fixture, store) = try StoreFixture.opened()
        try await fill(store, 3_000, at: 0)
        try await store.untilSearched()
        try await store.compact(.unlimited)
        let before = try await store.status()
        let bytes = try fileBytes(fixture)
        let time = ManualTime()
        store.lookAfter(RetentionPolicy(all: .init(bytes: before.messageBytes / 3)), by: time)
        try await eventually("the first wait") { time.untilNext == .seconds(10) }
        time.advance(by: .milliseconds(9_999))
        #expect(try await store.status().messages == 3_000)
        time.advance(by: .milliseconds(1))
        // A step, and everybody else's turn.
        try await eventually("the pause") { time.untilNext == .milliseconds(50) }
        #expect(try await store.status().messages == 3_000 - StoreDeletion.rowsAtOnce)
        try await untilInOrder(time)
        let after = try await store.status()
        #expect((995...1_000).contains(after.messages))
        #expect(try fileBytes(fixture) < bytes / 2)

        try await fill(store, 3_600, at: 0)
        #expect(try await store.status().messages > 1_000)
        time.advance(by: .seconds(60))
        try await eventually("the next look") { time.untilNext != .seconds(60) }
        try await untilInOrder(time)
        #expect(try await store.status().messageBytes <= before.messageBytes / 3)
        #expect(try await store.sequences().last == 3_600)
        try await store.close()
        try await eventually("the end of the waits") { time.untilNext == nil }
    }

    @Test("While the connection rests nothing of an open store is deleted, and nothing waits for the next step")
    func resting() async throws {
        let store = try StoreFixture.store()
        try await fill(store, 10, at: 0)
        try await store.untilSearched()
        let time = ManualTime()
        let gate = RestGate()
        gate.set(isOpen: false)
        store.lookAfter(RetentionPolicy(all: .init(bytes: 1)), by: time, while: gate)
        try await eventually("the first wait") { time.untilNext == .seconds(10) }
        time.advance(by: .seconds(3_600))
        #expect(try await store.status().messages == 10 && time.untilNext == nil)
        gate.set(isOpen: true)
        try await eventually("the next step") { time.untilNext != nil }
        try await untilInOrder(time)
        #expect(try await store.status().messages < 10)
        try await store.close()
        try await eventually("the end of the waits") { time.untilNext == nil }
    }

    @Test("What a stream has lost goes by its age, and in its turn where it is too much", arguments: [true, false])
    func lost(goesByAge: Bool) async throws {
        let (fixture, store) = try StoreFixture.opened()
        let now = fixture.time.secondsSince1970 * 1_000
        func line(_ sequence: UInt64, _ text: String, age: Int64) -> KeptMessage {
            StoreFixture.line(sequence, text, time: now - age * 1_000)
        }
        try await store.keep((1...4).map { line($0, "old", age: 7_200 - Int64($0)) })
        try await store.commit([.rewound(StoreFixture.stream, through: 2, foundBy: "chat.lobby")])
        let new = (3...4).map { line($0, "new", age: 60 - Int64($0)) }
        try await store.keep(new)
        #expect(try await store.sequences() == [1, 2, 3, 4, 3, 4])
        let bytes = new.reduce(0) { $0 + $1.payload.count }
        let policy = RetentionPolicy(all: goesByAge ? .init(age: .seconds(3_600)) : .init(bytes: bytes))
        try await store.compact(policy)
        let kept = try await store.messages(of: TopicPattern(">"), limit: 10)
        #expect(kept.sequences == [3, 4] && kept.messages.allSatisfy { $0.message?.text == "new" })
        #expect(try await store.status().messages == 2)
        try await store.close()
    }

    @Test("A topic is forgotten with all that is kept of it, and the others stay")
    func forget() async throws {
        let store = try StoreFixture.store()
        try await fill(store, 1_200, at: 0)
        try await store.commit([
            .draft(conversation: "odd", "secret"), .draft(conversation: "even", "stays"),
            .cursor("odd", StoreFixture.place(1)), .readMark("odd", StoreFixture.place(1)),
            .outbox(StoreFixture.publish("1", to: "odd")),
        ])
        #expect(try await store.forget(TopicPattern("odd")) == 600)
        #expect(try await store.sequences("odd").isEmpty)
        #expect(try await store.sequences("even").count == 600)
        #expect(try await store.status().topics == 1)
        #expect(try await store.desk().drafts == ["even": "stays"])
        #expect(try await store.cursor(of: "odd") == nil)
        #expect(try await store.readMark(of: "odd") == nil)
        #expect(try await store.outbox().count == 1)
        #expect(try await store.search(SearchQuery("in:odd word")).hits.isEmpty)
        #expect(try await store.forget(TopicPattern("none.>")) == 0)
        // It may come back.
        try await store.keep([StoreFixture.line(1_201, topic: "odd")])
        #expect(try await store.sequences("odd") == [1_201])
        #expect(try await store.forget(TopicPattern(">")) == 601)
        #expect(try await store.status().messages == 0)
        try await store.close()
    }

    @Test("What is deleted is no longer in the file after a compaction")
    func overwritten() async throws {
        let (fixture, store) = try StoreFixture.opened()
        try await store.keep((UInt64(1)...50).map { StoreFixture.line($0, "xyzzyplugh number \($0)", topic: "odd") })
        try await store.keep([StoreFixture.line(51, "stays")])
        try await store.untilSearched()
        #expect(try await store.search(SearchQuery("xyzzy*")).hits.count == 50)
        try await store.forget(TopicPattern("odd"))
        try await store.compact(.unlimited)
        try await store.close()
        let content = String(decoding: try Data(contentsOf: URL(fileURLWithPath: fixture.path)), as: UTF8.self)
        #expect(!content.contains("xyzzyplugh"))
        #expect(content.contains("stays"))
    }
}
