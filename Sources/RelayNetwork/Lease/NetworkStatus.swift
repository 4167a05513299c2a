/// Whether a private network runs, and how: what `parley network status` prints.
public struct NetworkStatus: Codable, Hashable, Sendable {
    /// Whether it runs and answers.
    public var running: Bool
    /// Where its server listens; nil when it does not run.
    public var server: String?
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
        var status = NetworkStatus(running: false, server: nil, version: nil, store: store, clients: nil)
        guard let network = try await running() else { return status }
        status.running = true
        status.server = network.url
        status.version = network.serverVersion
        status.clients = try? await clientCount(at: network.url)
        return status
    }

    private func clientCount(at url: String) async throws(NetworkError) -> Int {
        let system = try await SystemInterface(url: url, identity: NetworkIdentity.open(in: self))
        defer { system.close() }
        return try await system.connections().count
    }
}
