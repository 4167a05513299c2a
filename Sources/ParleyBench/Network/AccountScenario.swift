import NATS
import RelayLab
import RelayNetwork

/// The cost of an account for every user of a private network, on its own network with `n` (1000) users, and of passing
/// `messages` (20000) through their imports.
enum AccountScenario {
    /// The number of comparisons, of which the median counts.
    private static let rounds = 7

    static func run(_ words: Words) async throws -> [Measurement] {
        let count = words.number("n", 1_000, atLeast: 1)
        return try await LabNetwork.run { network in
            let administrator = NetworkAdministrator(directory: network.directory)
            // Not counted: the server's allocations for the very first login, and the reader of the comparisons.
            let reader = try await administrator.add(user: "reader")
            _ = try await network.login(reader)
            return [
                try await accounts(count, administrator, network),
                try await imports(reader, words.number("messages", 20_000, atLeast: 100), network),
            ]
        }
    }

    /// Adds users one by one, then connects each once, which loads its account.
    private static func accounts(
        _ count: Int, _ administrator: NetworkAdministrator, _ network: LabNetwork
    ) async throws -> Measurement {
        var users: [Credentials] = []
        let added = try await Meter.seconds {
            for number in 0..<count { users.append(try await administrator.add(user: "user\(number)")) }
        }
        let server = network.description.serverPid
        let before = Meter.memory(of: server)
        var logins: [Double] = []
        for user in users { logins.append(try await network.login(user)) }
        let after = Meter.memory(of: server)

        // The first logins find an empty server; the last ones show how long a user of a large network waits.
        let last = max(100, count / 10)
        var again: [Double] = []
        for user in users.suffix(last) { again.append(try await network.login(user)) }

        let late = Array(logins.suffix(last))
        var result = Measurement("accounts").adding(["n": count, "add_us": added / Double(count) * 1e6])
        if before > 0 { result.add("server_kb_user", (after - before) / Double(count)) }
        return result.adding([
            "p50_us": late.percentile(50) * 1e6, "p99_us": late.percentile(99) * 1e6,
            "again_p50_us": again.percentile(50) * 1e6,
        ])
    }

    /// Publishes to the topics' stream and reads from it through a user's imports, compared with the same without
    /// imports: the ratios of the rates and of the server's CPU time.
    private static func imports(_ user: Credentials, _ count: Int, _ network: LabNetwork) async throws -> Measurement {
        let names = network.description
        let words = Words(["subject=\(names.hash).bench", "stream=\(names.namespace)_stream"])
        var direct = network.parameters(try network.ownCredentials(), words)
        var imported = network.parameters(user, words)
        imported.apiPrefix = UserPermissions.apiPrefix

        var rates = Measurement("imports")
        var costs = rates
        for scenario in [WireScenario.storedPublish, .pipelinedPublish, .pull] {
            direct.count = scenario == .storedPublish ? count / 10 : count
            imported.count = direct.count
            let (without, through) = try await inTurns(rounds) { [direct] _ in
                try await part(scenario, direct, names.serverPid)
            } _: { [imported] _ in
                try await part(scenario, imported, names.serverPid)
            }
            rates.add(scenario.rawValue, medianRatio(through.map(\.rate), without.map(\.rate)))
            let (least, used) = (without.reduce(0) { $0 + $1.cpu }, through.reduce(0) { $0 + $1.cpu })
            if least > 0 { costs.add("\(scenario.rawValue)_cpu", used / least) }
        }
        for (name, value) in costs.fields { rates.add(name, value) }
        return rates
    }

    /// Runs a scenario once: messages a second, and CPU seconds of the server.
    private static func part(
        _ scenario: WireScenario, _ parameters: WireParameters, _ server: Int32
    ) async throws -> (rate: Double, cpu: Double) {
        let before = Meter.cpu(of: server)
        let rate = try await scenario.run(parameters)["msgs_s"] ?? .nan
        return (rate, Meter.cpu(of: server) - before)
    }
}
