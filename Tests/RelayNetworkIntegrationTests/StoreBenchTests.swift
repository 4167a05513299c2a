import Platform
import TestSupport
import Testing

/// The benchmark of the local store, with few messages: that it measures, not what.
@Suite("Benchmarks: the local store", .realProcesses)
struct StoreBenchTests {
    private struct Filling: Decodable {
        var scenario: String
        var n, insertS, bareInsertS, fileBytesMsg, payloadBytesMsg: Double
    }

    @Test("It fills a store, opens it, looks through it, and leaves nothing behind")
    func measures() async throws {
        let folder = try TemporaryFolder()
        var environment = ProcessInfo.processInfo.environment
        environment["TMPDIR"] = folder.path
        let run = try await ChildProcess.run(
            BuiltProduct.url("parley-bench").path,
            ["store", "n=3000", "rounds=1", "searches=2", "only=open,search"], environment: environment,
            deadline: .seconds(280))
        #expect(run.status.isSuccess, "\(run.diagnostics)")
        let lines = run.output.split(separator: "\n").map(String.init)
        #expect(lines.count == 3)
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        let filling = try decoder.decode(Filling.self, from: Data(try #require(lines.first).utf8))
        #expect(filling.scenario == "store" && filling.n == 3_000)
        #expect(filling.insertS > 0 && filling.bareInsertS > 0)
        #expect(filling.fileBytesMsg > filling.payloadBytesMsg)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
    }

    private struct Comparison: Decodable {
        var scenario: String
        var ratio: Double?
    }

    @Test("It reads from a server and starts the chat, each with the store and without one, and leaves nothing behind")
    func compares() async throws {
        let folder = try TemporaryFolder()
        var environment = ProcessInfo.processInfo.environment
        environment["TMPDIR"] = folder.path
        let run = try await ChildProcess.run(
            BuiltProduct.url("parley-bench").path,
            ["store", "n=3000", "rounds=1", "stored=1000", "only=tail,frame"], environment: environment,
            deadline: .seconds(280))
        #expect(run.status.isSuccess, "\(run.diagnostics)")
        let comparisons = try run.output.split(separator: "\n").map {
            try JSONDecoder().decode(Comparison.self, from: Data($0.utf8))
        }
        #if os(Linux)
            #expect(comparisons.map(\.scenario) == ["store", "store_tail", "store_frame"], "\(run.diagnostics)")
        #endif
        #expect(comparisons.dropFirst().allSatisfy { $0.ratio ?? 0 > 0 }, "\(run.output)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
    }
}
