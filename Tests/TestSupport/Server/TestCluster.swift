import Foundation

/// Servers that belong to one cluster, without JetStream; their lame duck mode lasts a second by default.
public enum TestCluster {
    /// Starts a server of the cluster that the other belongs to.
    ///
    /// - Parameter grace: how long the server stays after it has asked its clients to leave.
    public static func start(
        _ binary: NATSServerBinary, name: String, joining other: NATSServerProcess? = nil, grace: String = "1s"
    ) async throws -> NATSServerProcess {
        let route = try other.map { "routes: [\"nats://\(try address(of: $0))\"]" } ?? ""
        return try await NATSServerProcess.start(
            binary,
            configuration: """
                server_name: \(name)
                lame_duck_grace_period: "\(grace)"
                lame_duck_duration: "30s"
                cluster { name: C, listen: "127.0.0.1:-1", \(route) }

                """, jetStream: false)
    }

    /// Where a server takes the routes of others.
    private static func address(of server: NATSServerProcess) throws -> String {
        struct Ports: Decodable { var cluster: [String]? }
        let file = server.directory.url.appendingPathComponent("nats-server_\(server.processID).ports")
        let ports = try JSONDecoder().decode(Ports.self, from: Data(contentsOf: file))
        guard let url = ports.cluster?.first else { throw TestFailure("the server names no cluster port") }
        return url.replacingOccurrences(of: "nats://", with: "")
    }

    /// Tells a server to shut down in an orderly way: it sends its clients elsewhere first.
    public static func lameDuck(_ server: NATSServerProcess) async throws {
        let signal = try await ChildProcess.run("kill", ["-USR2", "\(server.processID)"])
        guard signal.status.isSuccess else { throw TestFailure("\(signal)") }
    }
}
