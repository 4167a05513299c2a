import TestSupport
import Testing

/// The shortened forms of `parley-bench rolling`, `chaos cluster=3` and `scale`.
@Suite("Benchmarks: a network on three servers", .realClusters)
struct RollingBenchTests {
    @Test(
        "B30, B38: While the servers are restarted in turn every line is acknowledged and read once, one at a time also in order",
        arguments: TestServers.all, [1_000, 1])
    func rolling(server: String, window: Int) async throws {
        let parts = try await BenchFigures.run(
            "rolling", "rate=\(window == 1 ? 200 : 1_000)", "window=\(window)", server: server)
        let figures = try #require(parts["rolling"])
        #expect(figures["holds"] == 1 && figures["restarts"] == 3, "\(figures)")
        #expect(figures["acknowledged"] == figures["n"] && figures["lost"] == 0 && figures["doubled"] == 0)
        print("rolling restart of \(server): longest pause \(figures["longest_pause_ms"] ?? .nan) ms")
    }

    @Test(
        "B30, B32, B38: On a network of three servers nothing is lost, doubled or out of order while all is killed",
        arguments: TestServers.all)
    func chaos(server: String) async throws {
        let seed = Int.random(in: 1...999_999)
        let parts = try await BenchFigures.run(
            "chaos", "cluster=3", "n=1000", "topics=4", "server-kills=2", "process-kills=1", "cuts=6", "seed=\(seed)",
            server: server)
        let figures = try #require(parts["chaos"], "seed=\(seed)")
        #expect(figures["server_kills"] == 2 && figures["process_kills"] == 4, "seed=\(seed) \(figures)")
    }

    @Test("What users cost is measured on one server and on three")
    func scale() async throws {
        let parts = try await BenchFigures.run("scale", "n=10", "idle=1")
        for part in ["scale_one", "scale_three"] { parts.expect("memory_kb", "disk_kb", of: part) }
        parts.expect("restart_s", of: "scale_three")
    }
}
