import NATS
import NIOCore
import Platform
import Relay

/// A postbox with `n` (1000000) letters of 10 postboxes and 50 senders, over a server's own JetStream: what the pages
/// of `page` (50) letters cost, each in turns with a bare fetch of as many stored messages, how much memory it takes to
/// walk through all of them, and the deletion of `deletions` (10000) of them, also where the server is killed in the
/// middle of it. Each page is fetched `rounds` (50) times, and the median counts. `only` names the parts to be
/// measured, with commas between: `pages`, `walk`, `delete`, `kill`; all unless set.
enum PostboxScenario {
    /// The scenario's name on the command line.
    static let name = "postbox"

    static let owner = "bench"
    static let stream = "PB_bench"
    private static let postboxes = 10
    private static let senders = 50

    /// One run's figures.
    struct Run: Sendable {
        let count: Int
        let page: Int
        let rounds: Int
        let deletions: Int
    }

    @concurrent
    static func run(_ words: Words) async throws -> [Measurement] {
        let count = max(1_000, words.number("n", 1_000_000))
        let run = Run(
            count: count, page: min(max(1, words.number("page", 50)), RelayClient.maximumPage),
            rounds: max(1, words.number("rounds", 50)),
            deletions: min(max(1, words.number("deletions", 10_000)), count / 4))
        let parts = words.text("only", "pages,walk,delete,kill").split(separator: ",")
        return try await BenchServer.run { server in
            let jetStream = JetStream(try await NATSConnection.connect(to: server.address))
            var results = [try await fill(run, jetStream)]
            let client = client(at: server.address)
            try await client.connect(timeLimit: 20)
            for part in parts {
                switch part {
                case "pages": results.append(try await pages(run, client, jetStream))
                case "walk": results.append(try await walk(client))
                case "delete": results.append(try await PostboxDeletion.delete(run, client, jetStream))
                case "kill": results.append(try await PostboxDeletion.kill(run, client, server))
                default: throw NATSError.invalidArgument("postbox has no part \(part)")
                }
            }
            await client.close()
            await jetStream.connection.close()
            return results
        }
    }

    private static func client(at address: ServerAddress) -> RelayClient {
        var configuration = RelayConfiguration(
            servers: .fixed([address]), user: owner, namespace: .init(name: "bench", hash: "bench"), store: .memory)
        configuration.followsNetwork = false
        return RelayClient(configuration: configuration)
    }

    // MARK: Filling

    /// Stores the letters as a network does: in the stream of the user's postboxes, each under its sender's subject.
    private static func fill(_ run: Run, _ jetStream: JetStream) async throws -> Measurement {
        var stream = StreamConfiguration(name: stream, subjects: ["postbox.\(owner).*.*"])
        stream.allowsDirectAccess = true
        try await jetStream.createStream(stream)
        let publisher = JetStreamPublisher(jetStream, window: 1_000)
        let encoder = JSONEncoder()
        var text = StoreText()
        var bytes = 0
        let begin = Meter.now()
        for number in 0..<run.count {
            let id = "letter-\(number)"
            let body = text.next()
            // Half of them are about something.
            let subject = number.isMultiple(of: 2) ? String(body.prefix(40)) : nil
            let letter = PostboxLetter(
                id: id, createdAt: StoreText.time(number).milliseconds, message: body, subject: subject)
            let payload = try encoder.encode(letter)
            bytes += payload.count
            let box = "box\(number % postboxes)"
            let address = "postbox.\(owner).\(box).\(StoreText.sender(number / postboxes))"
            try await publisher.publish(ByteBuffer(bytes: payload), to: address, messageID: id) { _ in }
        }
        try await publisher.drained()
        let seconds = Meter.now() - begin
        let stored = try await jetStream.streamInfo(Self.stream).state.messages
        guard stored == UInt64(run.count) else {
            throw NATSError.invalidArgument("of \(run.count) letters \(stored) were stored")
        }
        return Measurement(name).adding("n", Double(run.count))
            .adding("stored_s", (Double(run.count) / seconds).rounded())
            .adding("letter_bytes", Double(bytes) / Double(run.count))
    }

    // MARK: Pages

    /// The first page, and those after it, of the whole inbox and of one postbox.
    private static func pages(_ run: Run, _ client: RelayClient, _ jetStream: JetStream) async throws -> Measurement {
        var result = Measurement("postbox_pages").adding("n", Double(run.count)).adding("page", Double(run.page))
        for (name, box) in [("all", String?.none), ("box", "box3")] {
            let bare = try await BareLetters(of: box, jetStream)
            var (first, next, floor, ratios) = ([Double](), [Double](), [Double](), [Double]())
            var token: String?
            for round in 0..<run.rounds {
                first.append(try await page(run, client, box, after: nil).seconds)
                // Whoever comes second finds the server's caches filled.
                let isFirst = round.isMultiple(of: 2)
                var least = isFirst ? try await bare.fetch(run.page) : 0
                let later = try await page(run, client, box, after: token)
                if !isFirst { least = try await bare.fetch(run.page) }
                token = later.next
                if round > 0 {
                    next.append(later.seconds)
                    floor.append(least)
                    ratios.append(later.seconds / least)
                }
            }
            try await bare.end()
            result = result.adding("\(name)_first", milliseconds: first).adding("\(name)_next", milliseconds: next)
                .adding("\(name)_bare", milliseconds: floor)
            if !ratios.isEmpty { result = result.adding("\(name)_of_bare", Measurement.median(ratios)) }
        }
        return result
    }

    private static func page(
        _ run: Run, _ client: RelayClient, _ box: String?, after token: String?
    ) async throws -> (seconds: Double, next: String?) {
        let begin = Meter.now()
        let page = try await client.listMessages(limit: run.page, nextToken: token, postbox: box)
        let seconds = Meter.now() - begin
        guard page.items.count == run.page || page.nextToken == nil,
            page.items.allSatisfy({ (box ?? $0.postboxId) == $0.postboxId })
        else { throw NATSError.invalidArgument("a page has \(page.items.count) letters") }
        return (seconds, page.nextToken)
    }

    // MARK: Walking

    /// All letters, page after page: each once and in order, with the memory that this takes.
    private static func walk(_ client: RelayClient) async throws -> Measurement {
        let count = try await PostboxDeletion.total(client)
        let before = Meter.memory()
        Meter.beginPhase()
        var (token, seen, last, early) = (String?.none, 0, UInt64(0), 0.0)
        let begin = Meter.now()
        repeat {
            let page = try await client.listMessages(limit: RelayClient.maximumPage, nextToken: token)
            for letter in page.items {
                guard let place = PostboxMessageID(letter.id), place.sequence > last else {
                    throw NATSError.invalidArgument("a letter comes twice, or out of order")
                }
                last = place.sequence
            }
            seen += page.items.count
            token = page.nextToken
            // The first tenth fills the caches; from then on nothing may grow.
            if early == 0, seen * 10 >= count { early = Meter.peakMemoryOfPhase() }
        } while token != nil
        guard seen == count else { throw NATSError.invalidArgument("of \(count) letters \(seen) were listed") }
        return Measurement("postbox_walk").adding("n", Double(seen))
            .adding("letters_s", (Double(seen) / (Meter.now() - begin)).rounded())
            .adding("memory_kb", before).adding("tenth_peak_kb", early).adding("peak_kb", Meter.peakMemoryOfPhase())
    }
}

/// The same messages from a consumer that is there already, one request for a page: what a page costs at the least.
private struct BareLetters {
    private let jetStream: JetStream
    private let consumer: PullConsumer
    private let name: String

    init(of box: String?, _ jetStream: JetStream) async throws {
        let filter = box.map { "postbox.\(PostboxScenario.owner).\($0).*" }
        var configuration = ConsumerConfiguration(
            name: "bench\(UInt32.random(in: 0 ... .max))", filter: filter, acknowledgement: .none, isDurable: true)
        configuration.maximumPending = -1
        try await jetStream.createConsumer(configuration, in: PostboxScenario.stream)
        self.jetStream = jetStream
        name = configuration.name
        consumer = try PullConsumer(name, in: PostboxScenario.stream, jetStream)
    }

    /// Fetches a page, and returns the seconds that it took.
    func fetch(_ count: Int) async throws -> Double {
        let begin = Meter.now()
        _ = try await consumer.fetch(count, expires: .seconds(5))
        return Meter.now() - begin
    }

    func end() async throws { try await jetStream.deleteConsumer(name, in: PostboxScenario.stream) }
}
