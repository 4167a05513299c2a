import Logging

/// Logs a connection's decisions; each single connection has a log of its own.
struct StatusLog: Sendable {
    let logger: Logger

    func note(_ action: ConnectionMachine.Action, before: ConnectionStatus, now: ContinuousClock.Instant) {
        switch action {
        case .dial(_, let attempt): logger.debug("Dialling", metadata: ["attempt": "\(attempt)"])
        case .renewCredentials: logger.debug("Asking for new credentials")
        case .publish(let status): changed(from: before, to: status, now)
        case .ended(let reason): logger.debug("The session has ended", metadata: ["reason": "\(reason.words)"])
        case .restore, .closeSocket, .probe, .startTimer, .cancelTimer, .event, .completeConnect: break
        }
    }

    private func changed(from before: ConnectionStatus, to status: ConnectionStatus, _ now: ContinuousClock.Instant) {
        var metadata: Logger.Metadata = ["state": "\(status.state.rawValue)"]
        if let reason = status.reason { metadata["reason"] = "\(reason.words)" }
        if let next = status.nextRetryAt { metadata["retry.in"] = "\(max(.zero, next - now))" }
        if !status.failingSubscriptions.isEmpty {
            metadata["topics"] = .array(status.failingSubscriptions.map { "\($0)" })
        }
        let isNews =
            before.state != status.state || before.reason != status.reason
            || before.nextRetryAt != status.nextRetryAt && status.nextRetryAt != nil
            || before.failingSubscriptions != status.failingSubscriptions
        if isNews {
            logger.debug("The connection's status has changed", metadata: metadata)
        } else {
            logger.trace("The connection's figures have changed", metadata: metadata)
        }
    }
}
