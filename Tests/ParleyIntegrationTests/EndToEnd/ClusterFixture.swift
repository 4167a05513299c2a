import Foundation
import NATS
import NIOConcurrencyHelpers
import TestSupport

/// Three servers that somebody else runs, a network on them, and the people and processes of it.
final class ClusterFixture: Machines {
    let cluster: TestOperatorCluster
    let folder: TemporaryDirectory
    private let processes = NIOLockedValueBox<[ChildProcess]>([])

    private init(_ cluster: TestOperatorCluster) throws {
        self.cluster = cluster
        folder = try TemporaryDirectory("e2e")
        try cluster.operatorKey.withSeedText {
            try TestOperatorCluster.write($0 + "\n", to: folder.path("operator.nk"))
        }
        try TestOperatorCluster.write(cluster.administrator.fileText(), to: folder.path("sys.creds"))
    }

    /// Runs a test, and ends every process however it went.
    static func run(
        _ binaries: [NATSServerBinary], more: String = "", link: TestOperatorCluster.Link? = nil,
        _ body: (ClusterFixture) async throws -> Void
    ) async throws {
        let cluster = try await TestOperatorCluster.start(binaries, more: more, link: link)
        defer { cluster.close() }
        let fixture = try ClusterFixture(cluster)
        defer { for process in fixture.processes.withLockedValue({ $0 }) { process.close() } }
        try await body(fixture)
    }

    /// Starts a command of somebody's that goes on.
    func start(_ name: String, _ arguments: String...) throws -> ChildProcess {
        let process = try ChildProcess(
            try BuiltProduct.url("parley").path, arguments, environment: machine(name))
        processes.withLockedValue { $0.append(process) }
        return process
    }

    /// Provisions as the administrator of the network; the servers are named once.
    func provision(_ more: String...) async throws -> ChildProcess.Result {
        var arguments = ["network", "provision", "team", "--json", "--operator-key", folder.path("operator.nk")]
        arguments += ["--system-creds", folder.path("sys.creds")]
        for server in cluster.servers { arguments += ["--server", server.url] }
        return try await ChildProcess.run(
            try BuiltProduct.url("parley").path, arguments + more, environment: machine("admin"))
    }

    /// Starts the network's services on another machine, which has one file of the administrator's, and waits until they
    /// answer.
    func serve(_ name: String) async throws -> (process: ChildProcess, port: Int) {
        let file = folder.path("admin/data/parley/networks/team/services.json")
        let process = try start(name, "network", "serve", "--services", file, "--http", "127.0.0.1:0")
        var port: Int?
        try await process.waitFor("its port") { _, text in
            port = text.firstMatch(of: /at port (\d+)/).flatMap { Int($0.1) }
            return port != nil
        }
        guard let port else { throw TestFailure("no port") }
        try await eventually("services that are ready", deadline: .seconds(60)) {
            try await self.http(port, "/ready") == 200
        }
        return (process, port)
    }

    /// The status that a process of the services gives at a path.
    func http(_ port: Int, _ path: String) async throws -> Int {
        try await said(at: path, port).status
    }

    /// What a process of the services says at a path.
    func said(at path: String, _ port: Int) async throws -> (status: Int, body: String) {
        guard let socket = try await LoopbackSocket.connected(to: port) else { return (0, "") }
        await socket.send(Array("GET \(path) HTTP/1.1\r\nHost: localhost\r\n\r\n".utf8))
        // It closes when it has answered.
        let bytes = await socket.read(64 << 10).bytes
        let text = String(decoding: bytes, as: UTF8.self)
        let status = text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
        return (status, text.components(separatedBy: "\r\n\r\n").dropFirst().joined())
    }

    /// Invites somebody, who joins on a machine of the own.
    func join(_ name: String) async throws {
        let file = folder.path("\(name).invitation")
        _ = try await objects("admin", "network", "invite", name, "--network", "team", "--out", file, "--json")
        _ = try await objects(name, "join", file, "--profile", "team", "--json")
    }

    /// The leaders of streams, once each of them has one: servers that answer a moment later than others know more, and
    /// after an end one is chosen only then.
    func leaders(of streams: Set<String>) async throws -> [String: String] {
        var leaders: [String: String] = [:]
        try await eventually("a leader of each stream", deadline: .seconds(90)) {
            leaders = try await self.standings().compactMapValues(\.leader).filter { streams.contains($0.key) }
            return leaders.count == streams.count
        }
        return leaders
    }

    /// The names of the network's streams, once all copies are whole.
    ///
    /// - Parameter stir: writes something into what stands still though its copies differ. A server before 2.10 that was killed may
    ///   have a message more than its leader, who calls it current, and does nothing about it until more is written.
    func streams(atLeast count: Int, stir: () async throws -> Void = {}) async throws -> Set<String> {
        var standings: [String: Standing] = [:]
        var lacking: [String: Standing] = [:]
        var since = ContinuousClock.now
        do {
            try await eventually("all copies", deadline: .seconds(90)) {
                standings = try await self.standings()
                let lackingNow = standings.filter { !$0.value.isWhole }
                if lackingNow != lacking { (lacking, since) = (lackingNow, .now) }
                if standings.count >= count, lacking.isEmpty { return true }
                if lacking.values.allSatisfy(\.isCurrent), since.duration(to: .now) > .seconds(15) {
                    try await stir()
                    since = .now
                }
                // Each answer is work for servers that have much to do now.
                try await Task.sleep(for: .milliseconds(250))
                return false
            }
        } catch {
            let words = lacking.map { "\($0.key): \($0.value.words)" }.sorted().joined(separator: "; ")
            throw TestFailure("\(error); of \(standings.count) streams: \(words)")
        }
        return Set(standings.keys)
    }

    /// How a stream stands.
    private struct Standing: Equatable {
        var leader: String?
        /// Whether its leader calls all copies current.
        var isCurrent = false
        /// What the leader says of the other copies, or whoever answered first.
        var copies: [String] = []
        /// The last sequence that each server has.
        var ends: [String: Int] = [:]

        /// Whether all copies are current and have the same.
        var isWhole: Bool { isCurrent && Set(ends.values).count == 1 }

        var words: String { "leader \(leader ?? "none"), ends \(ends), copies \(copies)" }
    }

    /// How each stream of the network's account stands. A server that has just started may call its copy current while it still
    /// fetches what it missed.
    private func standings() async throws -> [String: Standing] {
        let answers = try await cluster.answers(
            to: "$SYS.REQ.SERVER.PING.JSZ", #"{"accounts":true,"streams":true,"config":true}"#,
            count: cluster.servers.count { $0.isRunning })
        var found: [String: Standing] = [:]
        for answer in answers {
            let server = (answer["server"] as? [String: Any])?["name"] as? String ?? "?"
            let data = answer["data"] as? [String: Any]
            for account in data?["account_details"] as? [[String: Any]] ?? [] {
                for stream in account["stream_detail"] as? [[String: Any]] ?? [] {
                    guard let name = stream["name"] as? String, let group = stream["cluster"] as? [String: Any] else {
                        continue
                    }
                    let leader = group["leader"] as? String
                    let state = stream["state"] as? [String: Any]
                    let others = group["replicas"] as? [[String: Any]] ?? []
                    var standing = found[name] ?? Standing(leader: leader)
                    standing.ends[server] = (state?["last_seq"] as? NSNumber)?.intValue ?? -1
                    if server == leader || standing.copies.isEmpty {
                        standing.leader = leader
                        standing.copies = others.map { copy in
                            let state = copy["offline"] as? Bool == true ? "offline" : "lag \(copy["lag"] ?? 0)"
                            return "\(copy["name"] ?? "?") \(copy["current"] as? Bool == true ? "current" : state)"
                        }
                        standing.isCurrent =
                            server == leader && others.count == cluster.servers.count - 1
                            && others.allSatisfy { $0["current"] as? Bool == true && $0["offline"] as? Bool != true }
                    }
                    found[name] = standing
                }
            }
        }
        return found
    }
}
