import NATS
import Platform
import Relay
import RelayLab
import RelayNetwork

/// The cost of `n` (300) users for the servers: as loaded accounts, and as postbox streams, on one server and on three
/// with a copy of everything on each (`only=one` or `only=three`). For each part: the servers' memory and disk, their
/// idle CPU time (over `idle` seconds, 5), and the time to create it; for three servers also how soon a restarted one
/// has everything again.
enum ScaleScenario {
    static func run(_ words: Words) async throws -> [Measurement] {
        var results: [Measurement] = []
        for part in try words.only(["one", "three"]) {
            let result = try await LabNetwork.run(onThree: part == "three") { network in
                let result = try await measure(words, "scale_\(part)", network)
                guard network.isCluster else { return result }
                let leader = try await network.cluster.leader()
                return result.adding(["restart_s": try await Meter.seconds { try await network.restart(leader) }])
            }
            results.append(result)
        }
        return results
    }

    /// The total use of all servers.
    private struct Use {
        let (memory, disk, idle): (Double, Double, Double)

        init(of network: LabNetwork, _ seconds: Int) async throws {
            // Earlier work is done by then.
            try await Task.sleep(for: .seconds(2))
            let servers =
                network.isCluster
                ? Array(network.cluster.serverProcesses().values) : [network.description.serverPid]
            let store = network.isCluster ? network.directory.path + "/servers" : network.directory.store
            let memory = servers.reduce(0) { $0 + Meter.memory(of: $1) }
            let before = servers.reduce(0) { $0 + Meter.cpu(of: $1) }
            try await Task.sleep(for: .seconds(seconds))
            let after = servers.reduce(0) { $0 + Meter.cpu(of: $1) }
            (self.memory, disk, idle) = (memory, Self.size(of: store), (after - before) / Double(seconds))
        }

        /// The disk space of the files in a folder, in KiB.
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

    private static func measure(_ words: Words, _ name: String, _ network: LabNetwork) async throws -> Measurement {
        let count = words.number("n", 300, atLeast: 10)
        let idle = words.number("idle", 5, atLeast: 1)
        let administrator = NetworkAdministrator(directory: network.directory)
        // Not counted: the servers' allocations for the very first login and postbox.
        _ = try await administrator.add(user: "first")
        try await visit(network, "first")
        let empty = try await Use(of: network, idle)

        let users = (0..<count).map { "user\($0)" }
        let added = try await Meter.seconds { for user in users { _ = try await administrator.add(user: user) } }
        for user in users { _ = try await network.login(network.credentials(of: user)) }
        let accounts = try await Use(of: network, idle)

        let made = try await Meter.seconds { for user in users { try await visit(network, user) } }
        let streams = try await Use(of: network, idle)

        let each = Double(count)
        return Measurement(name).adding([
            "n": count, "add_user_ms": added / each * 1e3, "account_kb": (accounts.memory - empty.memory) / each,
            "first_visit_ms": made / each * 1e3, "postbox_kb": (streams.memory - accounts.memory) / each,
            "postbox_disk_kb": (streams.disk - accounts.disk) / each, "idle_cpu_empty": empty.idle,
            "idle_cpu_accounts": accounts.idle, "idle_cpu_postboxes": streams.idle, "memory_kb": streams.memory,
            "disk_kb": streams.disk,
        ])
    }

    /// A client connects, asks for the postboxes, which makes the first, and leaves.
    private static func visit(_ network: LabNetwork, _ user: String) async throws {
        let client = try await network.client(user) { $0.namespace = nil }
        try await finally {
            await client.close()
        } after: {
            try await client.connect(within: .seconds(30))
            _ = try await client.postboxes()
        }
    }
}
