import NATS
import NIOConcurrencyHelpers
import NIOCore
import Relay

/// What the client core costs above the wire: `n` (200000) messages through ``RelayClient``, from a pool's task and
/// from the main actor, each compared with the NATS layer doing the same right before, on a server of its own and with
/// as many bytes on the wire, identifiers included (`ids=0` leaves them out): the median of `rounds` (1). `only=submit`
/// (`publish`, `messages`, `on`) does that alone.
enum RelayScenario {
    /// The scenario's name on the command line.
    static let name = "relay"

    private static let window = 1_000

    @concurrent
    static func run(_ words: Words) async throws -> Measurement {
        let count = max(1_000, words.number("n", 200_000))
        let rounds = max(1, words.number("rounds", 1))
        return try await BenchServer.run { server in
            var rates: [String: [Double]] = [:]
            var ratios: [String: [Double]] = [:]
            let all = ["submit", "publish", "messages", "on"]
            let names = all.filter { words.text("only", $0) == $0 }.flatMap { ["\($0)_pool", "\($0)_main"] }
            for _ in 0..<rounds {
                for name in names {
                    let parts = name.split(separator: "_").map(String.init)
                    // Next to each other, as a machine is faster at one time than at another.
                    let floor = try await Self.floor(of: parts[0], count, server.address, words)
                    let rate = try await Self.rate(parts[0], parts[1], count, server.address)
                    rates[floor.name, default: []].append(floor.rate)
                    rates[name, default: []].append(rate)
                    ratios[name, default: []].append(rate / floor.rate)
                }
            }
            var result = Measurement(Self.name).adding("n", Double(count)).adding("rounds", Double(rounds))
            for floor in ["jspub_async", "jspub_sync", "jspull"] where rates[floor] != nil {
                result = result.adding(floor + "_s", Measurement.median(rates[floor] ?? []).rounded())
            }
            for name in names {
                result = result.adding(name + "_s", Measurement.median(rates[name] ?? []).rounded())
                    .adding(name + "_ratio", Measurement.median(ratios[name] ?? []))
            }
            return result
        }
    }

    private static let text = MessageValue.string(String(repeating: "x", count: 128))

    // MARK: The wire

    /// What the NATS layer does in a second of what a scenario is made of. What a listener hears is published
    /// meanwhile.
    private static func floor(
        of scenario: String, _ count: Int, _ address: ServerAddress, _ words: Words
    ) async throws -> (name: String, rate: Double) {
        let jetStream = try await stream(on: address)
        let envelope = Envelope(
            clientID: "parley_bench", id: RelayClient.newID(), room: "line", message: text,
            start: Timestamp(milliseconds: 1_700_000_000_000))
        let size = envelope.encoded().count
        let ids = words.number("ids", 1)
        func parameters(_ count: Int) -> Parameters {
            let words = [
                "n=\(count)", "size=\(size)", "subject=bench.line", "stream=bench_stream", "ack=0", "ids=\(ids)",
            ]
            return Parameters(address: address, words: Words(words))
        }
        let name: String
        let floor: Measurement
        switch scenario {
        case "publish": (name, floor) = ("jspub_sync", try await StreamScenarios.publishAwaited(parameters(count / 20)))
        case "messages":
            _ = try await StreamScenarios.publishPipelined(parameters(count))
            (name, floor) = ("jspull", try await StreamScenarios.pull(parameters(count)))
        default: (name, floor) = ("jspub_async", try await StreamScenarios.publishPipelined(parameters(count)))
        }
        await jetStream.connection.close()
        return (name, floor["msgs_s"] ?? .nan)
    }

    private static func stream(on address: ServerAddress) async throws -> JetStream {
        let jetStream = JetStream(try await NATSConnection.connect(to: address))
        try? await jetStream.deleteStream("bench_stream")
        try await jetStream.createStream(.init(name: "bench_stream", subjects: ["bench.>"], storage: .memory))
        return jetStream
    }

    // MARK: The client

    private static func rate(
        _ name: String, _ place: String, _ count: Int, _ address: ServerAddress
    ) async throws -> Double {
        let jetStream = try await stream(on: address)
        var configuration = RelayConfiguration(
            servers: .fixed([address]), user: "bench", namespace: .init(name: "bench", hash: "bench"))
        configuration.followsNetwork = false
        let client = RelayClient(configuration: configuration)
        try await client.connect(timeLimit: 20)
        if name == "messages" || name == "on" { try await submit(client, count) }
        let count = name == "publish" ? count / 20 : count
        let begin = Meter.now()
        switch (name, place) {
        case ("submit", "main"): try await submitOnMain(client, count)
        case ("submit", _): try await submit(client, count)
        case ("publish", "main"): try await publishOnMain(client, count)
        case ("publish", _): for _ in 0..<count { _ = try await client.publish(topic: "line", message: text) }
        case ("messages", "main"): try await readOnMain(client, count)
        case ("messages", _): try await read(client, count)
        default: try await listen(client, count, isOnMain: place == "main")
        }
        let seconds = Meter.now() - begin
        await client.close()
        await jetStream.connection.close()
        return Double(count) / seconds
    }

    /// Submits with so many outcomes open at a time, and waits for each. A full window is left half empty before the
    /// next messages, as the floor's is.
    private nonisolated(nonsending) static func submitAll(_ client: RelayClient, _ count: Int) async throws {
        var open: [PendingPublish] = []
        open.reserveCapacity(window)
        for _ in 0..<count {
            if open.count == window { try await finish(&open, window / 2) }
            open.append(try client.submit(topic: "line", message: text))
        }
        try await finish(&open, open.count)
    }

    private nonisolated(nonsending) static func finish(_ open: inout [PendingPublish], _ count: Int) async throws {
        _ = try await open[count - 1].receipt(within: .seconds(60))
        for pending in open[..<(count - 1)] { _ = try await pending.receipt(within: .seconds(60)) }
        open.removeFirst(count)
    }

    private nonisolated(nonsending) static func readAll(_ client: RelayClient, _ count: Int) async throws {
        var seen = 0
        var events = try await client.messages(topic: "line", from: .all).makeAsyncIterator()
        while seen < count, let event = try await events.next() {
            if case .message = event { seen += 1 }
        }
    }

    @concurrent private static func submit(_ client: RelayClient, _ count: Int) async throws {
        try await submitAll(client, count)
    }

    @MainActor private static func submitOnMain(_ client: RelayClient, _ count: Int) async throws {
        try await submitAll(client, count)
    }

    @MainActor private static func publishOnMain(_ client: RelayClient, _ count: Int) async throws {
        for _ in 0..<count { _ = try await client.publish(topic: "line", message: text) }
    }

    @concurrent private static func read(_ client: RelayClient, _ count: Int) async throws {
        try await readAll(client, count)
    }

    @MainActor private static func readOnMain(_ client: RelayClient, _ count: Int) async throws {
        try await readAll(client, count)
    }

    /// A listener hears what is published while it listens.
    private static func listen(_ client: RelayClient, _ count: Int, isOnMain: Bool) async throws {
        let listener = Listener(count)
        try await client.on(topic: "line", listener: listener)
        if isOnMain { try await submitOnMain(client, count) } else { try await submit(client, count) }
        await listener.heardAll()
    }

    private final class Listener: MessageListener, Sendable {
        private let left: NIOLockedValueBox<Int>
        private let (ended, end) = AsyncStream.makeStream(of: Void.self)

        init(_ count: Int) { left = NIOLockedValueBox(count) }

        func onMessage(_ message: Any) {
            let isLast = left.withLockedValue { left in
                left -= 1
                return left == 0
            }
            if isLast { end.finish() }
        }

        func heardAll() async { for await _ in ended {} }
    }
}
