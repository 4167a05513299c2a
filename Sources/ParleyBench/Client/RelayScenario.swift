import NATS
import Relay
import Synchronization

/// The cost of the client core above the wire: `n` (200000) messages through ``RelayClient``, from a pool's task and
/// from the main actor, each compared with the NATS layer doing the same right before, on its own server and with as
/// many bytes on the wire, including identifiers (`ids=0` omits them): the median of `rounds` (1). `only=submit`
/// (`publish`, `messages`, `on`) measures one part.
enum RelayScenario {
    private static let window = 1_000
    private static let text = MessageValue.string(String(repeating: "x", count: 128))

    static func run(_ words: Words) async throws -> [Measurement] {
        let count = words.number("n", 200_000, atLeast: 1_000)
        let rounds = words.number("rounds", 1, atLeast: 1)
        let parts = try words.only(["submit", "publish", "messages", "on"])
        return try await BenchServer.run { server in
            var rates: [String: [Double]] = [:]
            var ratios: [String: [Double]] = [:]
            for _ in 0..<rounds {
                for (part, place) in parts.flatMap({ [($0, "pool"), ($0, "main")] }) {
                    let count = part == "publish" ? count / 20 : count
                    // Right after each other, as the machine's speed varies over time.
                    let floor = try await floor(of: part, count, server, words)
                    let rate = try await rate(part, onMain: place == "main", count, server)
                    rates[floor.name, default: []].append(floor["msgs_s"] ?? .nan)
                    rates["\(part)_\(place)", default: []].append(rate)
                    ratios["\(part)_\(place)", default: []].append(rate / (floor["msgs_s"] ?? .nan))
                }
            }
            var result = Measurement("relay").adding(["n": count, "rounds": rounds])
            for (name, rates) in rates.sorted(by: { $0.key < $1.key }) {
                result.add(name + "_s", rates.median.rounded())
                if let ratios = ratios[name] { result.add(name + "_ratio", ratios.median) }
            }
            return [result]
        }
    }

    /// The NATS layer's rate for a part's work. A listener's messages are published meanwhile.
    private static func floor(
        of part: String, _ count: Int, _ server: BenchServer, _ words: Words
    ) async throws -> Measurement {
        try await server.makeStream(.memory)
        let envelope = Envelope(
            clientID: "parley_bench", id: RelayClient.newID(), room: "line", message: text,
            start: Timestamp(milliseconds: 1_700_000_000_000))
        let parameters = WireParameters(
            server.address,
            Words([
                "n=\(count)", "size=\(envelope.encoded().count)", "subject=bench.line", "stream=bench_stream", "ack=0",
                "ids=\(words.number("ids", 1))",
            ]))
        guard part != "publish" else { return try await WireScenario.storedPublish.run(parameters) }
        let published = try await WireScenario.pipelinedPublish.run(parameters)
        return part == "messages" ? try await WireScenario.pull.run(parameters) : published
    }

    private static func rate(
        _ part: String, onMain isOnMain: Bool, _ count: Int, _ server: BenchServer
    ) async throws -> Double {
        try await server.makeStream(.memory)
        let client = RelayClient.bench(at: server.address)
        try await client.connect(timeLimit: 20)
        if part == "messages" { try await submit(client, count) }
        let listener = Listener(count)
        if part == "on" { try await client.on(topic: "line", listener: listener) }
        let begin = Meter.now()
        if isOnMain { try await onMain(part, client, count) } else { try await go(part, client, count) }
        // A listener receives messages published while it listens.
        if part == "on" { await listener.heardAll() }
        let seconds = Meter.now() - begin
        await client.close()
        return Double(count) / seconds
    }

    @MainActor private static func onMain(_ part: String, _ client: RelayClient, _ count: Int) async throws {
        try await go(part, client, count)
    }

    private nonisolated(nonsending) static func go(_ part: String, _ client: RelayClient, _ count: Int) async throws {
        switch part {
        case "publish": for _ in 0..<count { _ = try await client.publish(topic: "line", message: text) }
        case "messages":
            var seen = 0
            var events = try await client.messages(topic: "line", from: .all).makeAsyncIterator()
            while seen < count, let event = try await events.next() {
                if case .message = event { seen += 1 }
            }
        default: try await submit(client, count)
        }
    }

    /// Submits with a window of open outcomes; when it is full, half of them are awaited, as the floor does.
    private nonisolated(nonsending) static func submit(_ client: RelayClient, _ count: Int) async throws {
        var open: [PendingPublish] = []
        open.reserveCapacity(window)
        for _ in 0..<count {
            if open.count == window { try await finish(&open, window / 2) }
            open.append(try await client.enqueue(topic: "line", message: text))
        }
        try await finish(&open, open.count)
    }

    private nonisolated(nonsending) static func finish(_ open: inout [PendingPublish], _ count: Int) async throws {
        _ = try await open[count - 1].receipt(within: .seconds(60))
        for pending in open[..<(count - 1)] { _ = try await pending.receipt(within: .seconds(60)) }
        open.removeFirst(count)
    }

    private final class Listener: MessageListener, Sendable {
        private let left: Atomic<Int>
        private let (ended, end) = AsyncStream.makeStream(of: Void.self)

        init(_ count: Int) { left = Atomic(count) }

        func onMessage(_ message: Any) {
            if left.wrappingSubtract(1, ordering: .relaxed).newValue == 0 { end.finish() }
        }

        func heardAll() async { for await _ in ended {} }
    }
}
