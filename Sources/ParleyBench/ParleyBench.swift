import NATS
import Platform

/// Benchmarks of the NATS client and of the client core. `parley-bench URL SCENARIO k=v …` runs one and prints a line
/// of JSON; `parley-bench reconnect|cuts|absences k=v …` rehearses outages on a server of its own,
/// `parley-bench relay k=v …` measures the client core against the bare wire, `parley-bench accounts k=v …` a private
/// network with many users, `parley-bench store k=v …` the local store, `parley-bench postbox k=v …` pages and
/// deletions of a postbox, `parley-bench screen k=v …` the chat's screen, `parley-bench inbox k=v …` keys while letters
/// are deleted there, and `parley-bench suspended k=v …` what a suspended client still does. `parley-bench chaos k=v …`
/// kills everything in turns and ends with 1 where a message is lost, doubled or out of order;
/// `parley-bench rolling k=v …` restarts the servers of a cluster in turn, and `parley-bench scale k=v …` says what one
/// of them carries. Without arguments it starts servers, runs all but these three, and prints a table.
@main
enum ParleyBench {
    static func main() async {
        let words = Array(CommandLine.arguments.dropFirst())
        do {
            if words.isEmpty {
                try await Suite.run()
            } else if let outage = OutageScenario(rawValue: words[0]) {
                Meter.say(try await outage.run(Words(words.dropFirst())).json)
            } else if words[0] == RelayScenario.name {
                Meter.say(try await RelayScenario.run(Words(words.dropFirst())).json)
            } else if words[0] == AccountScenario.name {
                for result in try await AccountScenario.run(Words(words.dropFirst())) { Meter.say(result.json) }
            } else if words[0] == StoreScenario.name {
                for result in try await StoreScenario.run(Words(words.dropFirst())) { Meter.say(result.json) }
            } else if words[0] == PostboxScenario.name {
                for result in try await PostboxScenario.run(Words(words.dropFirst())) { Meter.say(result.json) }
            } else if words[0] == ScreenScenario.name {
                if let result = try await ScreenScenario.run(Words(words.dropFirst())) { Meter.say(result.json) }
            } else if words[0] == SuspendedScenario.name {
                for result in try await SuspendedScenario.run(Words(words.dropFirst())) { Meter.say(result.json) }
            } else if words[0] == SuspendedScenario.role {
                try await SuspendedScenario.rest(Words(words.dropFirst()))
            } else if words[0] == SuspendedScenario.floorRole {
                try await SuspendedScenario.sleep()
            } else if words[0] == InboxScenario.name {
                if let result = try await InboxScenario.run(Words(words.dropFirst())) { Meter.say(result.json) }
            } else if words[0] == ChaosScenario.name {
                let report = try await ChaosScenario.run(Words(words.dropFirst()))
                Meter.say(report.text)
                if !report.holds { exit(1) }
            } else if words[0] == RollingScenario.name {
                let result = try await RollingScenario.run(Words(words.dropFirst()))
                Meter.say(result.json)
                if result["holds"] != 1 { exit(1) }
            } else if words[0] == ScaleScenario.name {
                for result in try await ScaleScenario.run(Words(words.dropFirst())) { Meter.say(result.json) }
            } else if words[0] == BenchCluster.role {
                try await BenchCluster.serve(Array(words.dropFirst()))
            } else if let role = ChaosRole(rawValue: words[0]) {
                try await role.run(Words(words.dropFirst()))
            } else {
                try await runOne(words)
            }
        } catch {
            fputs("parley-bench: \(error)\n", stderr())
            exit(2)
        }
    }

    @concurrent
    private static func runOne(_ words: [String]) async throws {
        guard words.count >= 2, let scenario = Scenario(rawValue: words[1]) else {
            let names = Scenario.allCases.map(\.rawValue).joined(separator: "|")
            let own = [
                RelayScenario.name, AccountScenario.name, StoreScenario.name, PostboxScenario.name, ScreenScenario.name,
                InboxScenario.name, SuspendedScenario.name, ChaosScenario.name, RollingScenario.name,
                ScaleScenario.name,
            ]
            let others = (OutageScenario.allCases.map(\.rawValue) + own).joined(separator: "|")
            throw NATSError.invalidArgument("usage: parley-bench [URL \(names) k=v … | \(others) k=v …]")
        }
        let parameters = Parameters(address: try ServerAddress(parsing: words[0]), words: Words(words.dropFirst(2)))
        guard let measurement = try await run(scenario, parameters) else { return }
        Meter.say(measurement.adding("hwm_kb", Meter.peakMemory()).json)
    }

    /// Runs one scenario; nil for those that only serve others.
    static func run(_ scenario: Scenario, _ parameters: Parameters) async throws -> Measurement? {
        switch scenario {
        case .publish: return try await CoreScenarios.publish(parameters)
        case .subscribe: return try await CoreScenarios.subscribe(parameters)
        case .requests: return try await CoreScenarios.requests(parameters)
        case .ping: return try await CoreScenarios.ping(parameters)
        case .connect: return try await CoreScenarios.connect(parameters)
        case .idle: return try await CoreScenarios.idle(parameters)
        case .storedPublish: return try await StreamScenarios.publishAwaited(parameters)
        case .pipelinedPublish: return try await StreamScenarios.publishPipelined(parameters)
        case .pull: return try await StreamScenarios.pull(parameters)
        case .feed:
            try await CoreScenarios.feed(parameters)
            return nil
        case .reply:
            try await CoreScenarios.reply(parameters)
            return nil
        }
    }

    /// Standard error as a value: the C global is a variable, which Swift cannot prove safe.
    private static func stderr() -> UnsafeMutablePointer<FILE>? { fdopen(2, "w") }
}
