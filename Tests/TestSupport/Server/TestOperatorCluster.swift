import Foundation
import NATS

/// Servers of one cluster with JetStream that obey an operator and keep accounts in a full resolver, as somebody runs
/// them who knows nothing of Parley.
public final class TestOperatorCluster: Sendable {
    /// The servers, in the order of their names `s1`, `s2` …
    public let servers: [NATSServerProcess]
    /// A signing key of the operator's.
    public let operatorKey: NKeyPair
    /// A user of the system account.
    public let administrator: Credentials

    /// Puts something between two servers, by their places, and gives the port that leads to the second.
    public typealias Link = @Sendable (_ from: Int, _ to: Int, _ port: Int) async throws -> Int

    private init(_ servers: [NATSServerProcess], _ operatorKey: NKeyPair, _ administrator: Credentials) {
        (self.servers, self.operatorKey, self.administrator) = (servers, operatorKey, administrator)
    }

    /// Starts a server for each program, and returns when they have found each other and lead streams.
    ///
    /// - Parameters:
    ///   - tags: the tags of each server, as many lists as there are servers; none for no tags.
    ///   - more: further configuration of each, such as a `tls` block.
    ///   - link: puts something between two servers: given where the second listens for the first, it says where the
    ///     first is to reach it. Nil to have them reach each other.
    public static func start(
        _ binaries: [NATSServerBinary], tags: [[String]] = [], more: String = "", link: Link? = nil
    ) async throws -> TestOperatorCluster {
        let root = NKeyPair.generate(.operator)
        let signing = NKeyPair.generate(.operator)
        let system = NKeyPair.generate(.account)
        let token = try OperatorClaims(
            subject: root.publicKey, name: "their operator",
            grant: OperatorGrant(systemAccount: system.publicKey, signingKeys: [signing.publicKey])
        ).encode(signedBy: root)
        let systemToken = try AccountClaims(
            subject: system.publicKey, name: "SYS", grant: AccountGrant(limits: .withoutJetStream)
        ).encode(signedBy: root)
        let user = NKeyPair.generate(.user)
        let administrator = try Credentials(
            jwt: UserClaims(subject: user.publicKey, name: "sys", grant: UserGrant()).encode(signedBy: system),
            keyPair: user)
        var failure: any Error = CancellationError()
        // Somebody else may take a port between its being looked for and the server's start.
        for _ in 1...3 {
            do {
                let ports = try freePorts(binaries.count)
                let servers = try await start(
                    binaries, ports, try await groups(ports, link), tags, more, token, system.publicKey, systemToken)
                let cluster = TestOperatorCluster(servers, signing, administrator)
                do { try await cluster.waitForLeader() } catch {
                    cluster.close()
                    throw error
                }
                return cluster
            } catch { failure = error }
        }
        throw failure
    }

    private static func start(
        _ binaries: [NATSServerBinary], _ ports: [Int], _ groups: [String], _ tags: [[String]], _ more: String,
        _ token: String, _ system: NKey, _ systemToken: String
    ) async throws -> [NATSServerProcess] {
        var servers: [NATSServerProcess] = []
        do {
            for (index, binary) in binaries.enumerated() {
                let directory = try TemporaryDirectory("nats")
                let words = tags.indices.contains(index) ? tags[index] : []
                let configuration = """
                    server_name: s\(index + 1)
                    server_tags: [\(words.map { "\"\($0)\"" }.joined(separator: ", "))]
                    operator: "\(token)"
                    system_account: \(system)
                    resolver: { type: full, dir: "\(directory.path("accounts"))", allow_delete: false, interval: "2m" }
                    resolver_preload: { \(system): "\(systemToken)" }
                    \(groups[index])
                    \(more)

                    """
                servers.append(
                    try await NATSServerProcess.start(
                        binary, configuration: configuration, others: ports.count > 1 ? [ports[index]] : [],
                        directory: directory))
            }
        } catch {
            for server in servers { server.close() }
            throw error
        }
        return servers
    }

    /// What makes each server one of several.
    private static func groups(_ ports: [Int], _ link: Link?) async throws -> [String] {
        // A server alone waits for no others.
        guard ports.count > 1 else { return [""] }
        var groups: [String] = []
        for (index, port) in ports.enumerated() {
            var routes: [Int] = []
            for (other, target) in ports.enumerated() where other != index {
                routes.append(try await link?(index, other, target) ?? target)
            }
            let list = routes.map { "\"nats://127.0.0.1:\($0)\"" }.joined(separator: ", ")
            // None finds a way around a link by what the others tell of it.
            let told = link == nil ? "" : ", advertise: \"127.0.0.1:1\""
            groups.append("cluster { name: theirs, listen: \"127.0.0.1:\(port)\", routes: [\(list)]\(told) }")
        }
        return groups
    }

    /// Ends the servers and removes their stores.
    public func close() {
        for server in servers { server.close() }
    }

    /// Writes a seed or credentials where their owner alone may read them.
    public static func write(_ text: String, to path: String) throws {
        try Data(text.utf8).write(to: URL(filePath: path))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
    }

    /// The name of the server that leads a group of servers by its monitoring of JetStream; nil while none does.
    public func metaLeader() async throws -> String? {
        try await answers(to: "$SYS.REQ.SERVER.PING.JSZ", #"{"leader_only":true}"#, count: 1).compactMap { answer in
            (answer["server"] as? [String: Any])?["name"] as? String
        }.first
    }

    /// Returns when the cluster takes streams.
    public func waitForLeader() async throws {
        try await eventually("a cluster with a leader", deadline: .seconds(60)) {
            let known = try await self.answers(to: "$SYS.REQ.SERVER.PING", "", count: self.servers.count)
            guard known.count == self.servers.count else { return false }
            if self.servers.count == 1 { return true }
            return try await self.metaLeader() != nil
        }
    }

    /// What servers answer to a question of the system account's, as JSON.
    public func answers(to subject: String, _ body: String, count: Int) async throws -> [[String: Any]] {
        guard let running = servers.first(where: \.isRunning) else { return [] }
        let connection = try await NATSConnection.connect(
            to: ServerAddress(parsing: running.url),
            options: .init(authentication: .init(administrator), connectTimeout: .seconds(60)))
        let inbox = connection.newInbox()
        let subscription = try connection.subscribe(to: inbox)
        try connection.publish(Array(body.utf8), to: subject, reply: inbox)
        let alarm = Task {
            try await Task.sleep(for: .seconds(1))
            subscription.unsubscribe()
        }
        var found: [[String: Any]] = []
        for try await message in subscription {
            if let answer = try? JSONSerialization.jsonObject(with: Data(message.bytes)) as? [String: Any] {
                found.append(answer)
            }
            if found.count >= count { break }
        }
        alarm.cancel()
        await connection.close()
        return found
    }

    /// Ports that nobody listened at a moment ago.
    private static func freePorts(_ count: Int) throws -> [Int] {
        let sockets = try (0..<count).map { _ in try LoopbackSocket.listening() }
        return sockets.map { socket in
            defer { socket.close() }
            return socket.port
        }
    }
}
