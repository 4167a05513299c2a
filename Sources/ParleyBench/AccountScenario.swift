import NATS
import RelayNetwork

/// What it costs that every user of a private network is an account, on a network of its own with `n` (1000) users.
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
                try await imports(reader, network),
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

        let result = Measurement(name).adding("n", Double(count)).adding("add_us", added / Double(count) * 1e6)
        // The first logins meet an empty server; the last ones tell what a user of a large network waits.
        let last = logins.suffix(max(100, count / 10))
        let known = before > 0 ? result.adding("server_kb_user", (after - before) / Double(count)) : result
        return known.adding(percentilesOf: Array(last))
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

    /// Publishing to the topics' stream and reading from it through a user's imports: its rate as a part of the rate
    /// without imports.
    private static func imports(_ user: Credentials, _ network: BenchNetwork) async throws -> Measurement {
        let own = try network.ownCredentials()
        let scenarios: [(Int, @Sendable (Parameters) async throws -> Measurement)] = [
            (2_000, StreamScenarios.publishAwaited), (20_000, StreamScenarios.publishPipelined),
            (20_000, StreamScenarios.pull),
        ]
        var result = Measurement("imports")
        for (count, scenario) in scenarios {
            let words = Words([
                "n=\(count)", "subject=\(network.description.hash).bench",
                "stream=\(network.description.namespace)_stream",
            ])
            var direct = Parameters(address: try network.address, words: words)
            direct.credentials = own
            var imported = direct
            imported.credentials = user
            imported.apiPrefix = UserPermissions.apiPrefix
            var ratios: [Double] = []
            var name = ""
            for round in 0..<rounds {
                // Whoever comes second finds warmer caches; the two take turns.
                var rates: [Bool: Double] = [:]
                for isImported in round.isMultiple(of: 2) ? [false, true] : [true, false] {
                    let measured = try await scenario(isImported ? imported : direct)
                    rates[isImported] = measured["msgs_s"]
                    name = measured.scenario
                }
                if let through = rates[true], let without = rates[false], without > 0 {
                    ratios.append(through / without)
                }
            }
            result = result.adding(name, ratios.sorted()[ratios.count / 2])
        }
        return result
    }
}
