/// What a client needs to know of a running private network: the content of its `network.json`.
public struct NetworkDescription: Codable, Hashable, Sendable {
    /// Where the server listens, such as `nats://127.0.0.1:40123`.
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
}

/// Why a host gave up, for the client that started it.
struct HostFailure: Codable, Hashable, Sendable {
    /// A whole sentence.
    var reason: String
    /// Whether a server is missing, which clients say in their own words.
    var isServerMissing: Bool
}
