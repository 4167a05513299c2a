import NATS

/// What a client needs to know of a running private network: the content of its `network.json`.
public struct NetworkDescription: Codable, Hashable, Sendable {
    /// Where the server listens, such as `nats://127.0.0.1:40123`, for programs of this machine.
    public var url: String
    /// The server's version.
    public var serverVersion: String
    /// The process that looks after the server.
    public var hostPid: Int32
    /// The server's process.
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

    /// Where programs of this machine connect.
    /// - Throws: `NetworkError.hostFailed` when it is no usable address.
    public func address() throws(NetworkError) -> ServerAddress {
        guard var address = try? ServerAddress(parsing: url) else {
            throw .hostFailed("The private network names no usable address.")
        }
        (address.certificateName, address.authorityFile) = (certificateName, authorityFile)
        return address
    }
}

/// Why a host gave up, for the client that started it.
struct HostFailure: Codable, Hashable, Sendable {
    /// A whole sentence.
    var reason: String
    /// Whether a server is missing, which clients say in their own words.
    var isServerMissing: Bool
}
