import Logging
import NATS

/// What a client logs of its own decisions; its connections log beside it.
struct ClientLog: Sendable {
    private let logger: Logger

    init(_ configuration: RelayConfiguration) {
        var logger = configuration.logger
        logger[metadataKey: "relay.client"] = "\(configuration.clientID)"
        self.logger = logger
    }

    func note(_ action: ConnectionMachine.Action, before: ConnectionStatus?, now: ContinuousClock.Instant) {
        switch action {
        case .dial(_, let attempt): logger.debug("Dialling", metadata: ["attempt": "\(attempt)"])
        case .renewCredentials: logger.debug("Asking for new credentials")
        case .publish(let status): changed(from: before, to: status, now)
        case .discardOutbox(let reason): logger.debug("The session has ended", metadata: ["reason": "\(reason.words)"])
        case .restore, .closeSocket, .probe, .startTimer, .cancelTimer, .event, .completeConnect: break
        }
    }

    // MARK: The outbox

    /// A message has ended. Those that are stored are not logged one by one.
    func ended(_ news: PublishNews) {
        switch news.state {
        case .failed(.cancelled): logger.debug("A message was taken back", metadata: ["id": "\(news.id)"])
        case .failed(let error): notSent(news, error.words)
        case .discarded(let reason): notSent(news, reason.words)
        case .uncertain: notSent(news, "it is not known whether it was stored")
        case .queued, .sending, .acknowledged: break
        }
    }

    private func notSent(_ news: PublishNews, _ reason: String) {
        logger.debug(
            "A message was not sent",
            metadata: ["id": "\(news.id)", "reason": "\(reason)", "may.be.stored": "\(news.mayBeStored)"])
    }

    func refused(_ id: String, _ error: NATSError) {
        logger.debug("A message was refused", metadata: ["id": "\(id)", "error": "\(error)"])
    }

    /// The outbox opens on a connection: what waits is sent, again where it was sent before.
    func sending(_ count: Int) {
        if count > 0 { logger.debug("Sending the messages that waited", metadata: ["count": "\(count)"]) }
    }

    /// The connection was lost with messages under way, which wait to be sent again.
    func lost(_ count: Int) {
        if count > 0 { logger.debug("Messages are to be sent again", metadata: ["count": "\(count)"]) }
    }

    private func changed(
        from before: ConnectionStatus?, to status: ConnectionStatus, _ now: ContinuousClock.Instant
    ) {
        var metadata: Logger.Metadata = ["state": "\(status.state.rawValue)"]
        if let reason = status.reason { metadata["reason"] = "\(reason.words)" }
        if let next = status.nextRetryAt { metadata["retry.in"] = "\(max(.zero, next - now))" }
        if !status.failingTopics.isEmpty { metadata["topics"] = .array(status.failingTopics.map { "\($0)" }) }
        let isNews =
            before?.state != status.state || before?.reason != status.reason
            || before?.nextRetryAt != status.nextRetryAt && status.nextRetryAt != nil
            || before?.failingTopics != status.failingTopics
        if isNews {
            logger.debug("The connection's status has changed", metadata: metadata)
        } else {
            logger.trace("The connection's figures have changed", metadata: metadata)
        }
    }
}
