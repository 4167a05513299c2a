import Platform
import TestSupport
import Testing

/// What `parley-bench` prints: a line of figures for each part, which has one word among them.
struct BenchFigures: Decodable {
    var scenario: String
    var values: [String: Double] = [:]

    /// Runs a benchmark, which has to end well and to leave nothing in its temporary folder.
    ///
    /// - Returns: the figures of each part.
    static func run(
        _ words: String..., server: String = TestServers.all[0]
    ) async throws -> [String: [String: Double]] {
        let folder = try TemporaryFolder()
        var environment = ProcessInfo.processInfo.environment
        environment["TMPDIR"] = folder.path
        environment["PARLEY_NATS_SERVER"] = server
        let run = try await ChildProcess.run(
            BuiltProduct.url("parley-bench").path, words, environment: environment, deadline: .seconds(280))
        #expect(run.status.isSuccess, "\(words) \(run)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
        // A run in words has its figures last.
        let lines = run.output.split(separator: "\n").filter { $0.hasPrefix("{") }
        let figures = try lines.map { try JSONDecoder().decode(BenchFigures.self, from: Data($0.utf8)) }
        return Dictionary(figures.map { ($0.scenario, $0.values) }) { $1 }
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Key.self)
        scenario = try container.decode(String.self, forKey: Key(stringValue: "scenario"))
        for key in container.allKeys where key.stringValue != "scenario" {
            values[key.stringValue] = try container.decode(Double.self, forKey: key)
        }
    }

    private struct Key: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }

        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }
}

extension [String: [String: Double]] {
    /// Looks that figures of a part are there and more than nothing.
    func expect(_ figures: String..., of part: String, sourceLocation: SourceLocation = #_sourceLocation) {
        for figure in figures {
            #expect((self[part]?[figure] ?? 0) > 0, "\(part) \(figure)", sourceLocation: sourceLocation)
        }
    }
}
