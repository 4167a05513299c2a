import NATS

/// What a client needs to know of a running network on this machine: the content of its `network.json`.
public struct NetworkDescription: Codable, Hashable, Sendable {
    /// Where the servers listen for this machine, such as `nats://127.0.0.1:40123`, in the order of their names.
    public var servers: [String]
    /// The servers' version.
    public var serverVersion: String
    /// The process that looks after the servers.
    public var hostPid: Int32
    /// The first server's process.
    public var serverPid: Int32
    /// Names the network's stream `<namespace>_stream` and its bucket.
    public var namespace: String
    /// The first token of every topic's subject.
    public var hash: String
    /// What the server's certificate is to be for, where that is not the address; nil too where there is none.
    public var certificateName: String?
    /// The authorities to trust for it; nil for those of the system.
    public var authorityFile: String?
    /// Where it was asked to listen, such as `tls://0.0.0.0:4222`; nil for a port of its own choice on 127.0.0.1.
    public var listens: String?

    /// Where the first server listens.
    public var url: String { servers.first ?? "" }
    /// What the subjects of JetStream's calls begin with for users.
    public var api: String { UserPermissions.apiPrefix }

    /// Where programs of this machine connect.
    /// - Throws: `NetworkError.hostFailed` when it is no usable address.
    public func address() throws(NetworkError) -> ServerAddress {
        guard let address = address(url) else { throw .hostFailed("The private network names no usable address.") }
        return address
    }

    /// Whether more than half of its servers answer, which carry all that is stored. The others are not waited for.
    func isAnswering() async -> Bool {
        await withTaskGroup(of: Bool.self) { group in
            for server in servers {
                group.addTask {
                    guard let address = address(server) else { return false }
                    return await ServerProbe.answers(at: address)
                }
            }
            defer { group.cancelAll() }
            var count = 0
            for await isThere in group where isThere {
                count += 1
                if count > servers.count / 2 { return true }
            }
            return false
        }
    }

    private func address(_ url: String) -> ServerAddress? {
        guard var address = try? ServerAddress(parsing: url) else { return nil }
        (address.certificateName, address.authorityFile) = (certificateName, authorityFile)
        return address
    }
}

extension NetworkDirectory {
    /// What the newest host has told of its network, if one runs; its servers may not answer.
    public func announced() throws(NetworkError) -> NetworkDescription? {
        guard try isHosted() else { return nil }
        return (try? PrivateFile.readJSON(NetworkDescription.self, from: networkFile)) ?? nil
    }

    /// The network, when it runs and more than half of its servers answer. Starts nothing and makes nothing.
    public func running() async throws(NetworkError) -> NetworkDescription? {
        guard let known = try announced() else { return nil }
        return await known.isAnswering() ? known : nil
    }

    /// How many clients are connected to a running network, without the network's own.
    /// - Throws: `NetworkError.connection` or `.refused`.
    public func clientCount(of network: NetworkDescription) async throws(NetworkError) -> Int {
        let system = try await SystemInterface(at: network.address(), identity: NetworkIdentity.open(in: self))
        defer { system.close() }
        return try await system.connections().count
    }
}
