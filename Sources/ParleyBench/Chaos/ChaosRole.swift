import NATS
import Platform
import Relay
import RelayNetwork

/// The role of a process of a chaos run, named as this program starts itself with it. Each has a folder with its local
/// store, and continues where an earlier process was killed.
enum ChaosRole: String {
    /// Publishes numbered messages, each accepted once.
    case publisher = "chaos-publisher"
    /// Stores the messages of all topics, until it is told to end.
    case subscriber = "chaos-subscriber"

    /// The files in a process's folder: its store, and the last accepted number.
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
            // An orderly end, too, leaves waiting messages to the next run.
            outbox: OutboxPolicy(discardsOnClose: false), store: .file("\(folder)/\(Self.store)"))
        configuration.followsNetwork = false
        let client = RelayClient(configuration: configuration)
        let openings = client.storeOpenings
        await client.beginConnecting()
        // Messages are not kept before the store is open.
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

    /// Publishes from the first number that is not known to have been accepted.
    ///
    /// A message is accepted once `enqueue` returns: it is then in the journal, and its number is noted afterwards. So
    /// at most one number is in doubt, if a process was killed in between. It is given to the client again under its
    /// identifier, as one that may be stored: it is in the journal, on the network, or nowhere. No earlier number is
    /// given again, whatever has become of it.
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
                // It was restored from the journal and is on its way.
                guard case .invalidArgument = error, isInDoubt else { throw error }
            }
            try accepted.write(number)
            isInDoubt = false
            number += 1
        }
        while client.queuedCount > 0 { try await Task.sleep(for: .milliseconds(5)) }
        let unsent = try await client.notSent()
        guard unsent.isEmpty else {
            throw BenchFailure("\(unsent.count) messages were not sent, the first because: \(unsent[0].reason)")
        }
    }

    /// Follows the topics, one by one or all by a pattern, after what the store has.
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
            // A subscription does not end by itself, so this is the signal or a failure.
            try await group.next()
            group.cancelAll()
        }
        // Its parent may be gone and no longer check that it ends.
        alarm(20)
    }

    /// Reads to the end, and notes what a reader must never see: duplicates, disorder, losses.
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
