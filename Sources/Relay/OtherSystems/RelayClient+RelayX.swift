// The calls of RelayX's SDK, under its names.
extension RelayClient {
    /// The option keys of ``prepare(staging:opts:)``.
    public enum PreparationOption: String, CaseIterable, Sendable {
        /// A `Bool` without effect: this library never prints, and ``RelayClient/statuses`` tells more.
        case debug
        /// An array of server addresses as strings, instead of RelayX's own.
        case servers
    }

    /// A client for RelayX's network, or one with the same wire format. Does no I/O.
    ///
    /// - Parameters:
    ///   - apiKey: The API key, a user JWT.
    ///   - secret: Its secret, an nkey seed.
    /// - Throws: ``RelayError/invalidCredentials(_:)`` if either is empty or malformed.
    public init(apiKey: String, secret: String) throws(RelayError) {
        let configuration = RelayConfiguration(
            servers: .fixed([]), credentials: try .apiKey(apiKey, secret: secret), reconnect: .relayx, outbox: .relayx)
        self.init(Settings(configuration: configuration, isPrepared: false))
    }

    /// Sets the servers, before `connect`. Does no I/O. The last call before a connection counts.
    ///
    /// - Parameters:
    ///   - staging: RelayX's staging servers, on this machine, instead of its production servers.
    ///   - opts: See ``PreparationOption``.
    /// - Throws: ``RelayError/invalidArgument(_:)`` for an unknown key or a value of the wrong type.
    public nonisolated func prepare(staging: Bool, opts: [String: Any]) throws(RelayError) {
        var servers = try RelayConfiguration.addresses(Self.relayXServers(staging: staging))
        for (key, value) in opts {
            switch PreparationOption(rawValue: key) {
            case .debug:
                guard value is Bool else { throw .invalidArgument("The option debug is true or false") }
            case .servers:
                guard let list = value as? [String] else {
                    throw .invalidArgument("The option servers is a list of addresses")
                }
                servers = try RelayConfiguration.addresses(list)
            case nil:
                let known = PreparationOption.allCases.map(\.rawValue).joined(separator: ", ")
                throw .invalidArgument("There is no option \(key); the options are \(known)")
            }
        }
        settings.withLockedValue { settings in
            settings.configuration.servers = .fixed(servers)
            settings.isPrepared = true
        }
    }

    private static func relayXServers(staging: Bool) -> [String] {
        (4_221...4_223).map { staging ? "nats://127.0.0.1:\($0)" : "tls://api.relay-x.io:\($0)" }
    }
}
