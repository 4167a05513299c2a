import NATS
import Platform
import TestSupport
import Testing

/// The benchmarks of the client core, of the wire and of accounts, with little to do: that they measure, not what.
@Suite("Benchmarks: the core", .realProcesses)
struct CoreBenchTests {
    /// What a benchmark prints, whose temporary folder must be empty afterwards.
    private static func figures(_ arguments: [String]) async throws -> [String: [String: Double]] {
        let folder = try TemporaryFolder()
        var environment = ProcessInfo.processInfo.environment
        environment["TMPDIR"] = folder.path
        environment["PARLEY_NATS_SERVER"] = TestServers.all[0]
        let run = try await ChildProcess.run(
            BuiltProduct.url("parley-bench").path, arguments, environment: environment, deadline: .seconds(280))
        #expect(run.status.isSuccess, "\(run.diagnostics)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
        return try BenchFigures.all(in: run.output)
    }

    @Test("The core is measured from the pool and from the main actor, each beside the wire")
    func relay() async throws {
        let figures = try #require(try await Self.figures(["relay", "n=1000"])["relay"])
        #expect(figures["n"] == 1_000 && figures["rounds"] == 1)
        for floor in ["jspub_async_s", "jspub_sync_s", "jspull_s"] { #expect((figures[floor] ?? 0) > 0, "\(floor)") }
        for scenario in ["submit", "publish", "messages", "on"] {
            for figure in ["pool_s", "pool_ratio", "main_s", "main_ratio"] {
                #expect((figures["\(scenario)_\(figure)"] ?? 0) > 0, "\(scenario)_\(figure)")
            }
        }
    }

    @Test("Users are added and log in, and what goes through their imports is compared with what does not")
    func accounts() async throws {
        let parts = try await Self.figures(["accounts", "n=5", "messages=200"])
        #expect(parts["accounts"]?["n"] == 5)
        for figure in ["add_us", "p50_us", "p99_us", "again_p50_us"] {
            #expect((parts["accounts"]?[figure] ?? 0) > 0, "\(figure)")
        }
        for figure in ["jspub_sync", "jspub_async", "jspull"] {
            #expect((parts["imports"]?[figure] ?? 0) > 0, "\(figure)")
        }
    }

    @Test("A server that is killed and started again is found again, and how long that takes is told")
    func reconnect() async throws {
        let figures = try #require(try await Self.figures(["reconnect", "n=1"])["reconnect"])
        #expect(figures["n"] == 1)
        for figure in ["bare_login_us", "times_bare_login"] { #expect((figures[figure] ?? -1) >= 0, "\(figure)") }
    }

    @Test("The wire is measured on a server that is named")
    func wire() async throws {
        let server = try await NATSServerProcess.start()
        let connection = try await NATSConnection.connect(
            to: try ServerAddress(parsing: server.url), options: ConnectOptions(connectTimeout: .seconds(60)))
        let jetStream = JetStream(connection, timeout: .seconds(60))
        try await jetStream.createStream(StreamConfiguration(name: "BENCH", subjects: ["bench.js"]))
        for (scenario, figure) in [
            ("pub", "msgs_s"), ("ping", "p50_us"), ("connect", "p50_us"), ("idle", "hwm_kb"),
            ("jspub_sync", "msgs_s"), ("jspub_async", "msgs_s"), ("jspull", "msgs_s"),
        ] {
            let figures = try await Self.figures([server.url, scenario, "n=100", "subject=bench.js"])[scenario]
            #expect((figures?[figure] ?? 0) > 0, "\(scenario) \(figure)")
        }
        await connection.close()
    }
}
