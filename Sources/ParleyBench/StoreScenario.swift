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
    /// The scenario's name on the command line.
    static let name = "store"

    /// One run's folder and figures.
    private struct Run {
        let folder: String
        let count: Int
        let rounds: Int
        let searches: Int
        let stored: Int

        /// The file of the program's own store, for an anonymous user of a server that refuses connections.
        var path: String {
            NetworkDirectory.dataFolder(["XDG_DATA_HOME": data]) + "/stores/anonymous@127.0.0.1-1.sqlite"
        }
        var data: String { folder + "/full" }
        var emptyPath: String { folder + "/empty.sqlite" }
    }

    @concurrent
    static func run(_ words: Words) async throws -> [Measurement] {
        let folder = try TemporaryFolder.make("bench")
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let run = Run(
            folder: folder, count: max(1_000, words.number("n", 1_000_000)), rounds: max(1, words.number("rounds", 5)),
            searches: max(1, words.number("searches", 20)), stored: max(1_000, words.number("stored", 200_000)))
        let parts = words.text("only", "open,search,tail,frame").split(separator: ",")
        let (filled, phrases) = try await fill(run)
        var results = [filled]
        for part in parts {
            switch part {
            case "open": results.append(try await open(run))
            case "search": results.append(try await search(run, phrases))
            case "tail": results.append(try await tail(run))
            case "frame": if let result = try await frame(run) { results.append(result) }
            default: throw NATSError.invalidArgument("store has no part \(part)")
            }
        }
        return results
    }

    // MARK: Filling

    /// So many messages are made at a time, and kept by the store and by the floor right after another.
    private static let part = 20_000
    /// So many messages come together, as from a subscription.
    private static let batch = 500

    /// Fills the store. The making of the messages is not counted.
    private static func fill(_ run: Run) async throws -> (Measurement, phrases: [String]) {
        let store = try LocalStore.open(.file(run.path)).store
        let floorPath = run.folder + "/bare.sqlite"
        let floor = try StoreFloor(floorPath)
        var text = StoreText()
        var (rates, floorRates, ratios, found) = ([Double](), [Double](), [Double](), [Double]())
        var phrases: [String] = []
        var bytes = 0
        var (early, peak) = (0.0, 0.0)
        let begin = Meter.memory()
        Meter.beginPhase()
        for first in stride(from: 1, through: run.count, by: part) {
            let last = min(run.count, first + part - 1)
            var messages: [KeptMessage] = []
            messages.reserveCapacity(part)
            for sequence in first...last {
                let (kept, words) = text.message(sequence, isNewest: sequence == run.count)
                if sequence % max(1, run.count / 400) == 0, let phrase = phrase(of: words) { phrases.append(phrase) }
                bytes += kept.payload.count
                messages.append(kept)
            }
            let bare = try time { try floor.insert(messages) }
            let (inserted, searchable) = try await keep(messages, in: store)
            let count = Double(messages.count)
            rates.append(count / inserted)
            found.append(count / searchable)
            floorRates.append(count / bare)
            ratios.append(bare / inserted)
            // The first tenth fills the caches; from then on nothing may grow.
            if early == 0, last * 10 >= run.count { early = Meter.peakMemoryOfPhase() }
        }
        peak = Meter.peakMemoryOfPhase()
        try await keepDesk(run, in: store)
        // Closing carries the log over into the file.
        try await store.close()
        try? FileManager.default.removeItem(atPath: floorPath)
        let closed = try LocalStore.open(.file(run.path)).store
        let fileBytes = Double(try await closed.status().bytes)
        try await closed.close()
        let result = Measurement(name).adding("n", Double(run.count))
            .adding("insert_s", Measurement.median(rates).rounded())
            .adding("bare_insert_s", Measurement.median(floorRates).rounded())
            .adding("insert_ratio", Measurement.median(ratios))
            .adding("searchable_s", Measurement.median(found).rounded())
            .adding("payload_bytes_msg", Double(bytes) / Double(run.count))
            .adding("file_bytes_msg", fileBytes / Double(run.count))
            .adding("memory_kb", begin).adding("tenth_peak_kb", early).adding("peak_kb", peak)
        return (result, phrases)
    }

    /// Keeps messages, and returns the seconds until they were written, and until the search's words had them too.
    private static func keep(
        _ messages: [KeptMessage], in store: LocalStore
    ) async throws -> (inserted: Double, searchable: Double) {
        let begin = Meter.now()
        for first in stride(from: 0, to: messages.count, by: batch) {
            let batch = Array(messages[first..<min(first + batch, messages.count)])
            guard await store.append(batch) else { throw NATSError.invalidArgument("the disk does not keep up") }
        }
        try await store.flush()
        let inserted = Meter.now() - begin
        while try await !store.hasAllWords() {
            guard Meter.now() - begin < 120 else { throw NATSError.timeout("the search's words do not keep up") }
            try await Task.sleep(for: .milliseconds(2))
        }
        return (inserted, Meter.now() - begin)
    }

    /// What the chat begins with: every topic is joined, received to its end and read.
    private static func keepDesk(_ run: Run, in store: LocalStore) async throws {
        let place = KeptPlace(stream: StoreText.stream, sequence: UInt64(run.count))
        let topics = (0..<StoreText.topics).map { StoreText.topic($0) }
        try await store.commit([.joined(topics)])
        for topic in topics {
            let whole = StoreChange.received(topic, StoreText.stream, 1...UInt64(max(1, run.count)))
            await store.append([], [.cursor(topic, place), whole, .readMark(topic, place)])
        }
    }

    /// Two words of a text that stand side by side; nil where it is one word to the eye.
    private static func phrase(of text: String) -> String? {
        let words = text.split(separator: " ")
        return words.count > 1 ? "\"\(words[0]) \(words[1])\"" : words.first.map { "\"\($0.prefix(3))\"" }
    }

    private static func time(_ work: () throws -> Void) rethrows -> Double {
        let begin = Meter.now()
        try work()
        return Meter.now() - begin
    }

    // MARK: Opening

    /// Opens the store as the client does, and reads the newest page of a topic, in turns with a store that is empty.
    private static func open(_ run: Run) async throws -> Measurement {
        try await LocalStore.open(.file(run.emptyPath)).store.close()
        var (full, empty) = ([Double](), [Double]())
        for round in 0..<(run.rounds * 4) {
            let topic = StoreText.topic(round)
            empty.append(try await firstPage(run.emptyPath, topic, holds: 0))
            full.append(try await firstPage(run.path, topic, holds: 100))
        }
        return Measurement("store_open").adding("n", Double(run.count)).adding("open", milliseconds: full)
            .adding("empty", milliseconds: empty)
    }

    private static func firstPage(_ path: String, _ topic: String, holds count: Int) async throws -> Double {
        let begin = Meter.now()
        let client = client(at: ServerAddress(host: "127.0.0.1", port: 1), .file(path))
        let page = try await client.keptMessages(topic: topic, limit: 100)
        let seconds = Meter.now() - begin
        // A small store may have fewer messages of the topic.
        guard min(1, page.messages.count) == min(1, count) else {
            throw NATSError.invalidArgument("the page of \(topic) has \(page.messages.count) messages")
        }
        await client.close()
        return seconds
    }

    private static func client(at address: ServerAddress, _ store: LocalStore.Location) -> RelayClient {
        var configuration = RelayConfiguration(
            servers: .fixed([address]), user: "bench", namespace: .init(name: "bench", hash: "bench"), store: store)
        configuration.followsNetwork = false
        return RelayClient(configuration: configuration)
    }

    // MARK: Searching

    /// Searches of each kind, for other words each time.
    private static func search(_ run: Run, _ phrases: [String]) async throws -> Measurement {
        let store = try LocalStore.open(.file(run.path)).store
        let begin = Meter.memory()
        Meter.beginPhase()
        var samples: [String: [Double]] = [:]
        for number in 0..<run.searches {
            for (kind, text) in queries(number, run.count, phrases) {
                let query = SearchQuery(text)
                let begin = Meter.now()
                _ = try await store.search(query, limit: 100)
                samples[kind, default: []].append(Meter.now() - begin)
            }
        }
        var result = Measurement("store_search").adding("n", Double(run.count))
            .adding("all", milliseconds: samples.values.flatMap(\.self))
        for (kind, _) in queries(0, run.count, phrases) {
            result = result.adding(kind, milliseconds: samples[kind] ?? [])
        }
        result = result.adding("memory_kb", begin).adding("peak_kb", Meter.peakMemoryOfPhase())
        try await store.close()
        return result
    }

    private static func queries(_ number: Int, _ count: Int, _ phrases: [String]) -> [(kind: String, text: String)] {
        let text = StoreText()
        let (common, middle) = (text.word(number % 10), text.word(100 + number))
        let rare = text.word(StoreText.words - 1 - number)
        let beginning = String(text.word(number % 10).prefix(2))
        let phrase = phrases.isEmpty ? "\"\(common)\"" : phrases[number * 7 % phrases.count]
        let early = StoreText.time(count / 4 + number).iso8601
        let late = StoreText.time(count * 9 / 10 + number).iso8601
        return [
            ("rare", rare), ("common", common), ("whole", "\"\(common)\""), ("beginning", beginning),
            ("several", "\(common) \(middle)"), ("without", "\(middle) -\(common)"), ("phrase", phrase),
            ("from", "\(common) from:\(StoreText.sender(number))"),
            ("in", "\(middle) in:\(StoreText.topic(number))"), ("in_all", "\(common) in:room.*"),
            ("before", "\(common) before:\(early)"), ("after", "\(common) after:\(late)"), ("absent", "zzq\(number)"),
        ]
    }

    // MARK: Reading

    /// Reads all of a topic from a server, as `parley tail --since all` does, with a store in turns with none.
    private static func tail(_ run: Run) async throws -> Measurement {
        try await BenchServer.run { server in
            try await store(run.stored, on: server.address)
            // The server's caches are filled before anything counts.
            _ = try await readingRate(run, server.address, .memory)
            var (with, without, ratios) = ([Double](), [Double](), [Double]())
            for round in 0..<run.rounds {
                // What changes with time changes for both in the same way where one of them is first and last.
                let isBareOutside = round.isMultiple(of: 2)
                var (kept, bare) = ([Double](), [Double]())
                for isBare in [isBareOutside, !isBareOutside, !isBareOutside, isBareOutside] {
                    if isBare {
                        bare.append(try await readingRate(run, server.address, .memory))
                    } else {
                        let path = run.folder + "/tail-\(round)-\(kept.count).sqlite"
                        kept.append(try await keepingRate(run, server.address, path))
                    }
                }
                with += kept
                without += bare
                // Of both the time that all messages took.
                ratios.append(bare.reduce(0) { $0 + 1 / $1 } / kept.reduce(0) { $0 + 1 / $1 })
            }
            return Measurement("store_tail").adding("n", Double(run.stored)).adding("rounds", Double(run.rounds))
                .adding("msgs_s", Measurement.median(with).rounded())
                .adding("without_s", Measurement.median(without).rounded())
                .adding("ratio", Measurement.median(ratios)).adding("ratio_min", ratios.min() ?? 0)
                .adding("ratio_max", ratios.max() ?? 0)
        }
    }

    /// Reads all of a topic into a new store, and looks whether all was kept.
    private static func keepingRate(_ run: Run, _ address: ServerAddress, _ path: String) async throws -> Double {
        let rate = try await readingRate(run, address, .file(path))
        try await checkKept(run.stored, path)
        for ending in ["", "-wal", "-shm", "-burst"] { try? FileManager.default.removeItem(atPath: path + ending) }
        return rate
    }

    /// Puts messages into a stream on the server's disk.
    private static func store(_ count: Int, on address: ServerAddress) async throws {
        let jetStream = JetStream(try await NATSConnection.connect(to: address))
        try await jetStream.createStream(.init(name: "bench_stream", subjects: ["bench.>"]))
        let publisher = JetStreamPublisher(jetStream, window: 1_000)
        var text = StoreText()
        for sequence in 1...count {
            let payload = ByteBuffer(bytes: text.message(sequence).kept.payload)
            try await publisher.publish(payload, to: "bench.line") { _ in }
        }
        try await publisher.drained()
        await jetStream.connection.close()
    }

    private static func readingRate(
        _ run: Run, _ address: ServerAddress, _ store: LocalStore.Location
    ) async throws -> Double {
        let client = client(at: address, store)
        try await client.connect(timeLimit: 20)
        let begin = Meter.now()
        var seen = 0
        var events = try await client.messages(topic: "line", from: .all).makeAsyncIterator()
        while seen < run.stored, let batch = try await events.nextBatch() {
            for case .message in batch { seen += 1 }
        }
        let seconds = Meter.now() - begin
        await client.close()
        // What it would do with all that came, the next reading is not to bear.
        try await client.keptStore()?.close()
        return Double(seen) / seconds
    }

    /// A rate counts only where all was kept.
    private static func checkKept(_ count: Int, _ path: String) async throws {
        let store = try LocalStore.open(.file(path)).store
        let kept = try await store.status().messages
        try await store.close()
        guard kept == count else {
            throw NATSError.invalidArgument("of \(count) messages that were read \(kept) are kept")
        }
    }

    // MARK: The chat

    /// Starts the chat offline, with the store in turns with none: until its first frame, and until the newest message
    /// of the first topic is on the screen.
    private static func frame(_ run: Run) async throws -> Measurement? {
        #if os(Linux)
            guard let executable = FirstFrame.executable else {
                Meter.remark("store_frame is left out: there is no parley beside parley-bench")
                return nil
            }
            func chat(_ data: String) -> FirstFrame {
                FirstFrame(
                    executable: executable, arguments: ["--server", "nats://127.0.0.1:1"],
                    environment: [
                        "HOME=\(run.folder)", "XDG_DATA_HOME=\(data)", "XDG_CONFIG_HOME=\(run.folder)/config",
                        "XDG_STATE_HOME=\(run.folder)/state", "TERM=xterm-256color", "LANG=C.UTF-8",
                        "PATH=/usr/bin:/bin",
                    ])
            }
            var (frames, pages, bare, ratios) = ([Double](), [Double](), [Double](), [Double]())
            for round in 0..<(run.rounds * 2) {
                let empty = run.folder + "/none-\(round)"
                // Whatever the one leaves to the system to do is no more often the other's burden.
                let isFirst = round.isMultiple(of: 2)
                var with = isFirst ? try chat(run.data).seconds(until: ["TOPICS", StoreText.newestWord]) : []
                let without = try chat(empty).seconds(until: ["TOPICS"])
                if !isFirst { with = try chat(run.data).seconds(until: ["TOPICS", StoreText.newestWord]) }
                bare.append(without[0])
                frames.append(with[0])
                pages.append(with[1])
                ratios.append(with[0] / without[0])
            }
            return Measurement("store_frame").adding("n", Double(run.count))
                .adding("frame", milliseconds: frames).adding("without", milliseconds: bare)
                .adding("ratio", Measurement.median(ratios)).adding("page", milliseconds: pages)
        #else
            Meter.remark("store_frame is left out: it is measured on Linux alone")
            return nil
        #endif
    }
}
