/// The configuration of a network's `nats-server` on this machine, for 2.9.10 and later: one listener, on 127.0.0.1 by
/// default, another for a cluster's other servers, accounts by token, and JetStream.
struct ServerConfiguration: Hashable, Sendable {
    struct Cluster: Hashable, Sendable {
        /// The other servers connect here with the password; without one, anyone on this machine could.
        var port: Int
        var otherPorts: [Int]
        var password: String
        var systemToken: String
    }

    var name = "parley-local"
    var port: Int
    var operatorToken: String
    var systemAccount: String
    /// The folder with one `<account>.jwt` for each account.
    var resolver: String
    var store: String
    var processFile: String
    /// How often to sync the disk, in seconds; nil if the server has no such setting.
    var syncInterval: Int64?
    var host = "127.0.0.1"
    var tls: NetworkListener.TLS?
    var cluster: Cluster?

    var text: String {
        """
        # Written by parley each time the server starts; changes are lost.
        host: \(Self.quoted(host))
        port: \(port)\(tls.map(Self.block) ?? "")
        server_name: "\(name)"
        pid_file: \(Self.quoted(processFile))
        operator: "\(operatorToken)"
        system_account: "\(systemAccount)"
        # A busy machine, or one that wakes up, takes longer for a login than the standard two seconds.
        authorization: { timeout: 20 }
        resolver: {
          type: full
          dir: \(Self.quoted(resolver))
          allow_delete: \(cluster == nil)
          interval: "2m"
        }\(cluster.map(block) ?? "")
        jetstream: {
          store_dir: \(Self.quoted(store))
          # The host watches the disk itself; bounds that streams only reserve are not to keep users out.
          max_file_store: 1073741824GB\(syncInterval.map { "\n  sync_interval: \"\($0)s\"" } ?? "")
        }

        """
    }

    /// A busy machine takes longer than the default of two seconds for a handshake, too.
    private static func block(_ tls: NetworkListener.TLS) -> String {
        "\ntls: { cert_file: \(quoted(tls.certificateFile)), key_file: \(quoted(tls.keyFile)), timeout: 20 }"
    }

    private func block(_ cluster: Cluster) -> String {
        let routes = cluster.otherPorts.map { "\"nats://parley:\(cluster.password)@127.0.0.1:\($0)\"" }
        return """

            resolver_preload: { \(systemAccount): "\(cluster.systemToken)" }
            cluster: {
              name: "parley"
              host: "127.0.0.1"
              port: \(cluster.port)
              authorization: { user: "parley", password: "\(cluster.password)", timeout: 20 }
              # Whoever uses it knows all of the servers.
              no_advertise: true
              routes: [\(routes.joined(separator: ", "))]
            }
            """
    }

    private static let escapes: [Unicode.Scalar: String] = [
        "\"": "\\\"", "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t",
    ]

    /// Quotes a path in the configuration language, with its usual escapes.
    static func quoted(_ path: String) -> String {
        "\"" + path.unicodeScalars.map { escapes[$0] ?? String($0) }.joined() + "\""
    }
}
