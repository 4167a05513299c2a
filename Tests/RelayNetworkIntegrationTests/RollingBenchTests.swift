import Foundation
import TestSupport
import Testing

/// The shortened forms of `parley-bench rolling`, `chaos network=1` and `scale`.
@Suite("Benchmarks: a network on three servers", .realClusters)
struct RollingBenchTests {
    /// Runs a benchmark on a server program, in a folder of its own of which nothing may be left.
    private func bench(_ server: String, _ words: String...) async throws -> ChildProcess.Result {
        let folder = try TemporaryFolder()
        var environment = ProcessInfo.processInfo.environment
        environment["TMPDIR"] = folder.path
        environment["PARLEY_NATS_SERVER"] = server
        let bench = try ChildProcess(
            BuiltProduct.url("parley-bench").path, words, environment: environment)
        defer { bench.close() }
        let result = try await bench.waitForExit(deadline: .seconds(280))
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
        return result
    }

    @Test(
        "B30, B38: While the servers are restarted in turn every line is acknowledged and read once, one at a time also in order",
        arguments: TestServers.all, [1_000, 1])
    func rolling(server: String, window: Int) async throws {
        let result = try await bench(server, "rolling", "rate=\(window == 1 ? 200 : 1_000)", "window=\(window)")
        #expect(result.status == .exited(0), "\(result)")
        let figures = try #require(BenchFigures.all(in: result.output)["rolling"])
        #expect(figures["holds"] == 1 && figures["restarts"] == 3, "\(result)")
        #expect(figures["acknowledged"] == figures["n"] && figures["lost"] == 0 && figures["doubled"] == 0)
        print("rolling restart of \(server): longest pause \(figures["longest_pause_ms"] ?? .nan) ms")
    }

    @Test(
        "B30, B32, B38: On a network of three servers nothing is lost, doubled or out of order while all is killed",
        arguments: TestServers.all)
    func chaos(server: String) async throws {
        let seed = Int.random(in: 1...999_999)
        let result = try await bench(
            server, "chaos", "network=1", "n=1000", "topics=4", "server-kills=2", "process-kills=1", "cuts=6",
            "seed=\(seed)")
        #expect(result.status == .exited(0), "seed=\(seed) \(result)")
        #expect(result.output.contains("\"server_kills\":2,\"process_kills\":4"), "seed=\(seed) \(result)")
    }

    @Test("What users cost is measured on one server and on three")
    func scale() async throws {
        let result = try await bench(TestServers.all[0], "scale", "n=10", "idle=1")
        #expect(result.status == .exited(0), "\(result)")
        let figures = try BenchFigures.all(in: result.output)
        for part in ["scale_one", "scale_three"] {
            #expect((figures[part]?["memory_kb"] ?? 0) > 0 && (figures[part]?["disk_kb"] ?? 0) > 0, "\(result)")
        }
        #expect((figures["scale_three"]?["restart_s"] ?? 0) > 0, "\(result)")
    }
}
