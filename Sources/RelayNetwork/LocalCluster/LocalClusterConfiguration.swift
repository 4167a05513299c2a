import NATS

/// The configuration of one server of a cluster on this machine, as 2.9.10 and all later versions read it: one listener
/// for clients and one for the other servers, both on 127.0.0.1, accounts by token, JetStream on. A pure value.
struct LocalClusterConfiguration: Hashable, Sendable {
    var server: LocalClusterServer
    var port: Int
    /// Where the other servers connect, who have to know the password: anybody on this machine could, otherwise.
    var routePort: Int
    /// Where the others are.
    var otherRoutePorts: [Int]
    var password: String
    var operatorToken: String
    var systemAccount: String
    var systemToken: String
    /// How often what is stored is forced onto the disk, in seconds; nil where the server does not take it.
    var syncInterval: Int64?

    /// The text of the file.
    var text: String {
        let quoted = ServerConfiguration.quoted
        let routes = otherRoutePorts.map { "\"nats://parley:\(password)@127.0.0.1:\($0)\"" }.joined(separator: ", ")
        return """
            # Written by parley each time the server starts; changes are lost.
            host: "127.0.0.1"
            port: \(port)
            server_name: "\(server.name)"
            pid_file: \(quoted(server.processFile))
            operator: "\(operatorToken)"
            system_account: "\(systemAccount)"
            # A busy machine, or one that wakes up, takes longer for a login than the standard two seconds.
            authorization: { timeout: 20 }
            resolver: {
              type: full
              dir: \(quoted(server.accounts))
              allow_delete: false
              interval: "2m"
            }
            resolver_preload: { \(systemAccount): "\(systemToken)" }
            cluster: {
              name: "parley"
              host: "127.0.0.1"
              port: \(routePort)
              authorization: { user: "parley", password: "\(password)", timeout: 20 }
              # Whoever uses it knows all of the servers.
              no_advertise: true
              routes: [\(routes)]
            }
            jetstream: {
              store_dir: \(quoted(server.store))
              # The host watches the disk itself; bounds that streams only reserve are not to keep users out.
              max_file_store: 1073741824GB\(syncInterval.map { "\n  sync_interval: \"\($0)s\"" } ?? "")
            }

            """
    }
}
