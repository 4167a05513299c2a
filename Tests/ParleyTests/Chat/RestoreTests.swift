import NATS
import Platform
import Relay
import TestSupport
import Testing

@testable import Parley

/// The engine on a store in a file, without a network.
@Suite("What the engine reads from the local store")
struct RestoreTests {
    private static let stream = StreamIdentity(name: "N_stream", incarnation: 1)

    /// Keeps messages of a topic, as a subscription would have.
    ///
    /// - Parameter isFollowed: whether they came over a subscription; as history otherwise.
    private static func fill(
        _ store: LocalStore, _ topic: String, _ range: ClosedRange<UInt64>, padding: String = "",
        isFollowed: Bool = true
    ) async throws {
        let messages = range.map { sequence in
            let time = Timestamp(milliseconds: Int64(sequence) * 1_000)
            let line = ChatLine(username: "bob", text: "m\(sequence)\(padding)", timestamp: time)
            let envelope = Envelope(id: "id-\(sequence)", room: topic, message: line.value, start: time)
            return KeptMessage(
                place: KeptPlace(stream: stream, sequence: sequence), topic: topic, id: envelope.id, from: "bob",
                time: time, payload: envelope.encoded())
        }
        let place = KeptPlace(stream: stream, sequence: range.upperBound)
        await store.append(
            messages, [.received(topic, stream, range)] + (isFollowed ? [.cursor(topic, place)] : []))
        try await store.flush()
    }

    /// What the engine sends of topics, in short, until there are so many.
    private static func news(_ queue: EventQueue, _ count: Int) async throws -> [String] {
        var words: [String] = []
        try await eventually("\(count) pieces of news") {
            while let (event, _) = queue.take() {
                guard case .past(let topic, let news) = event else { continue }
                switch news {
                case .kept(let kept): words.append("\(topic) kept \(span(kept))\(kept.isOpen ? " open" : "")")
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

    /// An engine runs that connects to nobody, and keeps its store in a file.
    private static func run(_ path: String?, _ body: (ChatEngine, EventQueue) async throws -> Void) async throws {
        var plan = ConnectionPlan(target: .servers([ServerAddress(host: "127.0.0.1")], .none, user: "alice"))
        plan.store = path
        let queue = EventQueue {}
        let engine = ChatEngine(try Connector(plan, for: .chat(.ignore)), queue: queue)
        async let running: Void = engine.core.tasks.run()
        try await body(engine, queue)
        await engine.stop()
        await running
    }

    @Test("B9 the newest page comes first, and behind it what was not read", arguments: [0, 250, 950, 990] as [UInt64])
    func firstPage(readThrough: UInt64) async throws {
        let folder = try TemporaryDirectory("restore")
        let path = folder.path("alice.sqlite")
        let store = try LocalStore.open(path)
        try await Self.fill(store, "chat.lobby", 1...1_000)
        let mark = KeptPlace(stream: Self.stream, sequence: readThrough)
        if readThrough > 0 { try await store.commit([.readMark("chat.lobby", mark)]) }
        try await store.close()

        try await Self.run(path) { engine, queue in
            await engine.perform(.store(.open))
            await engine.perform(.topics(.subscribe(topic: "chat.lobby")))
            var expected = ["chat.lobby kept 801-1000 read \(readThrough)"]
            if readThrough < 801 {
                // By whole pages.
                let first = readThrough / 200 * 200 + 1
                expected.append("chat.lobby unread \(first)-800 read \(readThrough)")
            }
            let news = try await Self.news(queue, expected.count)
            #expect(news == expected)
        }
    }

    @Test(
        "B9 what was only read as history is shown as well, and counts as read as far as nothing else is known",
        arguments: [nil, 950] as [UInt64?])
    func historyAlone(mark: UInt64?) async throws {
        let folder = try TemporaryDirectory("restore")
        let path = folder.path("alice.sqlite")
        let store = try LocalStore.open(path)
        try await Self.fill(store, "chat.lobby", 801...1_000, isFollowed: false)
        if let mark {
            try await store.commit([.readMark("chat.lobby", KeptPlace(stream: Self.stream, sequence: mark))])
        }
        try await store.close()

        try await Self.run(path) { engine, queue in
            await engine.perform(.store(.open))
            await engine.perform(.topics(.subscribe(topic: "chat.empty")))
            await engine.perform(.topics(.subscribe(topic: "chat.lobby")))
            let news = try await Self.news(queue, 1)
            #expect(news == ["chat.lobby kept 801-1000 read \(mark ?? 1_000) open"])
        }
    }

    @Test("B9 Damage that is found where a topic is read is told once, with what to do, and the topic is followed")
    func damagedInUse() async throws {
        let folder = try TemporaryDirectory("restore")
        let path = folder.path("alice.sqlite")
        let store = try LocalStore.open(path)
        let padding = String(repeating: " and so on", count: 100)
        try await Self.fill(store, "chat.lobby", 1...1_000, padding: padding)
        try await store.close()
        // The pages of the newest messages, wherever in the file they are.
        let file = URL(fileURLWithPath: path)
        var bytes = try Data(contentsOf: file)
        let (page, words) = (4_096, Data("m1000 and so on".utf8))
        var damaged = 0
        for start in stride(from: 0, to: bytes.count, by: page)
        where bytes[start..<start + page].range(of: words) != nil {
            bytes.replaceSubrange(start..<start + page, with: Data(repeating: 0xFF, count: page))
            damaged += 1
        }
        try #require(damaged > 0)
        try bytes.write(to: file)

        try await Self.run(path) { engine, queue in
            await engine.perform(.store(.open))
            for _ in 1...2 { await engine.perform(.topics(.subscribe(topic: "chat.lobby"))) }
            var notices: [String] = []
            while let (event, _) = queue.take() {
                if case .notice(let words, isFailure: true) = event { notices.append(words) }
            }
            #expect(notices.count == 1 && notices[0].contains("\(path): it is damaged; start again"), "\(notices)")
            #expect(await engine.topics.followedTopics == ["chat.lobby"])
        }
    }

    @Test("B9 What is the matter with the local store is said in words, with what was saved and what is not kept")
    func words() {
        #expect(StoreFeed.words(LocalStore.Opening.made) == nil)
        func damaged(_ entries: Int) -> String? {
            let rescue = StoreRescue(path: "/a/b.sqlite.damaged-2026-11-25", entries: entries)
            return StoreFeed.words(LocalStore.Opening.rescued(rescue))
        }
        let rest = "it is put aside as b.sqlite.damaged-2026-11-25. Messages come again from the network."
        #expect(
            damaged(1_200) == "The local store was damaged or of another version. "
                + "1,200 entries of it could be read into a new one; " + rest)
        #expect(
            damaged(0) == "The local store was damaged or of another version. "
                + "Nothing of it could be read, and a new one is begun; " + rest)
        let error = RelayError.storage("b.sqlite: the disk is full; make room, and what waits is kept then")
        let failure = "The local store failed: b.sqlite: the disk is full; make room, and what waits is kept then. "
        #expect(StoreFeed.words(.failing(error)).hasPrefix(failure))
        #expect(StoreFeed.words(LocalStore.Opening.failed(error)) == StoreFeed.words(.failing(error)))
        #expect(
            StoreFeed.words(LocalStore.Opening.readOnly(path: "/a/b.sqlite"))
                == "The local store /a/b.sqlite may not be written: its history can be read, and nothing new is kept. "
                + "What waits in its outbox stays there. Allow writing and start again, and all is kept as before.")
        let again = "The local store keeps what comes again."
        #expect(StoreFeed.words(.recovered(notKept: 0)) == again)
        let one = "\(again) 1 message of the meantime is on the network alone."
        #expect(StoreFeed.words(.recovered(notKept: 1)) == one)
        let many = "\(again) 3,000 messages of the meantime are on the network alone."
        #expect(StoreFeed.words(.recovered(notKept: 3_000)) == many)
    }

    @Test("B9 A trouble of the local store is told once until it is over, whoever finds it")
    func toldOnce() async throws {
        try await Self.run(nil) { engine, queue in
            let error = RelayError.storage("b.sqlite: the disk is full")
            await engine.store.tell(.failing(error))
            await engine.store.tellTrouble(error)
            await engine.store.tell(.failing(error))
            await engine.store.tell(.recovered(notKept: 0))
            await engine.store.tell(.failing(error))
            var told: [ChatEvent] = []
            while let (event, _) = queue.take() { told.append(event) }
            let again = StoreFeed.words(.recovered(notKept: 0))
            #expect(
                told == [
                    .notice(error.words, isFailure: true), .notice(again, isFailure: false), .log(again),
                    .notice(error.words, isFailure: true),
                ])
        }
    }

    @Test(
        "B9 What is kept of the postboxes comes without a connection, with how many letters of each are kept, also where the network has told no postbox",
        arguments: [true, false])
    func postboxes(areTold: Bool) async throws {
        let folder = try TemporaryDirectory("restore")
        let path = folder.path("alice.sqlite")
        let store = try LocalStore.open(path)
        let boxes = KeptPostboxes(
            items: [
                Postbox(
                    id: "work", name: "work", title: "Orders", sudoId: "seller", isEnabled: false,
                    createdAt: Timestamp(milliseconds: 42))
            ], asOf: Timestamp(milliseconds: 7_000))
        let letters = (1...2).map { number in
            StoreChange.letter(
                KeptLetter(
                    direction: .received, id: PostboxMessageID(incarnation: 7, sequence: UInt64(number)).text,
                    person: "bob", postbox: "work", time: Timestamp(milliseconds: 5), text: "letter \(number)"))
        }
        try await store.commit((areTold ? [.postboxesListed(boxes)] : []) + letters)
        try await store.close()

        try await Self.run(path) { engine, queue in
            await engine.perform(.letters(.open))
            var told: ChatEvent?
            try await eventually("the postboxes") {
                while let (event, _) = queue.take() {
                    if case .postbox(.keptBoxes) = event { told = event }
                }
                return told != nil
            }
            #expect(told == .postbox(.keptBoxes(areTold ? boxes : nil, counts: ["work": 2])))
        }
    }

    @Test("A line that is refused again is told as perhaps sent where it was before", arguments: [false, true])
    func refusedAgain(mayBeStored: Bool) async throws {
        let folder = try TemporaryDirectory("restore")
        let path = folder.path("alice.sqlite")
        let store = try LocalStore.open(path)
        let message = OutboxMessage(
            id: "1", destination: .topic("chat.lobby"), payload: [1], mayBeStored: mayBeStored)
        let since = Timestamp(milliseconds: 1)
        try await store.commit([.outbox(KeptPublish(message: message, state: .notSent("because"), since: since))])
        try await store.close()

        try await Self.run(path) { engine, queue in
            await engine.perform(.store(.open))
            await engine.perform(.topics(.sendAgain(id: "1", topic: "chat.lobby", text: "hello")))
            var told: [PublishNews] = []
            try await eventually("the refusal") {
                while let (event, _) = queue.take() {
                    if case .published(let news) = event { told.append(news) }
                }
                return !told.isEmpty
            }
            #expect(told == [PublishNews(id: "1", state: .failed(.notConnected), mayBeStored: mayBeStored)])
        }
    }
}
