import Platform
import TestSupport
import Testing

#if os(Linux)
    /// The benchmark of keys during a deletion, with few of either: that it measures, not what.
    @Suite("Benchmarks: the inbox", .realProcesses)
    struct InboxBenchTests {
        @Test("It presses keys in the chat while all letters of a postbox are deleted there, and tells the goal")
        func measures() async throws {
            let folder = try TemporaryFolder()
            var environment = ProcessInfo.processInfo.environment
            environment["TMPDIR"] = folder.path
            environment["PARLEY_NATS_SERVER"] = TestServers.all[0]
            let run = try await ChildProcess.run(
                BuiltProduct.url("parley-bench").path, ["inbox", "n=100", "keys=5", "rounds=2"],
                environment: environment, deadline: .seconds(180))
            #expect(run.status.isSuccess, "\(run.diagnostics)")
            let figures = try #require(try BenchFigures.all(in: run.output)["inbox"])
            #expect(figures["n"] == 100 && figures["rounds"] == 2 && figures["key_p99_goal_ms"] == 20)
            for figure in ["deletions_s", "rest_p50_ms", "rest_p99_ms", "keys", "key_p50_ms", "key_p99_ms"] {
                #expect((figures[figure] ?? 0) > 0, "\(figure)")
            }
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
        }
    }
#endif
