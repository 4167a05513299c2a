/// The configuration of a private network's `nats-server`, as its 2.9.10 and all later versions read it: one listener,
/// on 127.0.0.1 unless said otherwise, accounts by token, JetStream on.
struct ServerConfiguration: Hashable, Sendable {
    var port: Int
    var operatorToken: String
    var systemAccount: String
    /// The folder with one `<account>.jwt` for each account.
    var resolver: String
    /// The folder of JetStream's data.
    var store: String
    /// The file that it writes its process to.
    var processFile: String
    /// How often what is stored is forced onto the disk, in seconds; nil where the server does not take it.
    var syncInterval: Int64?
    /// The address to listen at.
    var host = "127.0.0.1"
    /// The certificate that it shows; nil for connections in clear.
    var tls: NetworkListener.TLS?

    /// The text of the file.
    var text: String {
        """
        # Written by parley each time the server starts; changes are lost.
        host: \(Self.quoted(host))
        port: \(port)\(tls.map(Self.block) ?? "")
        server_name: "parley-local"
        pid_file: \(Self.quoted(processFile))
        operator: "\(operatorToken)"
        system_account: "\(systemAccount)"
        # A busy machine, or one that wakes up, takes longer for a login than the standard two seconds.
        authorization: { timeout: 20 }
        resolver: {
          type: full
          dir: \(Self.quoted(resolver))
          allow_delete: true
          interval: "2m"
        }
        jetstream: {
          store_dir: \(Self.quoted(store))
          # The host watches the disk itself; bounds that streams only reserve are not to keep users out.
          max_file_store: 1073741824GB\(syncInterval.map { "\n  sync_interval: \"\($0)s\"" } ?? "")
        }

        """
    }

    /// How connections are secured. A busy machine takes longer for a handshake than the standard two seconds, too.
    private static func block(_ tls: NetworkListener.TLS) -> String {
        "\ntls: { cert_file: \(quoted(tls.certificateFile)), key_file: \(quoted(tls.keyFile)), timeout: 20 }"
    }

    /// A path as a string of the configuration language, which knows the usual escapes.
    static func quoted(_ path: String) -> String {
        var text = "\""
        for character in path.unicodeScalars {
            switch character {
            case "\"": text += "\\\""
            case "\\": text += "\\\\"
            case "\n": text += "\\n"
            case "\r": text += "\\r"
            case "\t": text += "\\t"
            default: text.unicodeScalars.append(character)
            }
        }
        return text + "\""
    }
}
