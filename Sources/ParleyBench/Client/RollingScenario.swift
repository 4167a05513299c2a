import NIOConcurrencyHelpers
import Platform
import Relay
import RelayLab

/// Restarts the servers of a network on three, one after another, `rounds` (1) times each, while one client publishes
/// `rate` (1000) messages a second and another reads. Each message must be acknowledged and read once. Measures the
/// longest time without an acknowledgement and without an arrival. If another server takes over, a later message in
/// flight may be stored before an earlier one (`disorder`), but not with `window=1`, the maximum in flight per
/// destination. `holds` is 1 if nothing was lost or duplicated nor, with `window=1`, out of order.
enum RollingScenario {
    private static let topic = "room.rolling"

    static func run(_ words: Words) async throws -> [Measurement] {
        let rate = min(100_000, words.number("rate", 1_000, atLeast: 1))
        let rounds = words.number("rounds", 1, atLeast: 1)
        let window = words.number("window", OutboxPolicy().maximumInFlightPerDestination, atLeast: 1)
        return try await LabNetwork.run(onThree: true) { network in
            let writer = try await network.client("writer") { $0.outbox.maximumInFlightPerDestination = window }
            let reader = try await network.client("reader")
            try await writer.connect(within: .seconds(60))
            try await reader.connect(within: .seconds(60))
            let count = NIOLockedValueBox(Count())
            let events = try await reader.messages(topic: topic, from: .all)
            let reading = Task {
                try await events.read { message in
                    count.withLockedValue { $0.arrive(message.message.intValue.map { Int($0) }) }
                } flaw: { _ in
                    count.withLockedValue { $0.strange += 1 }
                }
            }
            let begin = Meter.now()
            let publishing = Task { try await publish(writer, rate, count) }
            try await wait(for: "a first acknowledgement") { count.withLockedValue(\.acknowledged) > 0 }
            let servers = network.cluster.serverProcesses().keys.sorted()
            for server in (0..<rounds).flatMap({ _ in servers }) { try await network.restart(server) }
            let restarted = Meter.now() - begin
            count.withLockedValue { $0.isEnding = true }
            let published = try await publishing.value
            try await wait(for: "the last message", within: .seconds(120)) {
                count.withLockedValue(\.arrived) >= published
            }
            reading.cancel()
            await writer.close()
            await reader.close()
            let state = count.withLockedValue(\.self)
            let isWhole = state.acknowledged == published && state.next == published
            let holds = isWhole && state.doubled == 0 && state.strange == 0 && (state.disorder == 0 || window > 1)
            let result = Measurement("rolling").adding([
                "acknowledged": state.acknowledged, "doubled": state.doubled, "disorder": state.disorder,
                "strange": state.strange, "longest_pause_ms": state.acknowledgements.longest * 1e3,
                "longest_silence_ms": state.arrivals.longest * 1e3, "n": published, "rate": rate,
                "restarts": rounds * servers.count, "seconds": restarted,
                "lost": published - state.next - state.early.count, "holds": holds ? 1 : 0,
            ])
            return [result]
        }
    }

    /// Publishes numbers until told to end, waits for all acknowledgements, and returns the count.
    private static func publish(
        _ client: RelayClient, _ rate: Int, _ count: NIOLockedValueBox<Count>
    ) async throws -> Int {
        try await withThrowingDiscardingTaskGroup { group in
            let begin = Meter.now()
            var number = 0
            while !count.withLockedValue(\.isEnding) {
                while number < Int((Meter.now() - begin) * Double(rate)) {
                    do throws(RelayError) {
                        let pending = try await client.enqueue(topic: topic, message: .int(Int64(number)))
                        number += 1
                        group.addTask {
                            _ = try await pending.receipt(within: .seconds(120))
                            count.withLockedValue { $0.acknowledge() }
                        }
                    } catch {
                        // The outbox is full while there is no leader: wait for space.
                        break
                    }
                }
                try await Task.sleep(for: .milliseconds(5))
            }
            return number
        }
    }

    private struct Gaps {
        private var last: Double?
        private(set) var longest = 0.0

        mutating func mark() {
            let now = Meter.now()
            if let last { longest = max(longest, now - last) }
            last = now
        }
    }

    private struct Count {
        var isEnding = false
        var (acknowledged, arrived, disorder, doubled, strange) = (0, 0, 0, 0, 0)
        /// All smaller numbers have arrived.
        var next = 0
        /// Larger ones that arrived before it.
        var early: Set<Int> = []
        var (acknowledgements, arrivals) = (Gaps(), Gaps())

        mutating func acknowledge() {
            acknowledged += 1
            acknowledgements.mark()
        }

        mutating func arrive(_ number: Int?) {
            guard let number else { return strange += 1 }
            arrived += 1
            arrivals.mark()
            guard number != next else {
                next += 1
                while early.remove(next) != nil { next += 1 }
                return
            }
            if number < next || !early.insert(number).inserted { doubled += 1 }
            disorder += 1
        }
    }
}
