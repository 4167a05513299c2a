import Logging
import NATS
import Relay

/// The network's own users that serve it. The one that answers cannot change it; the one that changes it cannot answer.
enum HostRole: String {
    /// Answers requests, to the reply subjects that the server makes for imports.
    case answering
    /// Makes streams and buckets, keeps the registers of postboxes, and watches which consumers are made.
    case keeping
    /// Tells users' clients what the administrator does.
    case telling
    /// Queries the state of the services; its credentials may be handed out.
    case observing = "observer"

    /// The sender of the network's own letters; not a valid user name.
    static let sender = "~parley"

    private var name: String { "~\(rawValue)" }
    var inboxPrefix: String { "_INBOX_\(name)" }

    var permissions: Permissions {
        var (publishes, hears): ([String], [String])
        switch self {
        case .answering:
            publishes = ["_R_.>", "\(Self.observing.inboxPrefix).>"]
            hears = NetworkServices.subjects + ServiceDiscovery.subjects
        case .keeping:
            publishes = [
                "$JS.API.>", NetworkNames.key("*", in: NetworkPlan.postboxes),
                NetworkNames.key(">", in: NetworkPlan.users), NetworkNames.letters(to: "*", "*", from: Self.sender),
            ]
            hears = [PushConsumerGuard.subject, PushConsumerGuard.ends, PushConsumerGuard.control]
        case .telling: (publishes, hears) = ([NetworkNames.control(of: "*")], [])
        case .observing: (publishes, hears) = (["$SRV.>"], [])
        }
        hears.append("\(inboxPrefix).>")
        return Permissions(pub: SubjectRules(allow: publishes), sub: SubjectRules(allow: hears))
    }

    func credentials(_ issuer: UserTokenIssuer) throws(NetworkError) -> Credentials {
        try issuer.issue(name: name, permissions: permissions)
    }

    func connect(
        to addresses: [ServerAddress], _ issuer: UserTokenIssuer, timeout: Duration = .seconds(5),
        logger: Logger = .silent
    ) async throws(NetworkError) -> NATSConnection {
        let options = ConnectOptions(
            name: "parley network \(self)", authentication: .init(try credentials(issuer)), connectTimeout: timeout,
            logger: logger)
        return try await addresses.firstToTake { try await NATSConnection.connect(to: $0, options: options) }
    }

    func withJetStream<R>(
        at addresses: [ServerAddress], _ issuer: UserTokenIssuer, timeout: Duration = .seconds(5),
        _ body: (JetStream) async throws -> R
    ) async throws(NetworkError) -> R {
        let connection = try await connect(to: addresses, issuer)
        defer { connection.closeNow() }
        return try await reached { try await body(JetStream(connection, timeout: timeout)) }
    }
}
