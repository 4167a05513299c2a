import NATS
import Relay

/// The two users of the network's account that serve it. What answers requests cannot change the network; what changes
/// it never writes to a subject that a user named.
enum HostRole {
    /// Hears requests and answers them. An answer goes back through the import that the request came by, and nowhere
    /// else: the server makes those reply subjects itself.
    case answering
    /// Makes streams and buckets, keeps the registers of postboxes, and sees what consumers are made.
    case keeping

    /// Who sends the letters that come from the network itself; not a possible user's name.
    static let sender = "~parley"
    private static let answers = "_R_.>"

    private var name: String {
        switch self {
        case .answering: "~answering"
        case .keeping: "~keeping"
        }
    }

    /// What this role may publish and hear.
    var permissions: Permissions {
        let inbox = "_INBOX_\(name).>"
        switch self {
        case .answering:
            return Permissions(
                pub: SubjectRules(allow: [Self.answers, "\(ServiceDiscovery.inboxPrefix).>"]),
                sub: SubjectRules(allow: NetworkServices.subjects + ServiceDiscovery.subjects + [inbox]))
        case .keeping:
            return Permissions(
                pub: SubjectRules(
                    allow: [
                        "$JS.API.>", NetworkNames.key("*", in: NetworkPlan.postboxes),
                        NetworkNames.key(">", in: NetworkPlan.users),
                        NetworkNames.letters(to: "*", "*", from: Self.sender),
                    ]),
                sub: SubjectRules(
                    allow: [PushConsumerGuard.subject, PushConsumerGuard.ends, PushConsumerGuard.control, inbox]))
        }
    }

    /// Credentials for this role, made for one connection and kept nowhere.
    func credentials(_ issuer: UserTokenIssuer) throws(NetworkError) -> Credentials {
        try issuer.issue(name: name, permissions: permissions)
    }

    /// Connects to a server of the network in this role.
    func connect(
        to address: ServerAddress, _ issuer: UserTokenIssuer, timeout: Duration = .seconds(2)
    ) async throws(NetworkError) -> NATSConnection {
        let options = ConnectOptions(
            name: "parley network \(self)", authentication: .init(try credentials(issuer)), connectTimeout: timeout)
        return try await reached { try await NATSConnection.connect(to: address, options: options) }
    }
}
