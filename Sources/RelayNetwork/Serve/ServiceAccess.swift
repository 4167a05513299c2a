import NATS

/// The access of a cluster network's services: a file by which its holder can issue users' tokens. It contains no key
/// that signs accounts, and none of the system account.
public struct ServiceAccess: Sendable, CustomStringConvertible, CustomReflectable {
    /// The servers' addresses.
    public let servers: [String]
    let authority: String?
    let plan: NetworkPlan
    let issuer: UserTokenIssuer

    init(_ cluster: ClusterNetwork, authority: String?, _ identity: NetworkIdentity, _ settings: NetworkSettings) {
        (servers, self.authority, issuer) = (cluster.servers, authority, identity.issuer)
        plan = NetworkPlan(names: identity.names, settings: settings, placement: cluster.placement)
    }

    private struct Content: Codable {
        var version = 1
        var servers: [String]
        var authority: String?
        var plan: NetworkPlan
        var account: String
        var signingKey: String
    }

    func text() -> String {
        let content = issuer.signingKey.withSeedText { seed in
            Content(servers: servers, authority: authority, plan: plan, account: issuer.account.text, signingKey: seed)
        }
        return String(decoding: Wire.json(content, isPretty: true), as: UTF8.self) + "\n"
    }

    /// Reads the file, which only its owner may be able to read.
    /// - Throws: `NetworkError.invalidProvision` if it is not a services file.
    public init(path: String) throws(NetworkError) {
        let text = try PrivateFile.text(in: path, isSecret: true)
        guard let content = Wire.value(Content.self, from: text.utf8), content.version == 1,
            let account = try? NKey(content.account), account.kind == .account,
            let signingKey = try? NKeyPair(seed: content.signingKey), !content.servers.isEmpty
        else { throw .invalidProvision("\(path) is not a services file: `parley network provision` writes it.") }
        (servers, authority, plan) = (content.servers, content.authority, content.plan)
        issuer = UserTokenIssuer(account: account, signingKey: signingKey)
    }

    /// Names the network and hides the secret.
    public var description: String { "ServiceAccess(\(plan.names.namespace), secret hidden)" }
    /// The network's name only.
    public var customMirror: Mirror { Mirror(self, children: ["network": plan.names.namespace]) }
}
