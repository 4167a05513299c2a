import NATS
import NIOCore
import Platform
import Relay

/// A postbox with `n` (1000000) letters of 10 postboxes and 50 senders, over a server's own JetStream: the cost of
/// pages of `page` (50) letters, alternating with a bare fetch of as many stored messages; the memory needed to walk
/// through all of them; and the deletion of `deletions` (10000) of them, also if the server is killed halfway. Each
/// page is fetched `rounds` (50) times, and the median counts. `only` names the parts to measure, separated by commas:
/// `pages`, `walk`, `delete`, `kill`; by default all.
struct PostboxScenario: Sendable {
    static let stream = "PB_bench"

    private let (count, pageLength, rounds): (Int, Int, Int)
    let deletions: Int
    let server: BenchServer
    let jetStream: JetStream
    let client: RelayClient

    private init(_ words: Words, on server: BenchServer) async throws {
        count = words.number("n", 1_000_000, atLeast: 1_000)
        pageLength = min(words.number("page", 50, atLeast: 1), RelayClient.maximumPage)
        rounds = words.number("rounds", 50, atLeast: 1)
        deletions = min(words.number("deletions", 10_000, atLeast: 1), count / 4)
        self.server = server
        jetStream = JetStream(try await NATSConnection.connect(to: server.address))
        client = RelayClient.bench(at: server.address) { $0.store = .nowhere }
    }

    static func run(_ words: Words) async throws -> [Measurement] {
        let parts = try words.only(["pages", "walk", "delete", "kill"])
        return try await BenchServer.run { server in
            let run = try await PostboxScenario(words, on: server)
            var results = [try await run.fill()]
            try await run.client.connect(timeLimit: 20)
            for part in parts {
                switch part {
                case "pages": results.append(try await run.pages())
                case "walk": results.append(try await run.walk())
                case "delete": results.append(try await run.delete())
                default: results.append(try await run.kill())
                }
            }
            await run.client.close()
            await run.jetStream.connection.close()
            return results
        }
    }

    /// Stores the letters as a network does: in the stream of the user's postboxes, each under its sender's subject.
    private func fill() async throws -> Measurement {
        var configuration = StreamConfiguration(name: Self.stream, subjects: ["postbox.bench.*.*"])
        configuration.allowsDirectAccess = true
        try await jetStream.createStream(configuration)
        let publisher = JetStreamPublisher(jetStream, window: 1_000)
        let encoder = JSONEncoder()
        var text = StoreText()
        var bytes = 0
        let seconds = try await Meter.seconds {
            for number in 0..<count {
                let body = text.next()
                // Half of them have a subject.
                let letter = PostboxLetter(
                    id: "letter-\(number)", createdAt: StoreText.time(number).milliseconds, message: body,
                    subject: number.isMultiple(of: 2) ? String(body.prefix(40)) : nil)
                let payload = try encoder.encode(letter)
                bytes += payload.count
                let address = "postbox.bench.box\(number % 10).\(StoreText.sender(number / 10))"
                try await publisher.publish(ByteBuffer(bytes: payload), to: address, messageID: letter.id) { _ in }
            }
            try await publisher.drained()
        }
        let stored = try await jetStream.streamInfo(Self.stream).state.messages
        guard stored == UInt64(count) else { throw BenchFailure("\(stored) of \(count) letters were stored") }
        return Measurement("postbox").adding([
            "n": count, "stored_s": (Double(count) / seconds).rounded(), "letter_bytes": Double(bytes) / Double(count),
        ])
    }

    /// The first page and later ones, of the entire inbox and of one postbox.
    private func pages() async throws -> Measurement {
        var result = Measurement("postbox_pages").adding(["n": count, "page": pageLength])
        for (name, box) in [("all", String?.none), ("box", "box3")] {
            // The minimal cost of a page: one request to an existing consumer.
            let bare = try await BenchConsumer(jetStream, of: Self.stream, filter: box.map { "postbox.bench.\($0).*" })
            var (first, token): ([Double], String?) = ([], nil)
            let (later, least) = try await inTurns(rounds) { _ in
                first.append(try await page(box, after: nil).seconds)
                let later = try await page(box, after: token)
                token = later.next
                return later.seconds
            } _: { _ in
                try await Meter.seconds { _ = try await bare.pull.fetch(pageLength, expires: .seconds(5)) }
            }
            // The first of the later pages is the first page.
            let (next, floor) = (Array(later.dropFirst()), Array(least.dropFirst()))
            try await bare.delete()
            result = result.adding("\(name)_first", milliseconds: first).adding("\(name)_next", milliseconds: next)
                .adding("\(name)_bare", milliseconds: floor)
            if !next.isEmpty { result.add("\(name)_of_bare", medianRatio(next, floor)) }
        }
        return result
    }

    private func page(_ box: String?, after token: String?) async throws -> (seconds: Double, next: String?) {
        let begin = Meter.now()
        let page = try await client.listMessages(limit: pageLength, nextToken: token, postbox: box)
        let seconds = Meter.now() - begin
        guard page.items.count == pageLength || page.nextToken == nil,
            page.items.allSatisfy({ (box ?? $0.postboxId) == $0.postboxId })
        else { throw BenchFailure("a page has \(page.items.count) letters") }
        return (seconds, page.nextToken)
    }

    /// All letters, page by page, each once and in order, with the memory needed.
    private func walk() async throws -> Measurement {
        let count = try await client.countMessages().values.reduce(0, +)
        let before = Meter.memory()
        Meter.beginPhase()
        var (seen, last, early) = (0, UInt64(0), 0.0)
        let seconds = try await Meter.seconds {
            try await eachPage { places in
                for place in places {
                    guard place.sequence > last else { throw BenchFailure("a letter is listed twice, or out of order") }
                    last = place.sequence
                }
                seen += places.count
                // The first tenth fills the caches; after that nothing may grow.
                if early == 0, seen * 10 >= count { early = Meter.peakMemoryOfPhase() }
                return true
            }
        }
        guard seen == count else { throw BenchFailure("\(seen) of \(count) letters were listed") }
        return Measurement("postbox_walk").adding([
            "n": seen, "letters_s": (Double(seen) / seconds).rounded(), "memory_kb": before, "tenth_peak_kb": early,
            "peak_kb": Meter.peakMemoryOfPhase(),
        ])
    }

    /// Lists the inbox from a place, page by page, while more is wanted.
    func eachPage(from token: String? = nil, _ isMoreWanted: ([PostboxMessageID]) throws -> Bool) async throws {
        var token = token
        repeat {
            let page = try await client.listMessages(limit: RelayClient.maximumPage, nextToken: token)
            let places = page.items.compactMap { PostboxMessageID($0.id) }
            guard places.count == page.items.count else { throw BenchFailure("a letter has no place") }
            guard try isMoreWanted(places) else { return }
            token = page.nextToken
        } while token != nil
    }
}
