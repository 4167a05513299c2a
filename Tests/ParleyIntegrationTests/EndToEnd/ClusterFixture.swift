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
    func start(
        _ name: String, _ arguments: String..., environment more: [String: String] = [:]
    ) throws -> ChildProcess {
        let process = try ChildProcess(
            try BuiltProduct.url("parley").path, arguments, environment: machine(name).merging(more) { $1 })
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

    /// Starts the network's services on another machine, which has one file of the administrator's, and waits until
    /// they answer.
    func serve(_ name: String) async throws -> (process: ChildProcess, port: Int) {
        let file = folder.path("admin/data/parley/networks/team/services.json")
        let process = try start(name, "network", "serve", "--services", file, "--http", "127.0.0.1:0")
        let port = try await port(of: process)
        try await eventually("services that are ready", deadline: .seconds(60)) {
            try await self.http(port, "/ready") == 200
        }
        return (process, port)
    }

    /// The port at which a process of the services answers HTTP.
    func port(of process: ChildProcess) async throws -> Int {
        var port: Int?
        try await process.waitFor("its port") { _, text in
            port = text.firstMatch(of: /at port (\d+)/).flatMap { Int($0.1) }
            return port != nil
        }
        guard let port else { throw TestFailure("no port") }
        return port
    }

    /// The status that a process of the services gives at a path.
    func http(_ port: Int, _ path: String) async throws -> Int {
        try await said(at: path, port).status
    }

    /// What a process of the services says at a path.
    func said(
        at path: String, _ port: Int, method: String = "GET", headers: [String] = [], body: String = ""
    ) async throws -> (status: Int, body: String) {
        guard let socket = try await LoopbackSocket.connected(to: port) else { return (0, "") }
        let head = ["\(method) \(path) HTTP/1.1", "Host: localhost", "Content-Length: \(body.utf8.count)"] + headers
        await socket.send(Array((head + ["", body]).joined(separator: "\r\n").utf8))
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
            leaders = try await self.cluster.standings().compactMapValues(\.leader).filter { streams.contains($0.key) }
            return leaders.count == streams.count
        }
        return leaders
    }
}
