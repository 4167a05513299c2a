import NATS
import Platform
import Relay

extension LocalClusterServer {
    /// Held by whoever rehearses that this server is gone; the host starts it as soon as nobody does.
    var outageLock: String { folder + "/outage.lock" }
}

extension LocalCluster {
    /// How long the servers may take to agree on a leader, and one to be back; somebody waits for it.
    private static let patience = Duration.seconds(30)

    /// Where the servers listen, if those that are named are some of them and somebody looks after them now: whoever
    /// listens at such a port of this machine is the cluster's.
    package func places(ifAmong named: [ServerAddress]) -> [ServerAddress]? {
        let known = (try? directory.announced())?.servers.compactMap { try? ServerAddress(parsing: $0) } ?? []
        return Self.places(known, ifAmong: named)
    }

    static func places(_ known: [ServerAddress], ifAmong named: [ServerAddress]) -> [ServerAddress]? {
        let ports = Set(known.map(\.port))
        let areOurs = named.allSatisfy { ["127.0.0.1", "localhost"].contains($0.host) && ports.contains($0.port) }
        return areOurs && !named.isEmpty ? known : nil
    }

    /// The name of the server that leads the stream of all topics.
    /// - Throws: `NetworkError.timedOut` while the servers agree on none, `.connection` where none can be asked,
    ///   `.file`, `.damaged`, `.credentials` or `.cancelled`.
    package func leader() async throws(NetworkError) -> String {
        let identity = try NetworkIdentity.open(in: directory)
        let stream = NetworkNames.topicStream(of: identity.names.namespace)
        return try await persist(
            until: .now + Self.patience, every: .milliseconds(100),
            where: { error in error.isWithoutAnswer || error == Self.withoutLeader }
        ) {
            try await HostRole.keeping.withJetStream(at: directory.places(), identity.issuer) { jetStream in
                let leader = try await jetStream.description(of: stream)?["cluster"]?["leader"]?.stringValue
                guard let leader, !leader.isEmpty else { throw Self.withoutLeader }
                return leader
            }
        }
    }

    private static let withoutLeader = NetworkError.timedOut("Finding the stream's leader")

    /// Kills a server, which the host then does not start again.
    /// - Returns: what to keep for as long as that is to last.
    /// - Throws: `NetworkError.file` where another program rehearses the same, `.timedOut` where it does not end,
    ///   `.notRunning` where no server has that name, `.cancelled`.
    package func stopServer(named name: String) async throws(NetworkError) -> Rehearsal {
        let index = try index(ofServer: name)
        let path = server(index).outageLock
        // The host may look just now whether it is held.
        guard let lock = try await FileLock.wait(path, .exclusive, for: .seconds(1)) else {
            throw .system(path, EWOULDBLOCK)
        }
        // One that the host has begun to start is no other case: it shows itself as the next process.
        let deadline = ContinuousClock.now + .seconds(10)
        while let process = processes()?.servers[index].process, process.isRunning {
            guard ContinuousClock.now < deadline else { throw .timedOut("Ending a server") }
            try await end(process)
        }
        return Rehearsal(lock)
    }

    /// Kills a server, which the host then starts again.
    /// - Throws: as ``stopServer(named:)``.
    package func killServer(named name: String) async throws(NetworkError) {
        let index = try index(ofServer: name)
        if let process = processes()?.servers[index].process { try await end(process) }
    }

    /// Returns when a server answers.
    /// - Throws: `NetworkError.timedOut` or `.cancelled`, and `.notRunning` where no server has that name.
    package func awaitServer(named name: String) async throws(NetworkError) {
        let index = try index(ofServer: name)
        let deadline = ContinuousClock.now + Self.patience
        while true {
            if let port = processes()?.servers[index].port,
                await ServerProbe.answers(at: ServerAddress(host: "127.0.0.1", port: port))
            {
                return
            }
            guard ContinuousClock.now < deadline else { throw .timedOut("Starting a server again") }
            try await Pause.sleep(.milliseconds(50))
        }
    }

    private func index(ofServer name: String) throws(NetworkError) -> Int {
        let known = processes()?.servers.count ?? 0
        guard let index = (0..<min(known, Self.size)).first(where: { server($0).name == name }) else {
            throw .notRunning
        }
        return index
    }

    private func end(_ process: RunningProcess) async throws(NetworkError) {
        // A number alone may be another process's by now.
        if process.isRunning { _ = kill(process.pid, SIGKILL) }
        let deadline = ContinuousClock.now + .seconds(5)
        while process.isRunning {
            guard ContinuousClock.now < deadline else { throw .timedOut("Ending a server") }
            try await Pause.sleep(.milliseconds(20))
        }
    }
}
