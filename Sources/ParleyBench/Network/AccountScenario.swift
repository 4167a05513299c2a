import NATS
import RelayNetwork

/// What it costs that every user of a private network is an account, on a network of its own with `n` (1000) users, and
/// what goes through their imports, with `messages` (20000) at a time.
enum AccountScenario {
    /// How often each comparison is made; the median counts.
    private static let rounds = 7

    /// Measures the users' accounts, then what goes through their imports.
    @concurrent
    static func run(_ words: Words) async throws -> [Measurement] {
        let count = words.number("n", 1_000, atLeast: 1)
        return try await BenchNetwork.run { network in
            let administrator = NetworkAdministrator(directory: network.directory)
            // Not counted: what the server allocates for the first login of all, and the reader of the comparisons.
            let reader = try await administrator.add(user: "reader")
            _ = try await login(reader, at: network.address)
            return [
                try await accounts(count, administrator, network),
                try await imports(reader, words.number("messages", 20_000, atLeast: 100), network),
            ]
        }
    }

    /// Adds users one after the other, then connects each once, which loads its account.
    private static func accounts(
        _ count: Int, _ administrator: NetworkAdministrator, _ network: BenchNetwork
    ) async throws -> Measurement {
        var users: [Credentials] = []
        let added = try await Meter.seconds {
            for number in 0..<count { users.append(try await administrator.add(user: "user\(number)")) }
        }
        let server = network.description.serverPid
        let before = Meter.memory(of: server)
        var logins: [Double] = []
        for user in users { logins.append(try await login(user, at: network.address)) }
        let after = Meter.memory(of: server)

        // The first logins meet an empty server; the last ones show how long a user of a large network waits.
        let last = max(100, count / 10)
        var again: [Double] = []
        for user in users.suffix(last) { again.append(try await login(user, at: network.address)) }

        let late = Array(logins.suffix(last))
        var result = Measurement("accounts", ["n": Double(count), "add_us": added / Double(count) * 1e6])
        if before > 0 { result.add("server_kb_user", (after - before) / Double(count)) }
        return result.adding([
            "p50_us": late.percentile(50) * 1e6, "p99_us": late.percentile(99) * 1e6,
            "again_p50_us": again.percentile(50) * 1e6,
        ])
    }

    /// Connects, which loads the user's account, and closes.
    /// - Returns: how long connecting took, in seconds.
    static func login(_ user: Credentials, at address: ServerAddress) async throws -> Double {
        let options = ConnectOptions(name: "parley-bench", authentication: .init(user), connectTimeout: .seconds(30))
        let begin = Meter.now()
        let connection = try await NATSConnection.connect(to: address, options: options)
        let duration = Meter.now() - begin
        await connection.close()
        return duration
    }

    /// Publishing to the topics' stream and reading from it through a user's imports, compared with the same without
    /// imports: the rate as a part of the other one, and the server's CPU time as a multiple.
    private static func imports(
        _ user: Credentials, _ count: Int, _ network: BenchNetwork
    ) async throws -> Measurement {
        let names = network.description
        let words = Words(["subject=\(names.hash).bench", "stream=\(names.namespace)_stream"])
        var direct = WireParameters(try network.address, words)
        direct.credentials = try network.ownCredentials()
        var imported = direct
        imported.credentials = user
        imported.apiPrefix = UserPermissions.apiPrefix

        var rates = Measurement("imports")
        var costs = rates
        for scenario in [WireScenario.storedPublish, .pipelinedPublish, .pull] {
            direct.count = scenario == .storedPublish ? count / 10 : count
            imported.count = direct.count
            var ratios: [Double] = []
            var server = (direct: 0.0, imported: 0.0)
            for round in 0..<rounds {
                let (without, through) = try await inTurns(round) {
                    try await part(scenario, direct, names.serverPid)
                } _: {
                    try await part(scenario, imported, names.serverPid)
                }
                ratios.append(through.rate / without.rate)
                server.direct += without.cpu
                server.imported += through.cpu
            }
            rates.add(scenario.rawValue, ratios.median)
            if server.direct > 0 { costs.add("\(scenario.rawValue)_cpu", server.imported / server.direct) }
        }
        for (name, value) in costs.fields { rates.add(name, value) }
        return rates
    }

    /// One scenario once.
    /// - Returns: messages a second, and CPU seconds of the server.
    private static func part(
        _ scenario: WireScenario, _ parameters: WireParameters, _ server: Int32
    ) async throws -> (rate: Double, cpu: Double) {
        let before = Meter.cpu(of: server)
        let rate = try await scenario.run(parameters)["msgs_s"] ?? .nan
        return (rate, Meter.cpu(of: server) - before)
    }
}
