import Platform
import Relay
import TestSupport
import Testing

@testable import parley_bench

/// The shortened form of `parley-bench chaos`: programs, servers and links that end at chance moments.
@Suite("Benchmarks: chaos", .realProcesses)
struct ChaosTests {
    @Test(
        "B30, B32, B38: nothing is lost, doubled or out of order while servers and clients are killed and links are cut",
        arguments: TestServers.all)
    func chaos(server: String) async throws {
        let seed = Int.random(in: 1...999_999)
        let parts = try await BenchFigures.run(
            "chaos", "n=2000", "topics=4", "server-kills=3", "process-kills=1", "cuts=10", "outage=400", "seed=\(seed)",
            server: server)
        // A run in which nothing was killed would prove nothing.
        let figures = try #require(parts["chaos"], "seed=\(seed)")
        #expect(figures["server_kills"] == 3 && figures["process_kills"] == 4, "seed=\(seed) \(figures)")
    }
}

/// What the run counts.
@Suite("Benchmarks: what chaos counts")
struct ChaosTallyTests {
    private let plan = ChaosPlan(Words(["n=100", "topics=2"]))

    /// What is left of a run whose publishers' messages lie in the order of their numbers.
    private func tally(_ change: (inout [(publisher: Int, number: Int)]) -> Void = { _ in }) -> ChaosTally {
        var messages = (1...50).flatMap { number in (0..<2).map { (publisher: $0, number: number) } }
        change(&messages)
        var tally = ChaosTally(plan)
        for (publisher, number) in messages {
            let topic = ChaosPlan.topic(of: number, 2)
            let text = ChaosTally.text(publisher, number)
            let envelope = Envelope(
                id: text, room: topic, message: .string(text), start: Timestamp(milliseconds: 1_700_000_000_000))
            tally.take(envelope.encoded(), on: topic)
        }
        return tally
    }

    @Test("Each message once and in order is perfect, whatever the order of the topics and publishers among each other")
    func perfect() {
        #expect(tally().isPerfect)
        #expect(tally().stored == 100)
        #expect(
            tally { $0.sort { ($0.number % 2, $0.publisher, $0.number) < ($1.number % 2, $1.publisher, $1.number) } }
                .isPerfect)
    }

    @Test("A message that is missing, there twice, behind a later one, or nobody's is counted")
    func flaws() {
        let missing = tally { $0.remove(at: 10) }
        #expect(missing.lost == 1 && !missing.isPerfect)
        let doubled = tally { $0.append($0[99]) }
        #expect(doubled.duplicates == 1 && doubled.lost == 0 && !doubled.isPerfect)
        let swapped = tally { $0.swapAt(10, 14) }
        #expect(swapped.disorder == 1 && swapped.lost == 0 && swapped.duplicates == 0 && !swapped.isPerfect)
        var stranger = tally()
        stranger.take([0xC0], on: "room.0")
        #expect(stranger.strangers == 1 && !stranger.isPerfect)
    }

    /// What is reported of a run in which all was done and nothing lost.
    private func report(_ change: (inout ChaosReport) -> Void = { _ in }) -> ChaosReport {
        let plan = ChaosPlan(Words(["n=100", "topics=2", "server-kills=2", "process-kills=1"]))
        var report = ChaosReport(plan: plan, version: "2.12.0")
        report.tallies = ["stream", "subscriber-0", "subscriber-1"].map { (place: $0, tally: tally()) }
        report.serverKills = 2
        let clients = ["subscriber-0", "subscriber-1", "publisher-0", "publisher-1"]
        report.processKills = clients.map { (name: $0, kills: 1) }
        change(&report)
        return report
    }

    @Test("A run succeeds only if all that was planned was done, and otherwise says what was not")
    func planned() {
        let success = "each message is everywhere, once and in order"
        #expect(report().holds && report().undone.isEmpty)
        #expect(report().text.contains(success) && report().measurement["process_kills"] == 4)

        let fewer: [(line: String, report: ChaosReport)] = [
            ("servers were killed 1 of 2 times", report { $0.serverKills = 1 }),
            ("subscriber-1 was killed 0 of 1 times", report { $0.processKills[1].kills = 0 }),
            ("publisher-0 was killed 0 of 1 times", report { $0.processKills[2].kills = 0 }),
            ("3 of 4 clients ran", report { $0.processKills.removeLast() }),
            ("messages were counted in 2 of 3 places", report { $0.tallies.removeLast() }),
        ]
        for (line, report) in fewer {
            #expect(!report.holds)
            #expect(report.text.contains(line) && report.text.contains("THE RUN PROVES NOTHING"))
            #expect(!report.text.contains(success))
        }
        // A kill of one does not stand for a kill of another.
        let moved = report {
            $0.processKills[0].kills = 2
            $0.processKills[1].kills = 0
        }
        #expect(!moved.holds && !moved.text.contains(success))
    }

    @Test("A run that lost a message, left one unsent or was told otherwise has broken the promise")
    func broken() {
        for broken in [
            report { $0.tallies[2].tally = tally { $0.removeLast() } }, report { $0.unsent = 1 },
            report { $0.notes = ["subscriber-0: a gap"] },
        ] {
            #expect(!broken.holds && broken.undone.isEmpty)
            #expect(broken.text.contains("THE PROMISE IS BROKEN"))
        }
    }

    @Test("Equal seeds bring the same moments, in order, none in the last fifth")
    func moments() {
        var first = plan.generator(7)
        var second = plan.generator(7)
        let moments = ChaosPlan.moments(20, of: 100_000, using: &first)
        let again = ChaosPlan.moments(20, of: 100_000, using: &second)
        #expect(moments == again)
        #expect(moments.count == 20 && moments == moments.sorted())
        #expect(moments.allSatisfy { (5_000..<80_000).contains($0) })
    }
}
