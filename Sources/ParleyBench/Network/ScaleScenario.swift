import NATS
import Platform
import Relay
import RelayNetwork

/// What `n` (300) users cost the servers: as accounts that are loaded, and as streams of postboxes, on one server and
/// on three with a copy of everything on each (`only=one` or `only=three`). For each part the servers' memory and disk,
/// the processor time that they need while nobody does anything (`idle` seconds, 5), and what making it takes; for
/// three servers also how long one that is restarted takes until it has everything again.
enum ScaleScenario {
    static func run(_ words: Words) async throws -> [Measurement] {
        var results: [Measurement] = []
        for part in try words.only(["one", "three"]) {
            results.append(part == "one" ? try await one(words) : try await three(words))
        }
        return results
    }

    private static func one(_ words: Words) async throws -> Measurement {
        try await BenchNetwork.run { network in
            let (directory, server) = (network.directory, network.description.serverPid)
            return try await measure(words, "scale_one", network, directory.store, { [server] }) {
                try directory.credentials(for: $0)
            }
        }
    }

    private static func three(_ words: Words) async throws -> Measurement {
        try await BenchNetwork.run(onThree: true) { network in
            let cluster = network.cluster
            let result = try await measure(
                words, "scale_three", network, network.directory.path + "/servers",
                { Array(cluster.serverProcesses().values) }
            ) {
                try Credentials.load(path: await cluster.credentials(for: $0))
            }
            let leader = try await cluster.leader()
            let seconds = try await Meter.seconds { try await network.restart(leader) }
            return result.adding(["restart_s": seconds])
        }
    }

    /// What all servers together have in use.
    private struct Use {
        let (memory, disk, idle): (Double, Double, Double)

        init(_ servers: [Int32], _ store: String, _ seconds: Int) async throws {
            // What was begun before is done by then.
            try await Task.sleep(for: .seconds(2))
            let memory = servers.reduce(0) { $0 + Meter.memory(of: $1) }
            let before = servers.reduce(0) { $0 + Meter.cpu(of: $1) }
            try await Task.sleep(for: .seconds(seconds))
            let after = servers.reduce(0) { $0 + Meter.cpu(of: $1) }
            (self.memory, disk, idle) = (memory, Self.size(of: store), (after - before) / Double(seconds))
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
        _ words: Words, _ name: String, _ network: BenchNetwork, _ store: String, _ servers: () -> [Int32],
        _ credentials: (String) async throws -> Credentials
    ) async throws -> Measurement {
        let count = words.number("n", 300, atLeast: 10)
        let idle = words.number("idle", 5, atLeast: 1)
        let administrator = NetworkAdministrator(directory: network.directory)
        // Not counted: what servers allocate for the first login and the first postbox of all.
        _ = try await administrator.add(user: "first")
        func visit(_ user: String) async throws { try await Self.visit(network, user, try await credentials(user)) }
        try await visit("first")
        let empty = try await Use(servers(), store, idle)

        let users = (0..<count).map { "user\($0)" }
        let added = try await Meter.seconds { for user in users { _ = try await administrator.add(user: user) } }
        for user in users { _ = try await network.login(credentials(user)) }
        let accounts = try await Use(servers(), store, idle)

        let made = try await Meter.seconds { for user in users { try await visit(user) } }
        let streams = try await Use(servers(), store, idle)

        let each = Double(count)
        return Measurement(name).adding([
            "n": count, "add_user_ms": added / each * 1e3, "account_kb": (accounts.memory - empty.memory) / each,
            "first_visit_ms": made / each * 1e3, "postbox_kb": (streams.memory - accounts.memory) / each,
            "postbox_disk_kb": (streams.disk - accounts.disk) / each, "idle_cpu_empty": empty.idle,
            "idle_cpu_accounts": accounts.idle, "idle_cpu_postboxes": streams.idle, "memory_kb": streams.memory,
            "disk_kb": streams.disk,
        ])
    }

    /// Somebody's client comes, asks for the postboxes, which makes the first, and goes.
    private static func visit(_ network: BenchNetwork, _ user: String, _ credentials: Credentials) async throws {
        let client = try await network.client(user, as: credentials) { $0.namespace = nil }
        try await finally {
            await client.close()
        } after: {
            try await client.connect(within: .seconds(30))
            _ = try await client.postboxes()
        }
    }
}
