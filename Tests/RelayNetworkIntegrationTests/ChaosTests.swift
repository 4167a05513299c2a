import Relay
import TestSupport
import Testing

@testable import parley_bench

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The shortened form of `parley-bench chaos`: programs, servers and links that end at chance moments.
@Suite("Benchmarks: chaos", .realProcesses)
struct ChaosTests {
    @Test(
        "B30, B32, B38: nothing is lost, doubled or out of order while servers and clients are killed and links are cut",
        arguments: TestServers.all)
    func chaos(server: String) async throws {
        let folder = try TemporaryFolder()
        var environment = ProcessInfo.processInfo.environment
        environment["TMPDIR"] = folder.path
        environment["PARLEY_NATS_SERVER"] = server
        let seed = Int.random(in: 1...999_999)
        let bench = try ChildProcess(
            BuiltProduct.url("parley-bench").path,
            [
                "chaos", "n=2000", "topics=4", "server-kills=3", "process-kills=1", "cuts=10", "outage=400",
                "seed=\(seed)",
            ],
            environment: environment)
        defer { bench.close() }
        let result = try await bench.waitForExit(deadline: .seconds(280))
        #expect(result.status == .exited(0), "seed=\(seed) \(result)")
        // A run in which nothing was killed would prove nothing.
        #expect(result.output.contains("\"server_kills\":3,\"process_kills\":4"), "seed=\(seed) \(result)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
    }

    @Test("B30, B38: nothing is lost, doubled or out of order on three servers when the stream's leader is killed")
    func leader() async throws {
        let folder = try TemporaryFolder()
        var environment = ProcessInfo.processInfo.environment
        environment["TMPDIR"] = folder.path
        environment["PARLEY_NATS_SERVER"] = TestServers.all.last
        let seed = Int.random(in: 1...999_999)
        let bench = try ChildProcess(
            BuiltProduct.url("parley-bench").path,
            [
                "chaos", "cluster=3", "n=200", "topics=2", "server-kills=1", "process-kills=0", "cuts=2", "outage=200",
                "seed=\(seed)",
            ],
            environment: environment)
        defer { bench.close() }
        let result = try await bench.waitForExit(deadline: .seconds(280))
        #expect(result.status == .exited(0), "seed=\(seed) \(result)")
        #expect(result.output.contains("\"server_kills\":1"), "seed=\(seed) \(result)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
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
