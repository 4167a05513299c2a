import NATS
import NIOConcurrencyHelpers
import NIOCore
import Platform
import Relay
import RelayFaults
import RelayNetwork

/// Outages of a whole client, on a server of its own.
enum OutageScenario: String, CaseIterable {
    /// The server is killed and started again within half a second, `n` times (20): how long after its port opens the
    /// client is connected, with its subscription live.
    case reconnect
    /// A busy connection is cut at `n` (1000) random byte positions; it has to end connected, with every message
    /// delivered once, and with no more memory and descriptors than after the first tenth.
    case cuts
    /// The application leaves, writes something, and comes back, `n` times (1000): each absence closes the connection,
    /// and each return brings what was written to a subscription. It has to end with no more memory and descriptors
    /// than after the first tenth, and without the tasks of its rounds but the last.
    case absences

    @concurrent
    func run(_ words: Words) async throws -> Measurement {
        try await BenchServer.run { server in
            let jetStream = JetStream(try await NATSConnection.connect(to: server.address))
            try await jetStream.createStream(.init(name: "bench_stream", subjects: ["bench.>"]))
            await jetStream.connection.close()
            switch self {
            case .reconnect: return try await Self.reconnect(server, count: max(1, words.number("n", 20)))
            case .cuts:
                return try await Self.cuts(
                    server, count: max(10, words.number("n", 1_000)), writers: words.number("writers", 8))
            case .absences: return try await Self.absences(server, count: max(10, words.number("n", 1_000)))
            }
        }
    }

    private static func client(_ address: ServerAddress, _ reconnect: ReconnectPolicy) -> RelayClient {
        var configuration = RelayConfiguration(
            servers: .fixed([address]), user: "bench", namespace: .init(name: "bench", hash: "bench"),
            reconnect: reconnect)
        configuration.followsNetwork = false
        return RelayClient(configuration: configuration)
    }

    // MARK: Reconnecting

    private static func reconnect(_ server: BenchServer, count: Int) async throws -> Measurement {
        let client = client(server.address, .parley)
        try await client.connect(timeLimit: 20)
        let reader = Reader(try await client.messages(topic: "line"))
        var delays: [Double] = []
        var floors: [Double] = []
        for round in 0..<count {
            // Only a connection that has been open for a while begins the ladder of waits anew.
            try await Task.sleep(for: client.configuration.reconnect.stableAfter + .milliseconds(100))
            let statuses = client.statuses
            let connected = Task { () -> Double in
                for await status in statuses where status.state == .connected && status.recoveries == round + 1 {
                    return Meter.now()
                }
                return .infinity
            }
            await server.crash()
            try await Task.sleep(for: .milliseconds(Int.random(in: 50...500)))
            try await server.restart()
            let opened = Meter.now()
            delays.append(max(0, await connected.value - opened))
            let begin = Meter.now()
            let bare = try await NATSConnection.connect(to: server.address)
            floors.append(Meter.now() - begin)
            await bare.close()
            try await client.publish(topic: "line", message: .int(Int64(round)))
            try await reader.reach(round + 1)
        }
        await client.close()
        let floor = floors.sorted()[floors.count / 2]
        let median = delays.sorted()[delays.count / 2]
        return Measurement("reconnect").adding("n", Double(count))
            .adding(percentilesOf: delays).adding("bare_login_us", floor * 1e6)
            .adding("times_bare_login", floor > 0 ? median / floor : 0)
    }

    // MARK: Cuts

    private static func cuts(_ server: BenchServer, count: Int, writers: Int) async throws -> Measurement {
        let begin = Meter.now()
        let proxy = try await FaultProxy.start(target: server.address, seed: 1)
        let client = client(proxy.address, ReconnectPolicy(schedule: [.milliseconds(1)]))
        let edges = Edges(client.statuses)
        try await client.connect(timeLimit: 20)
        let reader = Reader(try await client.messages(topic: "line", from: .all))
        let written = NIOLockedValueBox<Int64>(0)
        let writers = (0..<writers).map { _ in
            Task {
                // The outbox takes what the connection does not; each must come out once and in order.
                while !Task.isCancelled {
                    let number = written.withLockedValue {
                        $0 += 1; return $0
                    }
                    _ = try await client.submit(topic: "line", message: .int(number)).receipt(within: .seconds(120))
                }
            }
        }
        var early = (memory: 0.0, descriptors: 0)
        for round in 0..<count {
            if round == count / 10 { early = (Meter.memory(), Meter.descriptors()) }
            let before = proxy.statistics.cuts
            try await until("connection \(round + 1) of \(count)") {
                client.status.state == .connected && client.status.recoveries == round
            }
            await proxy.cut(
                afterBytes: writers.isEmpty ? 0 : Int.random(in: 0...3_000),
                direction: Bool.random() ? .fromClient : .fromServer,
                how: Bool.random() ? .reset : .finish)
            try await until("cut \(round + 1) of \(count)") { proxy.statistics.cuts > before }
        }
        try await proxy.set(.passThrough)
        // Until the client has noticed the last cut, it still is what it was before.
        try await until("the connection after the last cut") {
            client.status.state == .connected && client.status.recoveries == count
        }
        for writer in writers { writer.cancel() }
        for writer in writers { _ = await writer.result }
        let last = try await client.submit(topic: "line", message: "end").receipt(within: .seconds(60))
        try await reader.reach(Int(last.sequence))
        let late = (memory: Meter.memory(), descriptors: Meter.descriptors())
        let result = Measurement("cuts").adding("n", Double(count)).adding("cuts", Double(proxy.statistics.cuts))
            .adding("seconds", Meter.now() - begin).adding("recoveries", Double(client.status.recoveries))
            .adding("written", Double(written.withLockedValue(\.self) + 1)).adding("stored", Double(last.sequence))
            .adding("delivered", Double(reader.count)).adding("disorder", Double(reader.disorder))
            .adding("illegal_edges", Double(edges.illegal))
            .adding("connected", client.status.state == .connected ? 1 : 0)
            .adding("memory_growth_kb", late.memory - early.memory)
            .adding("descriptor_growth", Double(late.descriptors - early.descriptors))
        await client.close()
        await proxy.close()
        return result
    }

    // MARK: Absences

    private static func absences(_ server: BenchServer, count: Int) async throws -> Measurement {
        let begin = Meter.now()
        let client = client(server.address, .parley)
        let edges = Edges(client.statuses)
        try await client.connect(timeLimit: 20)
        let reader = Reader(try await client.messages(topic: "line", from: .all))
        var early = (memory: 0.0, descriptors: 0)
        var rounds: [RoundTrace.Weak] = []
        for round in 0..<count {
            if round == count / 10 { early = (Meter.memory(), Meter.descriptors()) }
            let trace = RoundTrace()
            rounds.append(RoundTrace.Weak(trace: trace))
            try await RoundTrace.$current.withValue(trace) {
                await client.lifecycleChanged(.stopping)
                let pending = try client.submit(topic: "line", message: .int(Int64(round)))
                await client.lifecycleChanged(.foreground)
                _ = try await pending.receipt(within: .seconds(60))
            }
        }
        try await reader.reach(count)
        // What waited leaves, and is delivered, before a connection counts as restored.
        try await until("the connection after the last absence") { client.status.state == .connected }
        // The last words of a round may take a moment; what is left behind that stays.
        let deadline = ContinuousClock.now + .seconds(10)
        var tasks = rounds.count { $0.trace != nil }
        while tasks > 1, ContinuousClock.now < deadline {
            try await Task.sleep(for: .milliseconds(10))
            tasks = rounds.count { $0.trace != nil }
        }
        let late = (memory: Meter.memory(), descriptors: Meter.descriptors())
        let seconds = Meter.now() - begin
        let result = Measurement("absences").adding("n", Double(count)).adding("seconds", seconds)
            .adding("cycle_ms", seconds * 1e3 / Double(count)).adding("delivered", Double(reader.count))
            .adding("disorder", Double(reader.disorder)).adding("illegal_edges", Double(edges.illegal))
            .adding("connected", client.status.state == .connected ? 1 : 0)
            .adding("memory_growth_kb", late.memory - early.memory)
            .adding("descriptor_growth", Double(late.descriptors - early.descriptors))
            .adding("rounds_with_tasks", Double(tasks))
        await client.close()
        return result
    }

    private static func until(_ what: String, _ condition: () -> Bool) async throws {
        let deadline = ContinuousClock.now + .seconds(60)
        while !condition() {
            guard ContinuousClock.now < deadline else { throw ChaosFailure("\(what) did not come") }
            try await Task.sleep(for: .milliseconds(1))
        }
    }
}

/// Held by each task that was begun in one round, and by those that they begin, until they end.
private final class RoundTrace: Sendable {
    @TaskLocal static var current: RoundTrace?

    struct Weak {
        weak var trace: RoundTrace?
    }
}

/// Counts what a subscription brings.
private final class Reader: Sendable {
    private struct State {
        var count = 0
        var newest: UInt64 = 0
        var disorder = 0
    }

    private let state = NIOLockedValueBox(State())
    private let task: Task<Void, Never>

    init(_ events: TopicEvents) {
        task = Task { [state] in
            do throws(RelayError) {
                var iterator = events.makeAsyncIterator()
                while let event = try await iterator.next() {
                    switch event {
                    case .message(let message):
                        state.withLockedValue {
                            $0.count += 1
                            if message.sequence <= $0.newest { $0.disorder += 1 }
                            $0.newest = max($0.newest, message.sequence)
                        }
                    case .gap, .unreadable, .restarted: state.withLockedValue { $0.disorder += 1 }
                    case .live, .interrupted: break
                    }
                }
            } catch {
                state.withLockedValue { $0.disorder += 1_000_000 }
            }
        }
    }

    deinit { task.cancel() }

    var count: Int { state.withLockedValue(\.count) }
    var disorder: Int { state.withLockedValue(\.disorder) }

    func reach(_ count: Int) async throws {
        let deadline = ContinuousClock.now + .seconds(60)
        while self.count < count {
            guard ContinuousClock.now < deadline else {
                let (found, newest, disorder) = state.withLockedValue { ($0.count, $0.newest, $0.disorder) }
                throw ChaosFailure(
                    "of \(count) messages \(found) came, the last with number \(newest); \(disorder) times in disorder")
            }
            try await Task.sleep(for: .milliseconds(1))
        }
    }
}

/// Counts changes of state that no table allows.
private final class Edges: Sendable {
    private let count = NIOLockedValueBox(0)
    private let task: Task<Void, Never>

    init(_ statuses: AsyncStream<ConnectionStatus>) {
        task = Task { [count] in
            var last: ConnectionStatus.State?
            for await status in statuses {
                if let last, last != status.state, !last.successors.contains(status.state) {
                    count.withLockedValue { $0 += 1 }
                }
                last = status.state
            }
        }
    }

    deinit { task.cancel() }

    var illegal: Int { count.withLockedValue(\.self) }
}
