import GRDB
import NIOCore
import TestSupport
import Testing

@testable import Relay

@Suite("Local store: bursts")
struct StoreStagingTests {
    private static let other = StreamIdentity(name: "M_stream", incarnation: .max)

    /// A burst of two topics of two streams, some of it without what other programs leave out.
    private func burst(_ count: UInt64) -> [KeptMessage] {
        (1...count).map { sequence in
            var message = StoreFixture.line(
                sequence, "line \(sequence)", topic: sequence % 3 == 0 ? "chat.qa" : "chat.lobby",
                stream: sequence % 5 == 0 ? Self.other : StoreFixture.stream)
            if sequence % 7 == 0 { message.id = nil }
            if sequence % 11 == 0 { message.from = nil }
            if sequence % 13 == 0 { message.payload = [] }
            return message
        }
    }

    private func stagedCount(_ store: LocalStore) async throws -> Int? {
        try await store.database.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM staged") }
    }

    @Test("A value says all about its messages, and one of two megabytes is two")
    func value() throws {
        let messages = burst(100)
        let value = try #require(EncodedMessages.encoding(messages).first)
        #expect(value.messages == messages && value.count == 100 && value.refused == 0)
        #expect(value.payloadBytes == messages.reduce(0) { $0 + $1.payload.count })
        // No part of it is taken for the whole.
        for length in 0..<value.bytes.readableBytes {
            #expect(EncodedMessages.messages(in: try #require(value.bytes.getSlice(at: 0, length: length))) == nil)
        }

        let large = (UInt64(1)...8).map { StoreFixture.line($0, String(repeating: "x", count: 300_000)) }
        let parts = EncodedMessages.encoding(large).map { $0.messages.map(\.place.sequence) }
        #expect(parts == [[1, 2, 3, 4], [5, 6, 7, 8]])

        // What has no place in a store is counted and left out.
        let far = EncodedMessages.encoding([StoreFixture.line(1 << 48)])
        #expect(far.map(\.count) == [0] && far.map(\.refused) == [1])
    }

    @Test("Damage in a value is noticed or harmless, never a crash")
    func damage() throws {
        let value = try #require(EncodedMessages.encoding(burst(10)).first).bytes
        for place in 0..<value.readableBytes {
            for byte: UInt8 in [0, 1, 0x7f, 0xff] {
                var damaged = value
                damaged.setInteger(byte, at: place)
                #expect((EncodedMessages.messages(in: damaged)?.count ?? 0) <= 10)
            }
        }
    }

    @Test("B38 what a burst brought is there for every reader, each message once, in order and with its figures")
    func readers() async throws {
        let fixture = try StoreFixture()
        let store = try fixture.open()
        let messages = burst(2_500)
        try await store.keep(Array(messages.prefix(100)))
        // The server brings some again after a reconnection.
        try await store.keep(Array(messages.dropFirst(50)), [.cursor("chat.lobby", StoreFixture.place(2_500))])
        #expect(try await stagedCount(store) ?? 0 > 0)
        #expect(try await store.cursors() == ["chat.lobby": StoreFixture.place(2_500)])
        #expect(try await stagedCount(store) ?? 0 > 0)

        let lobby = try await store.messages(of: TopicPattern("chat.lobby"), after: nil, limit: 10_000)
        let expected = messages.filter { $0.topic == "chat.lobby" }
        let byPlace = { (message: KeptMessage) in message.place }
        #expect(Set(lobby.messages.map(byPlace)) == Set(expected.map(byPlace)))
        #expect(lobby.messages.count == expected.count)
        #expect(try await stagedCount(store) == 0)
        let status = try await store.status()
        #expect(status.messages == 2_500 && status.topics == 2)
        #expect(status.messageBytes == messages.reduce(0) { $0 + $1.payload.count })
        let hits = try await store.search(SearchQuery("\"line 2443\"")).hits
        #expect(hits.count == 1)
        try await store.close()
    }

    @Test("Once a burst is over its messages become rows and words without a reader")
    func quiet() async throws {
        let fixture = try StoreFixture()
        let store = try fixture.open()
        try await store.keep(burst(1_500))
        #expect(try await stagedCount(store) ?? 0 > 0)
        try await eventually("the wait") { fixture.time.waits.contains(.milliseconds(250)) }
        fixture.time.advance(by: .milliseconds(250))
        try await eventually("the rows") { try await stagedCount(store) == 0 }
        try await store.untilSearched()
        #expect(try await store.sequences().count == 1_500)
        try await store.close()
    }

    @Test("B9 a burst outlives the process that wrote it, and another one finds it")
    func outlives() async throws {
        let fixture = try StoreFixture()
        let store = try fixture.open()
        try await store.keep(burst(1_500), [.cursor("chat.lobby", StoreFixture.place(1_500))])
        // As after a kill: nobody has closed it.
        let second = try fixture.open()
        #expect(try await second.sequences().count == 1_500)
        #expect(try await second.cursor(of: "chat.lobby") == StoreFixture.place(1_500))
        try await second.close()
        try await store.close()
        let third = try fixture.open()
        #expect(try await stagedCount(third) == 0)
        try await third.close()
    }

    @Test("What is forgotten does not come back with a burst, and what a stream lost is put aside with it")
    func deletion() async throws {
        let fixture = try StoreFixture()
        let store = try fixture.open()
        let lines = (UInt64(1)...1_200).map { StoreFixture.line($0, topic: $0 % 2 == 0 ? "a" : "b") }
        try await store.keep(lines)
        #expect(try await store.forget(TopicPattern("a")) == 600)
        #expect(try await store.sequences("a") == [])
        #expect(try await store.sequences("b").count == 600)

        try await store.keep((UInt64(2_001)...3_200).map { StoreFixture.line($0, topic: "c") })
        #expect(try await stagedCount(store) ?? 0 > 0)
        try await store.commit([.rewound(StoreFixture.stream, through: 3_000)])
        try await store.keep([StoreFixture.line(3_001, "another", topic: "c")])
        let all = try await store.messages(of: TopicPattern("c"), limit: 10_000).messages
        #expect(all.count == 1_201)
        #expect(all.filter { $0.place.stream == StoreFixture.stream }.map(\.place.sequence).max() == 3_001)
        try await store.close()
    }

    @Test("A value that the disk has changed is given up, and nothing counts as whole any more")
    func damagedValue() async throws {
        let fixture = try StoreFixture()
        let store = try fixture.open()
        let span = StoreChange.received("chat.lobby", StoreFixture.stream, 1...1_200)
        try await store.keep((UInt64(1)...1_200).map { StoreFixture.line($0) }, [span])
        try await store.database.write { try $0.execute(sql: "UPDATE staged SET checksum = checksum + 1") }
        #expect(try await store.sequences() == [])
        #expect(try await store.spans(of: TopicPattern("chat.lobby"), in: StoreFixture.stream).all == [])
        try await store.keep([StoreFixture.line(1_201)])
        #expect(try await store.sequences() == [1_201])
        try await store.close()
    }
}
