import Logging
import NATS

/// Logs the fate of outgoing messages, without their text.
struct OutboxLog: Sendable {
    private let logger: Logger

    init(_ logger: Logger) { self.logger = logger }

    /// A message has ended. Stored ones are not logged one by one.
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

    /// The outbox opens on a connection: waiting messages are sent, some of them again.
    func sending(_ count: Int) {
        if count > 0 { logger.debug("Sending the messages that waited", metadata: ["count": "\(count)"]) }
    }

    /// The connection was lost with messages in flight, which will be sent again.
    func lost(_ count: Int) {
        if count > 0 { logger.debug("Messages are to be sent again", metadata: ["count": "\(count)"]) }
    }
}
