import NATS
import NIOConcurrencyHelpers
import Platform
import Relay
import RelayNetwork

/// Tests the promise that nothing is lost, duplicated or out of order while everything that can be killed is.
///
/// Two publishers and two subscribers, each a process with its own local store and links, use one server or
/// (`cluster=3`, or `network=1`) a network on three servers, as a user of it. `n` (100000) numbered messages go to
/// `topics` (20) topics. Meanwhile the server, or the stream's leader, is killed with -9 and restarted `server-kills`
/// times (20, of three 5), each publisher and each subscriber `process-kills` times (5), and `cuts` links are cut (one
/// for every thousand messages). At the end the stream and the subscribers' stores are read: each contains each message
/// once and in order, or the promise is broken. A run that did not carry out its plan in full proves nothing, and fails
/// as well. `seed` repeats the random choices, `outage` is the longest outage of a server in milliseconds, and `keep=1`
/// keeps the files of the clients and of a single server.
struct ChaosScenario: Sendable {
    private let plan: ChaosPlan
    private let place: ChaosPlace
    private let processes: [ChaosProcess]

    /// Runs until the end or the first signal to stop; all processes have ended when this returns.
    static func run(_ words: Words) async throws -> [Measurement] {
        let plan = ChaosPlan(words)
        let signals = EndingSignals()
        defer { signals.cancel() }
        let work = Task { try await run(plan) }
        let watch = Task { [numbers = signals.numbers] in for await _ in numbers { work.cancel() } }
        defer { watch.cancel() }
        do {
            let report = try await work.value
            Meter.say(report.text)
            return [report.measurement]
        } catch {
            throw BenchFailure("seed \(plan.seed): \(error)")
        }
    }

    private static func run(_ plan: ChaosPlan) async throws -> ChaosReport {
        let folder = try TemporaryFolder.make("bench")
        defer { if !plan.keepsFolder { try? FileManager.default.removeItem(atPath: folder) } }
        return try await ChaosPlace.run(plan, in: folder) { place in
            var processes: [ChaosProcess] = []
            return try await finally {
                for process in processes { await process.close() }
            } after: {
                for index in 0..<ChaosPlan.subscribers {
                    processes.append(try await ChaosProcess(.subscriber, index, plan, place, in: folder))
                }
                for index in 0..<ChaosPlan.publishers {
                    processes.append(try await ChaosProcess(.publisher, index, plan, place, in: folder))
                }
                var report = try await ChaosScenario(plan: plan, place: place, processes: processes).rehearse()
                if plan.keepsFolder { report.folder = folder }
                return report
            }
        }
    }

    private func rehearse() async throws -> ChaosReport {
        var report = ChaosReport(plan: plan, version: place.version)
        let begin = Meter.now()
        let serverKills = NIOLockedValueBox(0)
        for process in processes { try await process.start() }
        // The first failure ends everything.
        try await withThrowingDiscardingTaskGroup { group in
            for (number, process) in processes.enumerated() {
                group.addTask { try await kill(process, plan.generator(number)) }
            }
            group.addTask {
                try await atMoments(plan.serverKills, plan.generator(1_000)) { generator in
                    try await place.kill(.milliseconds(Int.random(in: 0...plan.outage, using: &generator)))
                    serverKills.withLockedValue { $0 += 1 }
                }
            }
            group.addTask {
                try await atMoments(plan.cuts, plan.generator(2_000)) { generator in
                    await processes.randomElement(using: &generator)?.cut(using: &generator)
                }
            }
        }
        report.serverKills = serverKills.withLockedValue(\.self)
        report.processKills = processes.map { ($0.name, $0.kills) }
        report.cuts = processes.reduce(0) { $0 + $1.cuts }

        let state = try await place.state()
        for subscriber in processes where subscriber.role == .subscriber {
            try await waitForAll(state.messages, of: subscriber)
        }
        report.seconds = Meter.now() - begin
        report.tallies.append(("stream", try await place.tally(plan, through: state.lastSequence)))
        for process in processes {
            guard await process.stop() == 0 else { throw process.failure("it did not end well") }
            report.notes += process.notes
            try await StoreScenario.using(process.store) { store in
                switch process.role {
                case .publisher: report.unsent += try await store.status().outbox
                case .subscriber: report.tallies.append((process.name, try await tally(store)))
                }
            }
        }
        return report
    }

    /// A publisher is killed by its own progress, so that it never ends before, and a subscriber by the total.
    private func kill(_ process: ChaosProcess, _ generator: SeededGenerator) async throws {
        var generator = generator
        let isPublisher = process.role == .publisher
        let total = isPublisher ? plan.messages / ChaosPlan.publishers : plan.messages
        let moments = ChaosPlan.moments(plan.processKills, of: total, using: &generator)
        try await process.killing(at: moments, of: { isPublisher ? process.accepted : accepted }, using: generator)
    }

    private var accepted: Int { processes.reduce(0) { $0 + $1.accepted } }

    /// Acts at moments of all publishers' progress. If publishers are stuck, their own kill fails, which cancels this.
    private func atMoments(
        _ count: Int, _ generator: SeededGenerator, _ act: (inout SeededGenerator) async throws -> Void
    ) async throws {
        var generator = generator
        for moment in ChaosPlan.moments(count, of: plan.messages, using: &generator) {
            while accepted < moment { try await Task.sleep(for: .milliseconds(5)) }
            try await act(&generator)
        }
    }

    /// Waits until a subscriber has as many messages as the stream. If none arrives for a minute, the rest is lost.
    /// Another process has the store open too.
    private func waitForAll(_ count: UInt64, of subscriber: ChaosProcess) async throws {
        try await StoreScenario.using(subscriber.store) { store in
            var newest = (count: -1, at: ContinuousClock.now)
            while true {
                let kept = try await store.status().messages
                if kept >= Int(clamping: count) { return }
                guard !subscriber.hasEnded else { throw subscriber.failure("it has ended by itself") }
                if kept != newest.count { newest = (kept, .now) }
                guard ContinuousClock.now - newest.at < .seconds(60) else { return }
                try await Task.sleep(for: .milliseconds(50))
            }
        }
    }

    private func tally(_ store: LocalStore) async throws -> ChaosTally {
        var tally = ChaosTally(plan)
        for topic in (0..<plan.topics).map({ ChaosPlan.topic(of: $0, plan.topics) }) {
            let pattern = try TopicPattern(topic)
            var last: KeptPlace?
            while true {
                let page = try await store.messages(of: pattern, after: last, limit: 1_000)
                for message in page.messages { tally.take(message.payload, on: topic) }
                guard !page.isComplete, let newest = page.messages.last else { break }
                last = newest.place
            }
        }
        // Messages of other topics are not of this run.
        let others = try await store.status().messages - tally.stored
        for _ in 0..<max(0, others) { tally.take([], on: "") }
        return tally
    }
}
