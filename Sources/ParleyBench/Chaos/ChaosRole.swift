import NATS
import Platform
import Relay
import RelayNetwork

/// What a process of a chaos run does, under the name by which this program starts itself again. Each has a folder with
/// its local store, and goes on there where an earlier process was killed.
enum ChaosRole: String {
    /// Publishes numbered messages, each accepted once.
    case publisher = "chaos-publisher"
    /// Keeps what all topics bring in its local store, until it is told to end.
    case subscriber = "chaos-subscriber"

    /// The files in a process's folder: its store, and the last number that was accepted.
    static let (store, accepted) = ("store.db", "accepted")

    func run(_ words: Words) async throws {
        let folder = words.text("folder", ".")
        let signals = self == .subscriber ? EndingSignals() : nil
        let creds = words.text("creds")
        let servers = words.text("servers").split(separator: ",").map(String.init)
        var configuration = RelayConfiguration(
            servers: .fixed(try RelayConfiguration.addresses(servers)),
            credentials: creds.isEmpty ? .none : RelayCredentials(try Credentials.load(path: creds)),
            user: words.text("name", "chaos"),
            namespace: .init(
                name: words.text("namespace"), hash: words.text("hash"),
                apiPrefix: words.text("api", JetStream.standardPrefix)),
            reconnect: ReconnectPolicy(schedule: [50, 100, 250, 500].map { .milliseconds($0) }, jitter: .full),
            // An orderly end, too, leaves what waits to the next run.
            outbox: OutboxPolicy(discardsOnClose: false), store: .file("\(folder)/\(Self.store)"))
        configuration.followsNetwork = false
        let client = RelayClient(configuration: configuration)
        let openings = client.storeOpenings
        await client.beginConnecting()
        // What is handed over before the store is open is not kept yet.
        for await opening in openings {
            if let error = opening.error { throw error }
            if case .rescued = opening { ChaosNotes.note("the store was damaged") }
            break
        }
        guard let store = await client.keptStore() else { throw BenchFailure("there is no local store") }
        let news = store.news
        let watch = Task {
            for await case .failing(let error) in news { ChaosNotes.note("the store cannot keep something: \(error)") }
        }
        defer { watch.cancel() }
        if let signals {
            try await Self.subscribe(words, client, store, signals)
        } else {
            try await Self.publish(words, folder, client)
        }
        await client.close()
    }

    /// Publishes from the first number on that is not known to have been accepted.
    ///
    /// A message is accepted when `submit` has returned: it is in the journal then, and its number is noted after that.
    /// So there is one number at most of which nobody knows, when a process was killed between the two. It is handed
    /// over again under its identifier, as one that may be stored: it is in the journal, or on the network, or nowhere.
    /// All numbers before it are never handed over again, whatever has become of them by then.
    private static func publish(_ words: Words, _ folder: String, _ client: RelayClient) async throws {
        let (publisher, topics) = (words.number("index", 0), words.number("topics", 1, atLeast: 1))
        let (share, window) = (words.number("n", 0), words.number("window", 1, atLeast: 1))
        let accepted = try ChaosCounter("\(folder)/\(Self.accepted)")
        var number = accepted.value + 1
        var isInDoubt = true
        while number <= share {
            guard client.queuedCount < window else {
                try await Task.sleep(for: .milliseconds(2))
                continue
            }
            do throws(RelayError) {
                try await client.enqueue(
                    topic: ChaosPlan.topic(of: number, topics),
                    message: .string(ChaosTally.text(publisher, number)), id: "\(publisher)-\(number)",
                    mayBeStored: isInDoubt)
            } catch {
                // It came back from the journal and is on its way.
                guard case .invalidArgument = error, isInDoubt else { throw error }
            }
            try accepted.write(number)
            isInDoubt = false
            number += 1
        }
        while client.queuedCount > 0 { try await Task.sleep(for: .milliseconds(5)) }
        let unsent = try await client.notSent()
        guard unsent.isEmpty else {
            throw BenchFailure("\(unsent.count) messages were not sent, the first for this reason: \(unsent[0].reason)")
        }
    }

    /// Follows the topics, one by one or all by a pattern, behind what the store has of them.
    private static func subscribe(
        _ words: Words, _ client: RelayClient, _ store: LocalStore, _ signals: EndingSignals
    ) async throws {
        let topics = words.number("topics", 1, atLeast: 1)
        let names = words.number("index", 0) == 0 ? (0..<topics).map { ChaosPlan.topic(of: $0, topics) } : ["room.>"]
        try await withThrowingTaskGroup(of: Void.self) { group in
            for name in names {
                let place = try await store.cursor(of: name)
                let events = try await client.messages(topic: name, from: place.map { .after($0) } ?? .all)
                group.addTask { try await read(events, of: name, behind: place?.sequence ?? 0) }
            }
            let numbers = signals.numbers
            group.addTask { for await _ in numbers { return } }
            // A subscription does not end by itself, so this is the signal, or a failure.
            try await group.next()
            group.cancelAll()
        }
        // Whoever told it to end may be gone and not look whether it does.
        alarm(20)
    }

    /// Reads to the end, and notes what a reader must never see: a repetition, another order, a loss.
    private static func read(_ events: TopicEvents, of name: String, behind sequence: UInt64) async throws {
        var newest = sequence
        try await events.read { message in
            let number = message.sequence
            if number <= newest { ChaosNotes.note("\(name): the reader got \(number) behind \(newest)") }
            newest = max(newest, number)
        } flaw: { words in
            ChaosNotes.note("\(name): \(words) behind \(newest)")
        }
    }
}
