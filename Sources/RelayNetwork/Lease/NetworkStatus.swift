import NATS

/// Whether a private network runs, and how: what `parley network status` prints.
public struct NetworkStatus: Codable, Hashable, Sendable {
    /// Whether it runs and answers.
    public var running: Bool
    /// Where its server listens; nil when it does not run.
    public var server: String?
    /// Where it was asked to listen, such as `tls://0.0.0.0:4222`; nil for this machine alone, and when it does not
    /// run.
    public var listens: String?
    /// The server's version; nil when it does not run.
    public var version: String?
    /// The folder of the server's data.
    public var store: String
    /// How many clients are connected, without the network's own; nil when it does not run.
    public var clients: Int?
}

extension NetworkDirectory {
    /// Asks whether the network runs; starts nothing and makes nothing.
    /// - Throws: `NetworkError.file` when the folder cannot be used.
    public func status() async throws(NetworkError) -> NetworkStatus {
        var status = NetworkStatus(running: false, server: nil, listens: nil, version: nil, store: store, clients: nil)
        guard let network = try await running() else { return status }
        status.running = true
        status.server = network.url
        status.listens = network.listens
        status.version = network.serverVersion
        status.clients = try? await clientCount(at: network.address())
        return status
    }

    private func clientCount(at address: ServerAddress) async throws(NetworkError) -> Int {
        let system = try await SystemInterface(at: address, identity: NetworkIdentity.open(in: self))
        defer { system.close() }
        return try await system.connections().count
    }
}
