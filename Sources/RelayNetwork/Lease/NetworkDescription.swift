import NATS

/// How clients on this machine reach a running network: the content of its `network.json`.
public struct NetworkDescription: Codable, Hashable, Sendable {
    /// The servers' addresses on this machine, such as `nats://127.0.0.1:40123`, in the order of their names.
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
    /// The name in the server's certificate if it is not the address; nil, too, without a certificate.
    public var certificateName: String?
    /// The authorities to trust for it; nil for those of the system.
    public var authorityFile: String?
    /// The address it was told to listen on, such as `tls://0.0.0.0:4222`; nil for any port of 127.0.0.1.
    public var listens: String?

    /// The first server's address.
    public var url: String { servers.first ?? "" }
    /// The prefix of the subjects of JetStream's API for users.
    public var api: String { UserPermissions.apiPrefix }

    /// The address for programs on this machine.
    /// - Throws: `NetworkError.hostFailed` if it is not a usable address.
    public func address() throws(NetworkError) -> ServerAddress {
        guard let address = address(url) else { throw .hostFailed("The private network has no usable address.") }
        return address
    }

    /// Whether more than half of its servers answer, which is enough for all stored data. Does not wait for the others.
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
    /// The newest host's description of its network, if one is running; its servers may not answer.
    public func announced() throws(NetworkError) -> NetworkDescription? {
        guard try isHosted() else { return nil }
        return try? PrivateFile.readJSON(NetworkDescription.self, from: networkFile)
    }

    /// The network, if it is running and more than half of its servers answer. Starts and creates nothing.
    public func running() async throws(NetworkError) -> NetworkDescription? {
        guard let known = try announced() else { return nil }
        return await known.isAnswering() ? known : nil
    }

    /// How many clients are connected to a running network, not counting its own.
    /// - Throws: `NetworkError.connection` or `.refused`.
    public func clientCount(of network: NetworkDescription) async throws(NetworkError) -> Int {
        let system = try await SystemInterface(at: network.address(), identity: NetworkIdentity.open(in: self))
        defer { system.close() }
        return try await system.connections().count
    }
}
