import NATS
import Platform
import RelayNetwork

/// Benchmarks of the NATS client, the client core, the program and the private network. `parley-bench URL SCENARIO k=v
/// …` runs a ``WireScenario`` and prints a line of JSON, and `parley-bench NAME k=v …` one of ``benchmarks`` on its own
/// servers. Without arguments it prints a table of all quick ones.
@main
enum ParleyBench {
    /// The benchmarks that start their own servers, each with its words in a run without arguments; nil if it is not
    /// part of that. The comment of each `run` or its type explains its words. A `holds` of 0 means a broken promise.
    static let benchmarks: [(name: String, inSuite: [String]?, run: @Sendable (Words) async throws -> [Measurement])] =
        [
            ("reconnect", [], OutageScenario.reconnect), ("cuts", [], OutageScenario.cuts),
            ("absences", [], OutageScenario.absences), ("relay", [], RelayScenario.run),
            ("accounts", [], AccountScenario.run), ("store", ["n=200000"], StoreScenario.run),
            ("postbox", ["n=100000"], PostboxScenario.run), ("screen", [], ScreenScenario.run),
            ("suspended", [], SuspendedScenario.run), ("chaos", nil, ChaosScenario.run),
            ("rolling", nil, RollingScenario.run), ("scale", nil, ScaleScenario.run),
        ]

    /// The roles in which a benchmark starts this program again.
    private static let roles: [String: @Sendable (Words) async throws -> Void] = [
        SuspendedScenario.role: SuspendedScenario.rest, SuspendedScenario.floorRole: SuspendedScenario.sleep,
        ChaosRole.publisher.rawValue: ChaosRole.publisher.run,
        ChaosRole.subscriber.rawValue: ChaosRole.subscriber.run,
    ]

    @concurrent
    static func main() async {
        let words = Array(CommandLine.arguments.dropFirst())
        do {
            guard let name = words.first else { return try await Suite.run() }
            if let role = roles[name] { return try await role(Words(words.dropFirst())) }
            guard let benchmark = benchmarks.first(where: { $0.name == name }) else { return try await wire(words) }
            let results = try await benchmark.run(Words(words.dropFirst()))
            for result in results { Meter.say(result.json) }
            if results.contains(where: { $0["holds"] == 0 }) { exit(1) }
        } catch {
            Meter.remark("\(error)")
            exit(2)
        }
    }

    private static func wire(_ words: [String]) async throws {
        guard words.count >= 2, let scenario = WireScenario(rawValue: words[1]) else {
            let names = WireScenario.allCases.map(\.rawValue).joined(separator: "|")
            let others = benchmarks.map(\.name).joined(separator: "|")
            throw BenchFailure("usage: parley-bench [URL \(names) k=v … | \(others) k=v …]")
        }
        let parameters = WireParameters(try ServerAddress(parsing: words[0]), Words(words.dropFirst(2)))
        let result = try await scenario.run(parameters)
        Meter.say(result.adding(["hwm_kb": Meter.peakMemory()]).json)
    }
}
