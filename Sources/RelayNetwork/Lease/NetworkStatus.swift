import NATS

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

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

    /// Whether a host has the network in its care.
    func isHosted() throws(NetworkError) -> Bool {
        guard PrivateFile.exists(hostLock) else { return false }
        return try FileLock.isHeld(hostLock, against: .shared)
    }

    /// The network, when it runs and answers.
    func running() async throws(NetworkError) -> NetworkDescription? {
        guard try isHosted() else { return nil }
        return try await HostLauncher(directory: self, command: [], environment: [:]).answering()
    }

    private struct Connections: Decodable {
        struct Page: Decodable {
            var total: Int

            enum CodingKeys: String, CodingKey { case total }
        }

        var data: Page
    }

    /// How many connections the application account has, without the host's own.
    private func clientCount(at url: String) async throws -> Int {
        let identity = try NetworkIdentity.open(in: self)
        let options = ConnectOptions(name: "parley network status", authentication: .init(identity.administrator))
        let connection = try await NATSConnection.connect(to: ServerAddress(parsing: url), options: options)
        defer { connection.closeNow() }
        let reply = try await connection.request(
            .init(), to: "$SYS.REQ.ACCOUNT.\(identity.account).CONNZ", timeout: .seconds(2))
        let page = try JSONDecoder().decode(Connections.self, from: Data(reply.bytes))
        return max(0, page.data.total - 1)
    }
}
