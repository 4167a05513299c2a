import NATS
import NIOConcurrencyHelpers
import Platform
import Relay
import RelayFaults

/// Outages of an entire client, on its own server.
enum OutageScenario {
    /// Kills the server and restarts it within half a second, `n` times (20), and measures how soon after its port
    /// opens the client is connected with its subscription live.
    static func reconnect(_ words: Words) async throws -> [Measurement] {
        let count = words.number("n", 20, atLeast: 1)
        return try await BenchServer.run { server in
            try await server.makeStream()
            let trial = try await Trial("reconnect", count, RelayClient.bench(at: server.address))
            let client = trial.client
            var (delays, floors) = ([Double](), [Double]())
            for round in 0..<count {
                // Only a connection that has been open for a while restarts the backoff.
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
                try await server.start()
                let opened = Meter.now()
                delays.append(max(0, await connected.value - opened))
                floors.append(try await WireParameters(server.address).login())
                try await client.publish(topic: "line", message: .int(Int64(round)))
                try await trial.reach(round + 1)
            }
            await client.close()
            let result = Measurement("reconnect").adding(["n": count]).adding(percentilesOf: delays)
            return [
                result.adding(["bare_login_us": floors.median * 1e6, "times_bare_login": delays.median / floors.median])
            ]
        }
    }

    /// Cuts a busy connection at `n` (1000) random byte positions, while `writers` (8) write. It must end connected,
    /// with every message delivered once, and with no more memory and descriptors than after the first tenth.
    static func cuts(_ words: Words) async throws -> [Measurement] {
        let count = words.number("n", 1_000, atLeast: 10)
        return try await BenchServer.run { server in
            try await server.makeStream()
            let proxy = try await FaultProxy.start(target: server.address, seed: 1)
            let policy = ReconnectPolicy(schedule: [.milliseconds(1)])
            let trial = try await Trial("cuts", count, RelayClient.bench(at: proxy.address) { $0.reconnect = policy })
            let client = trial.client
            let written = NIOLockedValueBox<Int64>(0)
            let writers = (0..<words.number("writers", 8)).map { _ in
                Task {
                    // The outbox accepts what the connection cannot; each must arrive once and in order.
                    while !Task.isCancelled {
                        let number = written.withLockedValue {
                            $0 += 1
                            return $0
                        }
                        let pending = try await client.enqueue(topic: "line", message: .int(number))
                        _ = try await pending.receipt(within: .seconds(120))
                    }
                }
            }
            for round in 0..<count {
                trial.begin(round)
                let before = proxy.statistics.cuts
                try await trial.connected(after: round)
                await proxy.cut(
                    afterBytes: writers.isEmpty ? 0 : Int.random(in: 0...3_000),
                    direction: Bool.random() ? .fromClient : .fromServer, how: Bool.random() ? .reset : .finish)
                try await wait(for: "cut \(round + 1) of \(count)", every: .milliseconds(1)) {
                    proxy.statistics.cuts > before
                }
            }
            try await proxy.set(.passThrough)
            // The status is outdated until the client notices the last cut.
            try await trial.connected(after: count)
            for writer in writers { writer.cancel() }
            for writer in writers { _ = await writer.result }
            let last = try await client.enqueue(topic: "line", message: "end").receipt(within: .seconds(60))
            let result = try await trial.end(reaching: Int(last.sequence))
            await proxy.close()
            return [
                result.adding([
                    "cuts": proxy.statistics.cuts, "recoveries": client.status.recoveries,
                    "written": Int(written.withLockedValue(\.self)) + 1, "stored": last.sequence,
                ])
            ]
        }
    }

    /// The application leaves, writes something, and returns, `n` times (1000): each absence closes the connection, and
    /// each return delivers the message to a subscription. It must end with no more memory and descriptors than after
    /// the first tenth, and with tasks of the last round only.
    static func absences(_ words: Words) async throws -> [Measurement] {
        let count = words.number("n", 1_000, atLeast: 10)
        return try await BenchServer.run { server in
            try await server.makeStream()
            let trial = try await Trial("absences", count, RelayClient.bench(at: server.address))
            let client = trial.client
            var haveTasks: [() -> Bool] = []
            for round in 0..<count {
                trial.begin(round)
                let trace = RoundTrace()
                haveTasks.append { [weak trace] in trace != nil }
                try await RoundTrace.$current.withValue(trace) {
                    await client.lifecycleChanged(.stopping)
                    let pending = try await client.enqueue(topic: "line", message: .int(Int64(round)))
                    await client.lifecycleChanged(.foreground)
                    _ = try await pending.receipt(within: .seconds(60))
                }
            }
            let seconds = Meter.now() - trial.begin
            // The last messages of a round may take a moment; leaks remain after that.
            try? await wait(for: "the rounds' end", within: .seconds(10)) { haveTasks.count { $0() } <= 1 }
            let tasks = haveTasks.count { $0() }
            let result = try await trial.end(reaching: count)
            return [result.adding(["cycle_ms": seconds * 1e3 / Double(count), "rounds_with_tasks": tasks])]
        }
    }
}

/// Held by each task started in a round, and by theirs, until they end.
private final class RoundTrace: Sendable {
    @TaskLocal static var current: RoundTrace?
}

/// A client with a reader, through many outages.
private final class Trial: Sendable {
    private struct State {
        var (count, newest, disorder) = (0, UInt64(0), 0)
        /// Forbidden changes of state.
        var illegal = 0
        /// The process's use after the first tenth of the rounds.
        var early = (memory: 0.0, descriptors: 0)
    }

    let begin = Meter.now()
    let client: RelayClient
    private let name: String
    private let rounds: Int
    private let state = NIOLockedValueBox(State())

    init(_ name: String, _ rounds: Int, _ client: RelayClient) async throws {
        (self.name, self.rounds, self.client) = (name, rounds, client)
        let statuses = client.statuses
        Task { [state] in
            var last: ConnectionStatus.State?
            for await status in statuses {
                if let last, last != status.state, !last.successors.contains(status.state) {
                    state.withLockedValue { $0.illegal += 1 }
                }
                last = status.state
            }
        }
        try await client.connect(timeLimit: 20)
        let events = try await client.messages(topic: "line", from: .all)
        Task { [state] in
            do {
                try await events.read { message in
                    state.withLockedValue { state in
                        state.count += 1
                        if message.sequence <= state.newest { state.disorder += 1 }
                        state.newest = max(state.newest, message.sequence)
                    }
                } flaw: { _ in
                    state.withLockedValue { $0.disorder += 1 }
                }
            } catch {
                state.withLockedValue { $0.disorder += 1_000_000 }
            }
        }
    }

    func begin(_ round: Int) {
        guard round == rounds / 10 else { return }
        let early = (Meter.memory(), Meter.descriptors())
        state.withLockedValue { $0.early = early }
    }

    func connected(after recoveries: Int) async throws {
        try await wait(for: "connection \(recoveries + 1)", every: .milliseconds(1)) {
            client.status.state == .connected && client.status.recoveries == recoveries
        }
    }

    func reach(_ count: Int) async throws {
        func now() -> State { state.withLockedValue(\.self) }
        try await wait(for: "message \(count), with \(now().count) read and \(now().disorder) in disorder,") {
            now().count >= count
        }
    }

    /// Closes the client once this many messages have been delivered.
    func end(reaching messages: Int) async throws -> Measurement {
        try await reach(messages)
        // Waiting messages are sent, and delivered, before a connection counts as restored.
        try await wait(for: "the last connection") { client.status.state == .connected }
        let state = state.withLockedValue(\.self)
        let result = Measurement(name).adding([
            "n": rounds, "seconds": Meter.now() - begin, "delivered": state.count, "disorder": state.disorder,
            "illegal_edges": state.illegal, "connected": 1, "memory_growth_kb": Meter.memory() - state.early.memory,
            "descriptor_growth": Meter.descriptors() - state.early.descriptors,
        ])
        await client.close()
        return result
    }
}
