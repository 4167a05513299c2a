import NATS
import RelayNetwork

/// What it costs that every user of a private network is an account, on a network of its own with `n` (1000) users, and
/// what goes through their imports, with `messages` (20000) at a time.
enum AccountScenario {
    /// The scenario's name on the command line.
    static let name = "accounts"

    /// How often each comparison is made; the median counts.
    private static let rounds = 7

    /// Measures the users' accounts, then what goes through their imports.
    @concurrent
    static func run(_ words: Words) async throws -> [Measurement] {
        let count = max(1, words.number("n", 1_000))
        return try await BenchNetwork.run { network in
            let administrator = NetworkAdministrator(directory: network.directory)
            // Not counted: what the server allocates for the first login of all, and the reader of the comparisons.
            let reader = try await administrator.add(user: "reader")
            _ = try await login(reader, network)
            return [
                try await accounts(count, administrator, network),
                try await imports(reader, max(100, words.number("messages", 20_000)), network),
            ]
        }
    }

    /// Adds users one after the other, then connects each once, which loads its account.
    private static func accounts(
        _ count: Int, _ administrator: NetworkAdministrator, _ network: BenchNetwork
    ) async throws -> Measurement {
        var users: [Credentials] = []
        let begin = Meter.now()
        for number in 0..<count { users.append(try await administrator.add(user: "user\(number)")) }
        let added = Meter.now() - begin

        let server = network.description.serverPid
        let before = Meter.memory(of: server)
        var logins: [Double] = []
        for user in users { logins.append(try await login(user, network)) }
        let after = Meter.memory(of: server)

        // The first logins meet an empty server; the last ones show how long a user of a large network waits.
        let last = max(100, count / 10)
        var again: [Double] = []
        for user in users.suffix(last) { again.append(try await login(user, network)) }

        var result = Measurement(name).adding("n", Double(count)).adding("add_us", added / Double(count) * 1e6)
        if before > 0 { result = result.adding("server_kb_user", (after - before) / Double(count)) }
        let sorted = Array(logins.suffix(last)).sorted()
        return result.adding("p50_us", sorted[sorted.count / 2] * 1e6)
            .adding("p99_us", sorted[sorted.count * 99 / 100] * 1e6)
            .adding("again_p50_us", again.sorted()[again.count / 2] * 1e6)
    }

    /// Connects and closes.
    /// - Returns: how long connecting took, in seconds.
    private static func login(_ user: Credentials, _ network: BenchNetwork) async throws -> Double {
        let address = try network.address
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
        let words = Words([
            "subject=\(network.description.hash).bench", "stream=\(network.description.namespace)_stream",
        ])
        var direct = Parameters(address: try network.address, words: words)
        direct.credentials = try network.ownCredentials()
        var imported = direct
        imported.credentials = user
        imported.apiPrefix = UserPermissions.apiPrefix

        var rates = Measurement("imports")
        var costs: [(name: String, times: Double)] = []
        for (scenario, count) in [(Scenario.storedPublish, count / 10), (.pipelinedPublish, count), (.pull, count)] {
            direct.count = count
            imported.count = count
            var ratios: [Double] = []
            var server = (direct: 0.0, imported: 0.0)
            for round in 0..<rounds {
                // The second of them finds warmer caches, so the two take turns.
                let isFirst = round.isMultiple(of: 2)
                let early = try await part(scenario, isFirst ? direct : imported, network)
                let late = try await part(scenario, isFirst ? imported : direct, network)
                let (without, through) = isFirst ? (early, late) : (late, early)
                ratios.append(through.rate / without.rate)
                server.direct += without.cpu
                server.imported += through.cpu
            }
            rates = rates.adding(scenario.rawValue, ratios.sorted()[ratios.count / 2])
            if server.direct > 0 { costs.append(("\(scenario.rawValue)_cpu", server.imported / server.direct)) }
        }
        return costs.reduce(rates) { $0.adding($1.name, $1.times) }
    }

    /// One scenario once.
    /// - Returns: messages a second, and CPU seconds of the server.
    private static func part(
        _ scenario: Scenario, _ parameters: Parameters, _ network: BenchNetwork
    ) async throws -> (rate: Double, cpu: Double) {
        let before = Meter.cpu(of: network.description.serverPid)
        guard let rate = try await ParleyBench.run(scenario, parameters)?["msgs_s"], rate > 0 else {
            throw NATSError.invalidArgument("\(scenario.rawValue) has no rate")
        }
        return (rate, Meter.cpu(of: network.description.serverPid) - before)
    }
}
