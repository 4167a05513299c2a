import GRDB
import NATS
import NIOCore
import Platform
import Relay
import RelayNetwork

/// The local store with `n` (1000000) messages of 20 topics: the cost of keeping them, opening it and searching it, and
/// its effect on a reader and the chat. Each comparison alternates `rounds` (5) times, and the median counts. `stored`
/// (200000) messages are read from a server's stream, and `searches` (20) of each kind are made. `only` names the parts
/// to measure, separated by commas: `open`, `search`, `tail`, `frame`; by default all.
///
/// The system's file cache stays warm, as between two starts of the program on the same day.
struct StoreScenario {
    private let folder: String
    private let (count, rounds, searches, stored): (Int, Int, Int, Int)
    private var phrases: [String] = []

    private init(_ words: Words, in folder: String) {
        self.folder = folder
        (count, rounds) = (words.number("n", 1_000_000, atLeast: 1_000), words.number("rounds", 5, atLeast: 1))
        searches = words.number("searches", 20, atLeast: 1)
        stored = words.number("stored", 200_000, atLeast: 1_000)
    }

    static func run(_ words: Words) async throws -> [Measurement] {
        let parts = try words.only(["open", "search", "tail", "frame"])
        let folder = try TemporaryFolder.make("bench")
        defer { try? FileManager.default.removeItem(atPath: folder) }
        var run = StoreScenario(words, in: folder)
        var results = [try await run.fill()]
        for part in parts {
            switch part {
            case "open": results.append(try await run.open())
            case "search": results.append(try await run.search())
            case "tail": results.append(try await run.tail())
            default: results += try await run.frame()
            }
        }
        return results
    }

    /// The file of the program's own store, for an anonymous user of a server that refuses connections.
    private var path: String {
        NetworkDirectory.dataFolder(["XDG_DATA_HOME": data]) + "/stores/anonymous@127.0.0.1-1.sqlite"
    }
    private var data: String { folder + "/full" }

    /// Opens a store for the body, and closes it.
    static func using<R>(_ path: String, _ body: (LocalStore) async throws -> R) async throws -> R {
        let store = try LocalStore.open(path)
        return try await finally {
            try? await store.close()
        } after: {
            try await body(store)
        }
    }

    /// The number of messages made at a time, and kept by the store and right after by the floor.
    private static let part = 20_000
    /// The number of messages that arrive together, as from a subscription.
    private static let batch = 500

    /// Fills the store. Making the messages is not counted.
    private mutating func fill() async throws -> Measurement {
        let floorPath = folder + "/bare.sqlite"
        let floor = try StoreFloor(floorPath)
        var text = StoreText()
        var (rates, floorRates, found) = ([Double](), [Double](), [Double]())
        var (bytes, early) = (0, 0.0)
        let begin = Meter.memory()
        Meter.beginPhase()
        try await Self.using(path) { store in
            for first in stride(from: 1, through: count, by: Self.part) {
                let last = min(count, first + Self.part - 1)
                var messages: [KeptMessage] = []
                for sequence in first...last {
                    let (kept, words) = text.message(sequence, isNewest: sequence == count)
                    if sequence % max(1, count / 400) == 0 { phrases += Self.phrase(of: words).map { [$0] } ?? [] }
                    bytes += kept.payload.count
                    messages.append(kept)
                }
                let length = Double(messages.count)
                floorRates.append(length / (try await Meter.seconds { try await floor.insert(messages) }))
                let (inserted, searchable) = try await Self.keep(messages, in: store)
                rates.append(length / inserted)
                found.append(length / searchable)
                // The first tenth fills the caches; after that nothing may grow.
                if early == 0, last * 10 >= count { early = Meter.peakMemoryOfPhase() }
            }
            try await keepDesk(in: store)
        }
        let peak = Meter.peakMemoryOfPhase()
        try? FileManager.default.removeItem(atPath: floorPath)
        // Closing has moved the log into the file.
        let size = try await Self.using(path) { try await $0.status().bytes }
        return Measurement("store").adding([
            "n": count, "insert_s": rates.median.rounded(), "bare_insert_s": floorRates.median.rounded(),
            "insert_ratio": medianRatio(rates, floorRates), "searchable_s": found.median.rounded(),
            "payload_bytes_msg": Double(bytes) / Double(count), "file_bytes_msg": Double(size) / Double(count),
            "memory_kb": begin, "tenth_peak_kb": early, "peak_kb": peak,
        ])
    }

    /// Keeps messages, and returns the seconds until they were written, and until they could be searched.
    private static func keep(
        _ messages: [KeptMessage], in store: LocalStore
    ) async throws -> (inserted: Double, searchable: Double) {
        let begin = Meter.now()
        for first in stride(from: 0, to: messages.count, by: batch) {
            let batch = Array(messages[first..<min(first + batch, messages.count)])
            guard await store.append(batch) else { throw BenchFailure("the disk does not keep up") }
        }
        try await store.flush()
        let inserted = Meter.now() - begin
        try await wait(for: "the search's words", within: .seconds(120)) { try await store.hasAllWords() }
        return (inserted, Meter.now() - begin)
    }

    /// The chat's initial state: every topic is joined, received to its end and read.
    private func keepDesk(in store: LocalStore) async throws {
        let place = KeptPlace(stream: StoreText.stream, sequence: UInt64(count))
        let topics = (0..<StoreText.topics).map { StoreText.topic($0) }
        try await store.commit(topics.map { .join($0) })
        for topic in topics {
            let whole = StoreChange.received(topic, StoreText.stream, 1...UInt64(count))
            await store.append([], [.cursor(topic, place), whole, .readMark(topic, place)])
        }
    }

    /// Two adjacent words of a text; a part of it if it has no spaces.
    private static func phrase(of text: String) -> String? {
        let words = text.split(separator: " ")
        return words.count > 1 ? "\"\(words[0]) \(words[1])\"" : words.first.map { "\"\($0.prefix(3))\"" }
    }

    /// Opens the store as the client does, and reads the newest page of a topic, alternating with an empty store.
    private func open() async throws -> Measurement {
        let emptyPath = folder + "/empty.sqlite"
        try await Self.using(emptyPath) { _ in }
        let (full, empty) = try await inTurns(rounds * 4) { round in
            try await Self.firstPage(path, StoreText.topic(round), isEmpty: false)
        } _: { round in
            try await Self.firstPage(emptyPath, StoreText.topic(round), isEmpty: true)
        }
        return Measurement("store_open").adding(["n": count]).adding("open", milliseconds: full)
            .adding("empty", milliseconds: empty)
    }

    private static func firstPage(_ path: String, _ topic: String, isEmpty: Bool) async throws -> Double {
        let begin = Meter.now()
        let client = RelayClient.bench(at: ServerAddress(host: "127.0.0.1", port: 1)) { $0.store = .file(path) }
        let page = try await client.keptMessages(topic: topic, limit: 100)
        let seconds = Meter.now() - begin
        await client.close()
        guard page.messages.isEmpty == isEmpty else {
            throw BenchFailure("the page of \(topic) has \(page.messages.count) messages")
        }
        return seconds
    }

    /// Searches of each kind, with other words each time.
    private func search() async throws -> Measurement {
        try await Self.using(path) { store in
            let begin = Meter.memory()
            Meter.beginPhase()
            var samples: [String: [Double]] = [:]
            for number in 0..<searches {
                for (kind, text) in queries(number) {
                    let query = SearchQuery(text)
                    let seconds = try await Meter.seconds { _ = try await store.search(query, limit: 100) }
                    samples[kind, default: []].append(seconds)
                }
            }
            var result = Measurement("store_search").adding(["n": count])
                .adding("all", milliseconds: samples.values.flatMap(\.self))
            for (kind, _) in queries(0) { result = result.adding(kind, milliseconds: samples[kind] ?? []) }
            return result.adding(["memory_kb": begin, "peak_kb": Meter.peakMemoryOfPhase()])
        }
    }

    private func queries(_ number: Int) -> [(kind: String, text: String)] {
        let text = StoreText()
        let (common, middle) = (text.word(number % 10), text.word(100 + number))
        let early = StoreText.time(count / 4 + number).iso8601
        let late = StoreText.time(count * 9 / 10 + number).iso8601
        return [
            ("rare", text.word(StoreText.words - 1 - number)), ("common", common), ("whole", "\"\(common)\""),
            ("beginning", String(common.prefix(2))), ("several", "\(common) \(middle)"),
            ("without", "\(middle) -\(common)"),
            ("phrase", phrases.isEmpty ? "\"\(common)\"" : phrases[number * 7 % phrases.count]),
            ("from", "\(common) from:\(StoreText.sender(number))"), ("in", "\(middle) in:\(StoreText.topic(number))"),
            ("in_all", "\(common) in:room.*"), ("before", "\(common) before:\(early)"),
            ("after", "\(common) after:\(late)"), ("absent", "zzq\(number)"),
        ]
    }

    /// Reads all of a topic from a server, as `parley tail --since all` does, alternating with and without a store.
    private func tail() async throws -> Measurement {
        try await BenchServer.run { server in
            try await server.makeStream()
            let jetStream = JetStream(try await NATSConnection.connect(to: server.address))
            let publisher = JetStreamPublisher(jetStream, window: 1_000)
            var text = StoreText()
            for sequence in 1...stored {
                let payload = ByteBuffer(bytes: text.message(sequence).kept.payload)
                try await publisher.publish(payload, to: "bench.line") { _ in }
            }
            try await publisher.drained()
            await jetStream.connection.close()
            // Fills the server's caches before anything counts.
            _ = try await readingRate(server.address, .nowhere)
            let (with, without) = try await inTurns(2 * rounds) { round in
                try await keepingRate(server.address, folder + "/tail-\(round).sqlite")
            } _: { _ in
                try await readingRate(server.address, .nowhere)
            }
            let ratios = zip(with, without).map { $0 / $1 }
            return Measurement("store_tail").adding([
                "n": stored, "rounds": rounds, "msgs_s": with.median.rounded(), "without_s": without.median.rounded(),
                "ratio": ratios.median, "ratio_min": ratios.min() ?? 0, "ratio_max": ratios.max() ?? 0,
            ])
        }
    }

    /// Reads all of a topic into a new store, and checks that everything was kept.
    private func keepingRate(_ address: ServerAddress, _ path: String) async throws -> Double {
        let rate = try await readingRate(address, .file(path))
        let kept = try await Self.using(path) { try await $0.status().messages }
        guard kept == stored else { throw BenchFailure("\(kept) of \(stored) messages that were read are kept") }
        for ending in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + ending) }
        return rate
    }

    private func readingRate(_ address: ServerAddress, _ store: LocalStore.Location) async throws -> Double {
        let client = RelayClient.bench(at: address) { $0.store = store }
        try await client.connect(timeLimit: 20)
        var seen = 0
        let seconds = try await Meter.seconds {
            var events = try await client.messages(topic: "line", from: .all).makeAsyncIterator()
            while seen < stored, let batch = try await events.nextBatch() {
                for case .message in batch { seen += 1 }
            }
        }
        await client.close()
        // The next reading must not be slowed by its pending work.
        try await client.keptStore()?.close()
        return Double(seen) / seconds
    }

    /// Starts the chat offline, with and without a store: to its first frame, and to a topic's newest message.
    private func frame() async throws -> [Measurement] {
        guard let parley = ThisProgram.parley(for: "store_frame") else { return [] }
        func moments(_ data: String, of marks: [String]) throws -> [Double] {
            let begin = Meter.now()
            let chat = try BenchTerminal(parley, ["--server", "nats://127.0.0.1:1"], home: folder, data: data)
            defer { chat.end() }
            return try chat.moments(of: marks).map { $0 - begin }
        }
        let (with, without) = try await inTurns(rounds * 2) { _ in
            try moments(data, of: ["TOPICS", StoreText.newestWord])
        } _: { round in
            try moments(folder + "/none-\(round)", of: ["TOPICS"])[0]
        }
        let frames = with.map { $0[0] }
        let result = Measurement("store_frame").adding(["n": count]).adding("frame", milliseconds: frames)
            .adding("without", milliseconds: without).adding(["ratio": medianRatio(frames, without)])
        return [result.adding("page", milliseconds: with.map { $0[1] })]
    }
}

/// The same payloads in a bare SQLite table with only a key: the limit of disk and SQLite.
private struct StoreFloor {
    private static let rowsAtOnce = 1_000
    private let database: DatabaseQueue

    init(_ path: String) throws {
        var configuration = Configuration()
        configuration.journalMode = .wal
        // As in the store.
        configuration.prepareDatabase { try $0.execute(sql: "PRAGMA synchronous = NORMAL; PRAGMA cache_size = -8000") }
        database = try DatabaseQueue(path: path, configuration: configuration)
        try database.write { try $0.execute(sql: "CREATE TABLE bare (row INTEGER PRIMARY KEY, payload BLOB NOT NULL)") }
    }

    /// Inserts the payloads, a thousand in each transaction.
    func insert(_ messages: [KeptMessage]) async throws {
        for first in stride(from: 0, to: messages.count, by: Self.rowsAtOnce) {
            let part = messages[first..<min(first + Self.rowsAtOnce, messages.count)]
            try await database.write { database in
                let statement = try database.makeStatement(sql: "INSERT INTO bare VALUES (?, ?)")
                for message in part {
                    try statement.execute(arguments: [Int64(message.place.sequence), Data(message.payload)])
                }
            }
        }
    }
}
