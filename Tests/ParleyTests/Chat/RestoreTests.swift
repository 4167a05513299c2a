import NATS
import Relay
import TestSupport
import Testing

@testable import Parley

/// The engine on a store in a file, without a network.
@Suite("What the engine reads from the local store")
struct RestoreTests {
    private static let stream = StreamIdentity(name: "N_stream", incarnation: 1)

    /// Keeps messages of a topic, as a subscription would have.
    private static func fill(_ store: LocalStore, _ topic: String, _ range: ClosedRange<UInt64>) async throws {
        let messages = range.map { sequence in
            let time = Timestamp(milliseconds: Int64(sequence) * 1_000)
            let line = ChatLine(username: "bob", text: "m\(sequence)", timestamp: time)
            let envelope = Envelope(id: "id-\(sequence)", room: topic, message: line.value, start: time)
            return KeptMessage(
                place: KeptPlace(stream: stream, sequence: sequence), topic: topic, id: envelope.id, from: "bob",
                time: time, payload: envelope.encoded())
        }
        let place = KeptPlace(stream: stream, sequence: range.upperBound)
        await store.append(messages, [.received(topic, stream, range), .cursor(topic, place)])
        try await store.flush()
    }

    /// What the engine sends of topics, in short, until there are so many.
    private static func news(_ queue: EventQueue, _ count: Int) async throws -> [String] {
        var words: [String] = []
        try await eventually("\(count) pieces of news") {
            while let (event, _) = queue.take() {
                guard case .topic(let topic, let news) = event else { continue }
                switch news {
                case .kept(let kept): words.append("\(topic) kept \(span(kept))")
                case .keptUnread(let kept): words.append("\(topic) unread \(span(kept))")
                default: break
                }
            }
            return words.count >= count
        }
        return words
    }

    private static func span(_ kept: KeptTopic) -> String {
        let sequences = kept.messages.map(\.sequence)
        #expect(zip(sequences, sequences.dropFirst()).allSatisfy { $0 + 1 == $1 })
        return "\(sequences.first ?? 0)-\(sequences.last ?? 0) read \(kept.readThrough)"
    }

    @Test("B9 the newest page comes first, and behind it what was not read", arguments: [0, 250, 950, 990] as [UInt64])
    func firstPage(readThrough: UInt64) async throws {
        let folder = try TemporaryDirectory("restore")
        let path = folder.path("alice.sqlite")
        let store = try LocalStore.open(.file(path)).store
        try await Self.fill(store, "chat.lobby", 1...1_000)
        let mark = KeptPlace(stream: Self.stream, sequence: readThrough)
        if readThrough > 0 { try await store.commit([.readMark("chat.lobby", mark)]) }
        try await store.close()

        var plan = ConnectionPlan(target: .servers([ServerAddress(host: "127.0.0.1")], .none, user: "alice"))
        plan.store = path
        let connector = try Connector(plan, for: .chat(.ignore))
        let queue = EventQueue {}
        let engine = ChatEngine(connector, queue: queue)
        await engine.perform(.openStore)
        await engine.perform(.subscribe(topic: "chat.lobby"))
        var expected = ["chat.lobby kept 801-1000 read \(readThrough)"]
        if readThrough < 801 {
            // By whole pages.
            let first = readThrough / 200 * 200 + 1
            expected.append("chat.lobby unread \(first)-800 read \(readThrough)")
        }
        #expect(try await Self.news(queue, expected.count) == expected)
        await engine.stop()
    }
}
