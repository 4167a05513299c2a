import Platform
import TestSupport
import Testing

@testable import RelayNetwork

/// The server that the benchmarks run for themselves.
@Suite("Benchmarks: their own server", .realProcesses)
struct BenchServerTests {
    private func bench(temporaryFolder: String) throws -> ChildProcess {
        var environment = ProcessInfo.processInfo.environment
        environment["TMPDIR"] = temporaryFolder
        environment["PARLEY_NATS_SERVER"] = TestServers.all[0]
        return try ChildProcess(
            BuiltProduct.url("parley-bench").path, ["reconnect", "n=1000"], environment: environment)
    }

    @Test("Without a temporary folder nothing is started, and no other folder is taken for it")
    func noFolder() async throws {
        let folder = try TemporaryFolder()
        let bench = try bench(temporaryFolder: folder.path + "/missing")
        #expect(try await bench.waitForExit().status == .exited(2))
        #expect(bench.diagnostics.contains(folder.path + "/missing"))
    }

    #if os(Linux)
        @Test("The server ends with the benchmark, however that ends", arguments: [SIGTERM, SIGKILL])
        func ends(signal: Int32) async throws {
            let folder = try TemporaryFolder()
            let bench = try bench(temporaryFolder: folder.path)
            var server: pid_t?
            try await eventually("the server runs") {
                let files = FileManager.default.enumerator(atPath: folder.path)
                while let path = files?.nextObject() as? String {
                    guard path.hasSuffix("server.pid"),
                        let text = try? String(contentsOfFile: "\(folder.path)/\(path)", encoding: .utf8)
                    else { continue }
                    server = pid_t(text.split(separator: "\n").first ?? "")
                }
                return server != nil
            }
            let id = try #require(server)
            #expect(RunningProcess(id) != nil)
            bench.signal(signal)
            #expect(try await bench.waitForExit().status == .signalled(signal))
            try await eventually("the server has ended") { RunningProcess(id) == nil }
        }
    #endif
}
