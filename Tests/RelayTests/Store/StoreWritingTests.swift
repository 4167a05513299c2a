import Dispatch
import GRDB
import NATS
import TestSupport
import Testing

@testable import Relay

@Suite("Local store: writing")
struct StoreWritingTests {
    @Test("B38 what a flood brought is there for every reader, each message once, with its figures, and is found")
    func flood() async throws {
        let (fixture, store) = try StoreFixture.opened()
        let other = StreamIdentity(name: "M_stream", incarnation: .max)
        // Of two topics of two streams, some without what other programs leave out.
        let messages = (UInt64(1)...2_500).map { sequence -> KeptMessage in
            var message = StoreFixture.line(
                sequence, "line \(sequence)", topic: sequence % 3 == 0 ? "chat.qa" : "chat.lobby",
                stream: sequence % 5 == 0 ? other : StoreFixture.stream)
            if sequence % 7 == 0 { message.id = nil }
            if sequence % 11 == 0 { message.from = nil }
            if sequence % 13 == 0 { message.payload = [] }
            return message
        }
        try await store.keep(Array(messages.prefix(100)))
        // The server brings some again after a reconnection.
        try await store.keep(Array(messages.dropFirst(50)), [.cursor("chat.lobby", StoreFixture.place(2_500))])
        #expect(try await store.cursor(of: "chat.lobby") == StoreFixture.place(2_500))
        let lobby = try await store.messages(of: TopicPattern("chat.lobby"), after: nil, limit: 10_000).messages
        let expected = messages.filter { $0.topic == "chat.lobby" }
        #expect(Set(lobby) == Set(expected) && lobby.count == expected.count)
        let status = try await store.status()
        #expect(status.messages == 2_500 && status.topics == 2)
        #expect(status.messageBytes == messages.reduce(0) { $0 + $1.payload.count })
        #expect(try await store.search(SearchQuery("\"line 2443\"")).hits.count == 1)
        // The words follow when no more comes.
        try await eventually("the words") {
            if let wait = fixture.time.untilNext { fixture.time.advance(by: wait) }
            return try await store.hasAllWords()
        }
        // What has no place in a store is counted and left out.
        try await store.keep([StoreFixture.line(1 << 48)])
        #expect(try await store.status().notKept == 1)
        try await store.close()
    }

    @Test("Readers do not wait for the writer, and see what was committed before")
    func readers() async throws {
        let store = try StoreFixture.store()
        try await store.keep([StoreFixture.line(1)])
        let (begun, gate) = (Completion<Void>(), DispatchSemaphore(value: 0))
        let writer = Task {
            try await store.database.write { database in
                try StoreChange.line(KeptLine("under way")).write(to: database)
                begun.fulfil(())
                gate.wait()
            }
        }
        await begun.value()
        #expect(try await store.sequences() == [1])
        #expect(try await store.desk().lines == [])
        gate.signal()
        try await writer.value
        #expect(try await store.desk().lines == [KeptLine("under way")])
        try await store.close()
    }

    @Test("Who appends waits for room while the writer is behind, and no longer than the rules' patience")
    func patience() async throws {
        let fixture = try StoreFixture()
        let store = try fixture.open(StoreBatching(rows: 1, maximumRows: 1))
        var news = store.news.makeAsyncIterator()
        let (begun, gate) = (Completion<Void>(), DispatchSemaphore(value: 0))
        let writer = Task {
            try await store.database.write { _ in
                begun.fulfil(())
                gate.wait()
            }
        }
        await begun.value()
        await store.append([StoreFixture.line(1)])
        let second = Task { await store.append([StoreFixture.line(2)]) }
        try await eventually("the wait") { fixture.time.waits.contains(.seconds(5)) }
        fixture.time.advance(by: .seconds(5))
        let isKept = await second.value
        #expect(!isKept)
        guard case .failing(let error)? = await news.next() else {
            Issue.record("nothing was told")
            return
        }
        #expect(error.words.contains("does not keep up"))
        gate.signal()
        try await writer.value
        #expect(await news.next() == .recovered(notKept: 1))
        #expect(try await store.sequences() == [1])
        #expect(try await store.status().notKept == 1)
        try await store.close()
    }

    @Test("What waits is kept while more keeps coming")
    func keptWithinAFlood() async throws {
        let store = try StoreFixture.store()
        let flood = Task {
            var sequence: UInt64 = 0
            while !Task.isCancelled {
                sequence += 1
                await store.append([StoreFixture.line(sequence)])
            }
        }
        try await eventually("some of it") { try await !store.sequences().isEmpty }
        try await store.flush()
        flood.cancel()
        await flood.value
        try await store.close()
    }

    /// What a copy of the files has, as after `kill -9`: the newest message, how far was read, and what was being
    /// typed.
    private struct Copied: Equatable {
        let newest: UInt64
        let read: UInt64
        let draft: String?
    }

    @Test("What was shown as read is kept at once with its mark, which is ahead of no message at any moment")
    func killedBehindMark() async throws {
        let (fixture, store) = try StoreFixture.opened()
        func copied(_ name: String) async throws -> Copied {
            let copy = fixture.folder.path(name)
            try await store.database.writeWithoutTransaction { database in
                try database.beginTransaction()
                for ending in ["", "-wal"] { try copyFile(fixture.path + ending, copy + ending) }
                try database.rollback()
            }
            let other = try LocalStore.open(copy)
            let newest = try await other.sequences().last ?? 0
            let read = try await other.readMark(of: "chat.lobby")?.sequence ?? 0
            let draft = try await other.desk().drafts["chat.lobby"]
            try await other.close()
            return Copied(newest: newest, read: read, draft: draft)
        }
        // The time stands still: nothing waits for its batch.
        await store.append([StoreFixture.line(1)])
        await store.append([], [.readMark("chat.lobby", StoreFixture.place(1))])
        try await eventually("the mark") { try await store.readMark(of: "chat.lobby") == StoreFixture.place(1) }
        #expect(try await copied("first.sqlite") == Copied(newest: 1, read: 1, draft: nil))
        for sequence in UInt64(2)...10 {
            await store.append([StoreFixture.line(sequence)], [.cursor("chat.lobby", StoreFixture.place(sequence))])
            await store.append(
                [],
                [
                    .readMark("chat.lobby", StoreFixture.place(sequence)),
                    .draft(conversation: "chat.lobby", "\(sequence)"),
                ])
            let early = try await copied("early-\(sequence).sqlite")
            #expect(early.read <= early.newest)
            fixture.time.advance(by: .milliseconds(50))
        }
        try await eventually("the last mark") {
            if let wait = fixture.time.untilNext { fixture.time.advance(by: wait) }
            return try await store.readMark(of: "chat.lobby") == StoreFixture.place(10)
        }
        #expect(try await copied("last.sqlite") == Copied(newest: 10, read: 10, draft: "10"))
        try await store.close()
    }

    @Test("Closing writes what waits; what comes afterwards is not kept")
    func closing() async throws {
        let (fixture, store) = try StoreFixture.opened()
        await store.append([StoreFixture.line(1)])
        try await store.close()
        let isKept = await store.append([StoreFixture.line(2)])
        #expect(!isKept)
        await #expect(throws: RelayError.self) { try await store.commit([.line(KeptLine("late"))]) }
        let again = try fixture.open()
        #expect(try await again.sequences() == [1])
        try await again.close()
    }

    @Test("B38 what a topic receives behind a loss stays where it is when another topic finds the loss, too")
    func foundTwice() async throws {
        let store = try StoreFixture.store()
        func cursor(_ name: String, _ sequence: UInt64) -> StoreChange { .cursor(name, StoreFixture.place(sequence)) }
        try await store.keep(
            (1...6).map { StoreFixture.line($0, topic: $0 % 2 == 1 ? "odd" : "even") },
            [cursor("odd", 5), cursor("even", 6)])
        try await store.commit([.rewound(StoreFixture.stream, through: 2, foundBy: "odd")])
        try await store.keep([StoreFixture.line(3, "new", topic: "odd")], [cursor("odd", 3)])
        try await store.commit([.rewound(StoreFixture.stream, through: 2, foundBy: "even")])
        let all = try await store.messages(of: TopicPattern(">"), limit: 10).messages
        #expect(all.filter { $0.place.stream == StoreFixture.stream }.map(\.place.sequence) == [1, 2, 3])
        #expect(try await store.cursor(of: "odd")?.sequence == 3)
        #expect(try await store.cursor(of: "even")?.sequence == 2)
        // It may lose some once more.
        try await store.commit([.rewound(StoreFixture.stream, through: 1, foundBy: "even")])
        #expect(try await store.cursor(of: "odd")?.sequence == 1)
    }
}
