import Platform
import TestSupport
import Testing

/// The benchmark of the postbox, with few letters: that it measures, not what.
@Suite("Benchmarks: the postbox", .realProcesses)
struct PostboxBenchTests {
    @Test("It fills a postbox, pages and walks through it, and deletes from it while the server is killed")
    func measures() async throws {
        let folder = try TemporaryFolder()
        var environment = ProcessInfo.processInfo.environment
        environment["TMPDIR"] = folder.path
        let run = try await ChildProcess.run(
            BuiltProduct.url("parley-bench").path, ["postbox", "n=2000", "page=10", "rounds=3", "deletions=200"],
            environment: environment, deadline: .seconds(280))
        #expect(run.status.isSuccess, "\(run.diagnostics)")
        let parts = try BenchFigures.all(in: run.output)
        #expect(parts.keys.sorted() == ["postbox", "postbox_delete", "postbox_kill", "postbox_pages", "postbox_walk"])
        for (part, figure) in [
            ("postbox", "stored_s"), ("postbox_pages", "all_first_p50_ms"), ("postbox_pages", "all_next_p50_ms"),
            ("postbox_pages", "box_next_p50_ms"), ("postbox_pages", "box_of_bare"), ("postbox_walk", "letters_s"),
            ("postbox_delete", "deletions_s"), ("postbox_delete", "ratio"),
        ] { #expect((parts[part]?[figure] ?? 0) > 0, "\(part) \(figure)") }
        // Whatever was under way when the server died, each letter is one of these.
        let kill = try #require(parts["postbox_kill"])
        #expect((kill["gone"] ?? 0) + (kill["kept"] ?? 0) + (kill["unknown"] ?? 0) == 200 && kill["n"] == 200)
        #expect(kill["left"] != nil && kill["left"] == kill["came_back"])
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
    }
}
