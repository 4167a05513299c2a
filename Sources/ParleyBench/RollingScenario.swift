import NIOConcurrencyHelpers
import Platform
import Relay

/// A network on three servers that are restarted one after the other, `rounds` (1) times each, while somebody publishes
/// `rate` (1000) messages a second and somebody else reads. Each message has to be acknowledged and read once. What is
/// measured is the longest time in which none was acknowledged, and none arrived. Of those that are under way when
/// another server takes over, a later one may be stored before an earlier one (`disorder`); with `window=1`, so many of
/// one destination under way at most, none is.
enum RollingScenario {
    /// The scenario's name on the command line.
    static let name = "rolling"
    private static let topic = "room.rolling"

    /// Runs; `holds` is 1 in the result where nothing was lost or doubled, nor with `window=1` out of order.
    @concurrent
    static func run(_ words: Words) async throws -> Measurement {
        let rate = min(100_000, max(1, words.number("rate", 1_000)))
        let rounds = max(1, words.number("rounds", 1))
        let window = max(1, words.number("window", OutboxPolicy().maximumInFlightPerDestination))
        return try await BenchCluster.run { network in
            let writer = try await network.client("writer") { $0.outbox.maximumInFlightPerDestination = window }
            let reader = try await network.client("reader")
            try await writer.connect(within: .seconds(60))
            try await reader.connect(within: .seconds(60))
            let count = Count()
            let events = try await reader.messages(topic: topic, from: .all)
            let reading = Task { try await read(events, count) }
            let begin = Meter.now()
            let publishing = Task { try await publish(writer, rate, count) }
            try await wait("a first acknowledgement") { count.acknowledged > 0 }
            var restarts = 0
            for _ in 0..<rounds {
                for server in network.cluster.serverProcesses().keys.sorted() {
                    try await network.restart(server, by: SIGTERM)
                    restarts += 1
                }
            }
            let restarted = Meter.now() - begin
            publishing.cancel()
            let published = try await publishing.value
            try await wait("the last message") { count.arrived >= published }
            reading.cancel()
            let result = count.measurement.adding("n", Double(published)).adding("rate", Double(rate))
                .adding("restarts", Double(restarts)).adding("seconds", restarted)
                .adding("lost", Double(published - count.distinct))
                .adding("holds", count.holds(published, inOrder: window == 1) ? 1 : 0)
            await writer.close()
            await reader.close()
            return result
        }
    }

    /// Publishes numbers until the task is cancelled, and waits until each is acknowledged.
    /// - Returns: how many.
    private static func publish(_ client: RelayClient, _ rate: Int, _ count: Count) async throws -> Int {
        let begin = ContinuousClock.now
        var number = 0
        var last: [Task<Void, any Error>] = []
        while !Task.isCancelled {
            let due = Int((ContinuousClock.now - begin) / .milliseconds(1)) * rate / 1_000
            while number < due {
                do throws(RelayError) {
                    let pending = try client.submit(topic: topic, message: .int(Int64(number)))
                    number += 1
                    // Whoever waits for the receipt is one of many; only the newest are held on to.
                    let waiting = Task {
                        _ = try await pending.receipt(within: .seconds(120))
                        count.acknowledge()
                    }
                    last.append(waiting)
                } catch {
                    // The outbox is full while there is no leader: what it has leaves first.
                    break
                }
            }
            if last.count > 4 * rate {
                for waiting in last.prefix(last.count - 2 * rate) { try await waiting.value }
                last.removeFirst(last.count - 2 * rate)
            }
            try? await Task.sleep(for: .milliseconds(5))
        }
        for waiting in last { try await waiting.value }
        return number
    }

    private static func read(_ events: TopicEvents, _ count: Count) async throws {
        var iterator = events.makeAsyncIterator()
        while let batch = try await iterator.nextBatch() {
            for event in batch {
                switch event {
                case .message(let message):
                    if let number = message.message.intValue { count.arrive(Int(number)) } else { count.strange() }
                case .gap, .unreadable, .restarted: count.strange()
                case .live, .interrupted: break
                }
            }
        }
    }

    private static func wait(_ what: String, until condition: () -> Bool) async throws {
        let deadline = ContinuousClock.now + .seconds(120)
        while !condition() {
            guard ContinuousClock.now < deadline else { throw ChaosFailure("\(what) did not come within two minutes") }
            try await Task.sleep(for: .milliseconds(5))
        }
    }

    /// What was acknowledged and what arrived, by the moment.
    private final class Count: Sendable {
        private struct State {
            var acknowledged = 0
            var arrived = 0
            var next = 0
            var disorder = 0
            var doubled = 0
            var strange = 0
            var seen: Set<Int> = []
            var acknowledgement: Double?
            var arrival: Double?
            var longestAcknowledgement = 0.0
            var longestArrival = 0.0
        }

        private let state = NIOLockedValueBox(State())

        var acknowledged: Int { state.withLockedValue(\.acknowledged) }
        var arrived: Int { state.withLockedValue(\.arrived) }
        var distinct: Int { state.withLockedValue { $0.next + $0.seen.count } }

        func acknowledge() {
            let now = Meter.now()
            state.withLockedValue { state in
                state.acknowledged += 1
                if let before = state.acknowledgement {
                    state.longestAcknowledgement = max(state.longestAcknowledgement, now - before)
                }
                state.acknowledgement = now
            }
        }

        func arrive(_ number: Int) {
            let now = Meter.now()
            state.withLockedValue { state in
                state.arrived += 1
                if let before = state.arrival { state.longestArrival = max(state.longestArrival, now - before) }
                state.arrival = now
                guard number != state.next else {
                    state.next += 1
                    // Those that came too early follow.
                    while state.seen.remove(state.next) != nil { state.next += 1 }
                    return
                }
                if number < state.next || !state.seen.insert(number).inserted { state.doubled += 1 }
                state.disorder += 1
            }
        }

        func strange() { state.withLockedValue { $0.strange += 1 } }

        func holds(_ published: Int, inOrder: Bool) -> Bool {
            state.withLockedValue { state in
                state.acknowledged == published && state.next == published && state.doubled == 0
                    && (state.disorder == 0 || !inOrder) && state.strange == 0
            }
        }

        var measurement: Measurement {
            state.withLockedValue { state in
                Measurement(RollingScenario.name).adding("acknowledged", Double(state.acknowledged))
                    .adding("doubled", Double(state.doubled)).adding("disorder", Double(state.disorder))
                    .adding("strange", Double(state.strange))
                    .adding("longest_pause_ms", state.longestAcknowledgement * 1e3)
                    .adding("longest_silence_ms", state.longestArrival * 1e3)
            }
        }
    }
}
