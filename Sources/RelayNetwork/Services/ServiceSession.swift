import Logging
import NATS
import NIOConcurrencyHelpers

/// All that a process does for a network over one pair of connections: it answers requests, says that it does, and
/// watches over what users make. The host of a private network and `parley network serve` share it.
struct ServiceSession: Sendable {
    private let services: NetworkServices
    private let discovery: ServiceDiscovery
    private let guardian: PushConsumerGuard

    /// Subscribes; nothing is answered before ``run()``.
    /// - Parameters:
    ///   - answering: where requests come from.
    ///   - jetStream: the network's streams, over a connection of ``HostRole/keeping``.
    ///   - id: names the process among those that share the requests.
    ///   - figures: where it is counted what was answered.
    init(
        answering: NATSConnection, jetStream: JetStream, plan: NetworkPlan, users: any UserRegister,
        issuer: UserTokenIssuer, postboxes: PostboxService, id: String = ServiceSession.newID(),
        figures: NIOLockedValueBox<ServiceFigures> = NIOLockedValueBox(
            ServiceFigures(start: NetworkAdministrator.now)),
        logger: Logger
    ) throws(NATSError) {
        services = try NetworkServices(
            connection: answering, users: users, issuer: issuer, names: plan.names, jetStream: jetStream,
            postboxes: postboxes, figures: figures)
        discovery = try ServiceDiscovery(connection: answering, id: id, figures: figures)
        guardian = try PushConsumerGuard(
            jetStream: jetStream, users: UserAccounts(users), limits: plan.settings.users, logger: logger)
    }

    /// A name for a process that no other has.
    static func newID() -> String { String(UInt64.random(in: .min ... .max), radix: 36, uppercase: true) }

    /// Takes no more requests, and returns when those that came before are answered or the time is up.
    func drain(within limit: Duration) async { await services.drain(within: limit) }

    /// Works until a connection ends or the task is cancelled.
    /// - Throws: the reason for a connection's end.
    func run() async throws(NetworkError) {
        // Its end with a connection says nothing of the cause, which the others know.
        async let _: Void = discovery.run()
        try await untilOneEnds({ try await services.run() }, { try await guardian.run() })
    }
}
