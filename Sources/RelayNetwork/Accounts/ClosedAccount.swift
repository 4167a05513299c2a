import NATS
import Relay

/// The one door of an account that is closed to its user: whoever logs in may ask the network's service, which says
/// why.
enum ClosedAccount {
    /// Room for the question alone, for two clients at once: each leaves when it has the answer.
    static var limits: AccountLimits {
        var limits = AccountLimits.withoutJetStream
        (limits.conn, limits.leaf, limits.subs, limits.payload) = (2, 0, 8, 8_192)
        return limits
    }

    static let permissions = Permissions(
        pub: SubjectRules(allow: [NetworkNames.namespace]), sub: SubjectRules(allow: ["_INBOX.>"]))

    /// - Parameter network: the network's account, which exports it.
    static func imports(from network: NKey) -> [AccountImport] {
        [.service(NetworkNames.namespace, of: network)]
    }
}
