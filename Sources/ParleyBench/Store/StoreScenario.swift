import GRDB
import NATS
import NIOCore
import Platform
import Relay
import RelayNetwork

/// The local store with `n` (1000000) messages of 20 topics: what it costs to keep them, to open it, to look through
/// it, and what a reader and the chat notice of it. Each comparison is made `rounds` (5) times in turns, and the median
/// counts. `stored` (200000) messages are read from a server's stream, and `searches` (20) of each kind are made.
/// `only` names the parts to be measured, with commas between: `open`, `search`, `tail`, `frame`; all unless set.
///
/// What the system keeps of files in its memory is left there, as between two starts of the program on the same day.
enum StoreScenario {
    /// One run's folder and figures.
    private struct Run {
        let folder: String
        let (count, rounds, searches, stored): (Int, Int, Int, Int)

        /// The file of the program's own store, for an anonymous user of a server that refuses connections.
        var path: String {
            NetworkDirectory.dataFolder(["XDG_DATA_HOME": data]) + "/stores/anonymous@127.0.0.1-1.sqlite"
        }
        var data: String { folder + "/full" }
    }

    static func run(_ words: Words) async throws -> [Measurement] {
        let parts = try words.only(["open", "search", "tail", "frame"])
        let folder = try TemporaryFolder.make("bench")
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let run = Run(
            folder: folder, count: words.number("n", 1_000_000, atLeast: 1_000),
            rounds: words.number("rounds", 5, atLeast: 1), searches: words.number("searches", 20, atLeast: 1),
            stored: words.number("stored", 200_000, atLeast: 1_000))
        let (filled, phrases) = try await fill(run)
        var results = [filled]
        for part in parts {
            switch part {
            case "open": results.append(try await open(run))
            case "search": results.append(try await search(run, phrases))
            case "tail": results.append(try await tail(run))
            default: results += try await frame(run)
            }
        }
        return results
    }

    /// Hands over a store that is closed behind it.
    static func using<R>(_ path: String, _ body: (LocalStore) async throws -> R) async throws -> R {
        let store = try LocalStore.open(path)
        return try await finally {
            try? await store.close()
        } after: {
            try await body(store)
        }
    }

    // MARK: Filling

    /// So many messages are made at a time, and kept by the store and by the floor right after another.
    private static let part = 20_000
    /// So many messages come together, as from a subscription.
    private static let batch = 500

    /// Fills the store. The making of the messages is not counted.
    private static func fill(_ run: Run) async throws -> (Measurement, phrases: [String]) {
        let floorPath = run.folder + "/bare.sqlite"
        let floor = try StoreFloor(floorPath)
        var text = StoreText()
        var (rates, floorRates, found) = ([Double](), [Double](), [Double]())
        var phrases: [String] = []
        var (bytes, early) = (0, 0.0)
        let begin = Meter.memory()
        Meter.beginPhase()
        try await using(run.path) { store in
            for first in stride(from: 1, through: run.count, by: part) {
                let last = min(run.count, first + part - 1)
                var messages: [KeptMessage] = []
                for sequence in first...last {
                    let (kept, words) = text.message(sequence, isNewest: sequence == run.count)
                    if sequence % max(1, run.count / 400) == 0, let phrase = phrase(of: words) {
                        phrases.append(phrase)
                    }
                    bytes += kept.payload.count
                    messages.append(kept)
                }
                let count = Double(messages.count)
                floorRates.append(count / (try await Meter.seconds { try await floor.insert(messages) }))
                let (inserted, searchable) = try await keep(messages, in: store)
                rates.append(count / inserted)
                found.append(count / searchable)
                // The first tenth fills the caches; from then on nothing may grow.
                if early == 0, last * 10 >= run.count { early = Meter.peakMemoryOfPhase() }
            }
            try await keepDesk(run, in: store)
        }
        let peak = Meter.peakMemoryOfPhase()
        try? FileManager.default.removeItem(atPath: floorPath)
        // Closing has carried the log over into the file.
        let size = try await using(run.path) { try await $0.status().bytes }
        let result = Measurement("store").adding([
            "n": run.count, "insert_s": rates.median.rounded(), "bare_insert_s": floorRates.median.rounded(),
            "insert_ratio": medianRatio(rates, floorRates), "searchable_s": found.median.rounded(),
            "payload_bytes_msg": Double(bytes) / Double(run.count),
            "file_bytes_msg": Double(size) / Double(run.count), "memory_kb": begin, "tenth_peak_kb": early,
            "peak_kb": peak,
        ])
        return (result, phrases)
    }

    /// Keeps messages, and returns the seconds until they were written, and until the search's words had them too.
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

    /// What the chat begins with: every topic is joined, received to its end and read.
    private static func keepDesk(_ run: Run, in store: LocalStore) async throws {
        let place = KeptPlace(stream: StoreText.stream, sequence: UInt64(run.count))
        let topics = (0..<StoreText.topics).map { StoreText.topic($0) }
        try await store.commit(topics.map { .join($0) })
        for topic in topics {
            let whole = StoreChange.received(topic, StoreText.stream, 1...UInt64(run.count))
            await store.append([], [.cursor(topic, place), whole, .readMark(topic, place)])
        }
    }

    /// Two words of a text that stand side by side; nil where it is one word to the eye.
    private static func phrase(of text: String) -> String? {
        let words = text.split(separator: " ")
        return words.count > 1 ? "\"\(words[0]) \(words[1])\"" : words.first.map { "\"\($0.prefix(3))\"" }
    }

    // MARK: Opening

    /// Opens the store as the client does, and reads the newest page of a topic, in turns with a store that is empty.
    private static func open(_ run: Run) async throws -> Measurement {
        let emptyPath = run.folder + "/empty.sqlite"
        try await using(emptyPath) { _ in }
        let (full, empty) = try await inTurns(run.rounds * 4) { round in
            try await firstPage(run.path, StoreText.topic(round), isEmpty: false)
        } _: { round in
            try await firstPage(emptyPath, StoreText.topic(round), isEmpty: true)
        }
        return Measurement("store_open").adding(["n": run.count]).adding("open", milliseconds: full)
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

    // MARK: Searching

    /// Searches of each kind, for other words each time.
    private static func search(_ run: Run, _ phrases: [String]) async throws -> Measurement {
        try await using(run.path) { store in
            let begin = Meter.memory()
            Meter.beginPhase()
            var samples: [String: [Double]] = [:]
            for number in 0..<run.searches {
                for (kind, text) in queries(number, run.count, phrases) {
                    let query = SearchQuery(text)
                    let seconds = try await Meter.seconds { _ = try await store.search(query, limit: 100) }
                    samples[kind, default: []].append(seconds)
                }
            }
            var result = Measurement("store_search").adding(["n": run.count])
                .adding("all", milliseconds: samples.values.flatMap(\.self))
            for (kind, _) in queries(0, run.count, phrases) {
                result = result.adding(kind, milliseconds: samples[kind] ?? [])
            }
            return result.adding(["memory_kb": begin, "peak_kb": Meter.peakMemoryOfPhase()])
        }
    }

    private static func queries(_ number: Int, _ count: Int, _ phrases: [String]) -> [(kind: String, text: String)] {
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

    // MARK: Reading

    /// Reads all of a topic from a server, as `parley tail --since all` does, with a store in turns with none.
    private static func tail(_ run: Run) async throws -> Measurement {
        try await BenchServer.run { server in
            try await server.makeStream()
            let jetStream = JetStream(try await NATSConnection.connect(to: server.address))
            let publisher = JetStreamPublisher(jetStream, window: 1_000)
            var text = StoreText()
            for sequence in 1...run.stored {
                let payload = ByteBuffer(bytes: text.message(sequence).kept.payload)
                try await publisher.publish(payload, to: "bench.line") { _ in }
            }
            try await publisher.drained()
            await jetStream.connection.close()
            // The server's caches are filled before anything counts.
            _ = try await readingRate(run, server.address, .memory)
            let (with, without) = try await inTurns(2 * run.rounds) { round in
                try await keepingRate(run, server.address, run.folder + "/tail-\(round).sqlite")
            } _: { _ in
                try await readingRate(run, server.address, .memory)
            }
            let ratios = zip(with, without).map { $0 / $1 }
            return Measurement("store_tail").adding([
                "n": run.stored, "rounds": run.rounds, "msgs_s": with.median.rounded(),
                "without_s": without.median.rounded(), "ratio": ratios.median, "ratio_min": ratios.min() ?? 0,
                "ratio_max": ratios.max() ?? 0,
            ])
        }
    }

    /// Reads all of a topic into a new store, and looks whether all was kept.
    private static func keepingRate(_ run: Run, _ address: ServerAddress, _ path: String) async throws -> Double {
        let rate = try await readingRate(run, address, .file(path))
        let kept = try await using(path) { try await $0.status().messages }
        guard kept == run.stored else {
            throw BenchFailure("of \(run.stored) messages that were read \(kept) are kept")
        }
        for ending in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + ending) }
        return rate
    }

    private static func readingRate(
        _ run: Run, _ address: ServerAddress, _ store: LocalStore.Location
    ) async throws -> Double {
        let client = RelayClient.bench(at: address) { $0.store = store }
        try await client.connect(timeLimit: 20)
        var seen = 0
        let seconds = try await Meter.seconds {
            var events = try await client.messages(topic: "line", from: .all).makeAsyncIterator()
            while seen < run.stored, let batch = try await events.nextBatch() {
                for case .message in batch { seen += 1 }
            }
        }
        await client.close()
        // What it would do with all that came, the next reading is not to bear.
        try await client.keptStore()?.close()
        return Double(seen) / seconds
    }

    // MARK: The chat

    /// Starts the chat offline, with a store and with none: to its first frame, and to a topic's newest message.
    private static func frame(_ run: Run) async throws -> [Measurement] {
        guard let parley = ThisProgram.parley(for: "store_frame") else { return [] }
        func moments(_ data: String, of marks: [String]) throws -> [Double] {
            let begin = Meter.now()
            let chat = try BenchTerminal(parley, ["--server", "nats://127.0.0.1:1"], home: run.folder, data: data)
            defer { chat.end() }
            return try chat.moments(of: marks).map { $0 - begin }
        }
        let (with, without) = try await inTurns(run.rounds * 2) { _ in
            try moments(run.data, of: ["TOPICS", StoreText.newestWord])
        } _: { round in
            try moments(run.folder + "/none-\(round)", of: ["TOPICS"])[0]
        }
        let frames = with.map { $0[0] }
        let result = Measurement("store_frame").adding(["n": run.count]).adding("frame", milliseconds: frames)
            .adding("without", milliseconds: without).adding(["ratio": medianRatio(frames, without)])
        return [result.adding("page", milliseconds: with.map { $0[1] })]
    }
}

/// The same payloads in a bare table of SQLite's: a key, the bytes, and nothing to find them by. What the disk and
/// SQLite allow when the store's own form costs nothing.
private struct StoreFloor {
    private static let rowsAtOnce = 1_000
    private let database: DatabaseQueue

    init(_ path: String) throws {
        var configuration = Configuration()
        configuration.journalMode = .wal
        // As the store has it.
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
