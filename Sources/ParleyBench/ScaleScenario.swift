import NATS
import Platform
import Relay
import RelayNetwork

/// What `n` (300) users cost the servers: as accounts that are loaded, and as streams of postboxes, on one server and
/// on three with a copy of everything on each (`only=one` or `only=three`). For each part the servers' memory and disk,
/// the processor time that they need while nobody does anything (`idle` seconds, 5), and what making it takes; for
/// three servers also how long one that is restarted takes until it has everything again.
enum ScaleScenario {
    /// The scenario's name on the command line.
    static let name = "scale"

    @concurrent
    static func run(_ words: Words) async throws -> [Measurement] {
        let count = max(10, words.number("n", 300))
        let idle = max(1, words.number("idle", 5))
        let only = words.text("only", "")
        var results: [Measurement] = []
        if only != "three" { results.append(try await one(count, idle)) }
        if only != "one" { results.append(try await three(count, idle)) }
        return results
    }

    private static func one(_ count: Int, _ idle: Int) async throws -> Measurement {
        try await BenchNetwork.run { network in
            let address = try network.address
            return try await measure(
                Measurement("scale_one"), count, idle, network.directory, store: network.directory.store,
                servers: { [network.description.serverPid] }
            ) { name in
                User(name: name, credentials: try network.directory.credentials(for: name), servers: [address])
            }
        }
    }

    private static func three(_ count: Int, _ idle: Int) async throws -> Measurement {
        try await BenchCluster.run { network in
            let cluster = network.cluster
            let result = try await measure(
                Measurement("scale_three"), count, idle, cluster.directory,
                store: cluster.directory.path + "/servers",
                servers: { cluster.serverProcesses().values.map { $0 } }
            ) { name in
                User(
                    name: name, credentials: try Credentials.load(path: await cluster.credentials(for: name)),
                    servers: network.addresses)
            }
            let begin = Meter.now()
            try await network.restart(network.leader(), by: SIGTERM)
            return result.adding("restart_s", Meter.now() - begin)
        }
    }

    /// What all servers together have in use.
    private struct Use {
        var memory: Double
        var disk: Double
        var idle: Double

        init(_ servers: [Int32], _ store: String, _ seconds: Int) async throws {
            // What was begun before is done by then.
            try await Task.sleep(for: .seconds(2))
            memory = servers.reduce(0) { $0 + Meter.memory(of: $1) }
            disk = Self.size(of: store)
            let before = servers.reduce(0) { $0 + Meter.cpu(of: $1) }
            try await Task.sleep(for: .seconds(seconds))
            idle = (servers.reduce(0) { $0 + Meter.cpu(of: $1) } - before) / Double(seconds)
        }

        /// What the files below a folder take of the disk, in KiB.
        private static func size(of folder: String) -> Double {
            var total: Int64 = 0
            let files = FileManager.default.enumerator(atPath: folder)
            while let file = files?.nextObject() as? String {
                var status = stat()
                if lstat("\(folder)/\(file)", &status) == 0 { total += Int64(status.st_blocks) * 512 }
            }
            return Double(total) / 1_024
        }
    }

    private static func measure(
        _ name: Measurement, _ count: Int, _ idle: Int, _ directory: NetworkDirectory, store: String,
        servers: () -> [Int32], _ user: (String) async throws -> User
    ) async throws -> Measurement {
        let administrator = NetworkAdministrator(directory: directory)
        // Not counted: what servers allocate for the first login and the first postbox of all.
        _ = try await administrator.add(user: "first")
        try await visit(try await user("first"))
        let empty = try await Use(servers(), store, idle)

        var begin = Meter.now()
        for number in 0..<count { _ = try await administrator.add(user: "user\(number)") }
        let added = Meter.now() - begin
        for number in 0..<count { try await login(try await user("user\(number)")) }
        let accounts = try await Use(servers(), store, idle)

        begin = Meter.now()
        for number in 0..<count { try await visit(try await user("user\(number)")) }
        let made = Meter.now() - begin
        let streams = try await Use(servers(), store, idle)

        let users = Double(count)
        return name.adding("n", users).adding("add_user_ms", added / users * 1e3)
            .adding("account_kb", (accounts.memory - empty.memory) / users)
            .adding("first_visit_ms", made / users * 1e3)
            .adding("postbox_kb", (streams.memory - accounts.memory) / users)
            .adding("postbox_disk_kb", (streams.disk - accounts.disk) / users)
            .adding("idle_cpu_empty", empty.idle).adding("idle_cpu_accounts", accounts.idle)
            .adding("idle_cpu_postboxes", streams.idle)
            .adding("memory_kb", streams.memory).adding("disk_kb", streams.disk)
    }

    /// Somebody's client comes, asks for the postboxes, which makes the first, and goes.
    private static func visit(_ user: User) async throws {
        var configuration = RelayConfiguration(
            servers: .fixed(user.servers), credentials: RelayCredentials(user.credentials), user: user.name)
        configuration.followsNetwork = false
        let client = RelayClient(configuration: configuration)
        do {
            try await client.connect(within: .seconds(30))
            _ = try await client.postboxes()
        } catch {
            await client.close()
            throw error
        }
        await client.close()
    }

    /// Somebody logs in and asks for nothing.
    private static func login(_ user: User) async throws {
        let connection = try await NATSConnection.connect(
            to: user.servers[0],
            options: ConnectOptions(
                name: "parley-bench", authentication: .init(user.credentials), connectTimeout: .seconds(30)))
        await connection.close()
    }

    /// Somebody, and where the network is.
    private struct User {
        var name: String
        var credentials: Credentials
        var servers: [ServerAddress]
    }
}
