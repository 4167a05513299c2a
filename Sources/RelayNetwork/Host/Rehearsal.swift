import NATS
import Platform
import Relay

/// A rehearsed fault, such as a full disk: it lasts until this is released or its process ends.
package struct Rehearsal: Sendable {
    let lock: FileLock

    static func isUnderWay(_ path: String) -> Bool {
        // Asking creates the file, which few networks need.
        guard PrivateFile.exists(path) else { return false }
        return (try? FileLock.isHeld(path, against: .shared)) ?? false
    }
}

extension NetworkDirectory {
    var runningServer: RunningProcess? {
        RunningProcess(writtenTo: serverProcessFile, configuration: serverConfiguration)
    }

    /// Kills the network's server, if one is running; its host starts it again.
    package func killServer() {
        if let server = runningServer { _ = kill(server.pid, SIGKILL) }
    }

    /// Makes the network treat its disk as full for as long as the result is kept.
    package func fillDisk() throws(NetworkError) -> Rehearsal {
        guard let lock = try FileLock.attempt(fullDiskLock, .exclusive) else {
            throw .system(fullDiskLock, EWOULDBLOCK)
        }
        return Rehearsal(lock: lock)
    }
}

extension LocalCluster {
    /// How long the servers may take to agree on a leader, and one to restart; a person waits for it.
    private static let patience = Duration.seconds(30)

    /// The servers' addresses, if all named ones are among them and they have a host now.
    package func places(ifAmong named: [ServerAddress]) -> [ServerAddress]? {
        let known = (try? directory.announced())?.servers.compactMap { try? ServerAddress(parsing: $0) } ?? []
        return Self.places(known, ifAmong: named)
    }

    static func places(_ known: [ServerAddress], ifAmong named: [ServerAddress]) -> [ServerAddress]? {
        let ports = Set(known.map(\.port))
        let areOurs = named.allSatisfy { ["127.0.0.1", "localhost"].contains($0.host) && ports.contains($0.port) }
        return areOurs && !named.isEmpty ? known : nil
    }

    /// The name of the server that leads the stream of all topics, once the servers agree on one.
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

    /// Kills a server and keeps the host from restarting it for as long as the result is kept.
    /// - Throws: `NetworkError.file` if another program rehearses this, `.notRunning` without such a server.
    package func stopServer(named name: String) async throws(NetworkError) -> Rehearsal {
        let index = try index(ofServer: name)
        let path = server(index).outageLock
        // The host may be checking it at this moment.
        guard let lock = try await FileLock.wait(path, .exclusive, for: .seconds(1)) else {
            throw .system(path, EWOULDBLOCK)
        }
        // One that the host is just starting shows up as the next process.
        try await awaited("Ending a server", within: .seconds(10)) { kill(serverAt: index) ? nil : () }
        return Rehearsal(lock: lock)
    }

    /// Kills a server, which the host then restarts.
    package func killServer(named name: String) async throws(NetworkError) {
        let index = try index(ofServer: name)
        let process = processes()?.servers[index].process
        _ = kill(serverAt: index)
        try await awaited("Ending a server", within: .seconds(5)) { process?.isRunning == true ? nil : () }
    }

    package func awaitServer(named name: String) async throws(NetworkError) {
        let index = try index(ofServer: name)
        try await awaited("Restarting a server", within: Self.patience, every: .milliseconds(50)) {
            guard let port = processes()?.servers[index].port else { return Void?.none }
            return await ServerProbe.answers(at: ServerAddress(host: "127.0.0.1", port: port)) ? () : nil
        }
    }

    private func index(ofServer name: String) throws(NetworkError) -> Int {
        let known = processes()?.servers.count ?? 0
        guard let index = (0..<min(known, Self.size)).first(where: { server($0).name == name }) else {
            throw .notRunning
        }
        return index
    }

    /// Kills a server's process; false if none is running, as the id alone may be another process's by now.
    private func kill(serverAt index: Int) -> Bool {
        guard let process = processes()?.servers[index].process, process.isRunning else { return false }
        _ = Platform.kill(process.pid, SIGKILL)
        return true
    }
}
