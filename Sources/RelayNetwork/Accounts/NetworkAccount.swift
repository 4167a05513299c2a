import NATS
import Relay

/// The account of the network itself: it alone has JetStream, the streams, the buckets and the services, and exports
/// what users' accounts may import. Who imports what is decided by the users' tokens, which only the host signs.
enum NetworkAccount {
    /// How long the server remembers a pull that it gives nothing to. Heartbeats renew it; pulls of other clients come
    /// without and wait for up to 30 s.
    static let pullThreshold: Int64 = 120 * 1_000_000_000
    /// How long the server remembers a batch whose next message does not come.
    static let batchThreshold: Int64 = 10 * 1_000_000_000

    /// How long the server remembers any other request that gets no answer: longer than any client waits, and a quarter
    /// of the server's own time.
    static let answerThreshold: Int64 = 30 * 1_000_000_000

    /// What the account exports.
    ///
    /// An answer to a single-answer service ends the server's memory of the request; a pull and a batch of stored
    /// messages have many answers and are remembered until their reader stops listening. A subject's newest message is
    /// one answer, so reading keys leaves nothing behind.
    static func exports(hash: String) -> [AccountExport] {
        let calls = [
            "INFO", "STREAM.INFO.*", "STREAM.MSG.GET.*", "STREAM.MSG.DELETE.*", "DIRECT.GET.*.>", "CONSUMER.CREATE.>",
            "CONSUMER.INFO.*.*", "CONSUMER.DELETE.*.*",
        ].map { "$JS.API.\($0)" }
        let services = [
            "$JS.ACK.>", "\(hash).>", NetworkNames.letters(to: "*", "*", from: "*"),
            NetworkNames.postboxes(of: "*", "*"), NetworkNames.recipient("*", "*"), NetworkNames.namespace,
            NetworkNames.enrolment(of: "*"), NetworkNames.streams(of: "*"), "$KV.>",
        ]
        return (calls + services).map { AccountExport.service($0, threshold: answerThreshold) } + [
            .service("$JS.API.CONSUMER.MSG.NEXT.>", responses: .stream, threshold: pullThreshold),
            .service("$JS.API.DIRECT.GET.*", responses: .stream, threshold: batchThreshold),
            .stream(NetworkNames.control(of: "*")), .stream("_INBOX.>"),
        ]
    }

    /// The bytes that an account may store which stores nothing more: any limit that is passed already keeps the server
    /// from it.
    static let closedStorage: Int64 = 1

    /// Whether a token has its account store nothing more, as while the disk is full.
    static func isClosedToMessages(_ token: String) -> Bool {
        (try? AccountClaims.decode(token))?.grant.limits.diskStorage == closedStorage
    }

    /// The account's claims.
    /// - Parameters:
    ///   - acceptsMessages: whether anything more is stored; without it, what is stored can still be read.
    static func claims(
        _ account: NKey, names: NetworkIdentity.Names, signingKey: NKey, acceptsMessages: Bool = true
    ) -> AccountClaims {
        var limits = AccountLimits.unlimited
        if !acceptsMessages { limits.diskStorage = closedStorage }
        return AccountClaims(
            subject: account, name: names.namespace,
            grant: AccountGrant(
                limits: limits, signingKeys: [.key(signingKey.text)], exports: exports(hash: names.hash)))
    }
}
