import Relay
import Terminal

extension ChatModel {
    /// Takes in a connection status.
    mutating func statusChanged(_ newStatus: ConnectionStatus) -> ChatEffects {
        let before = status
        status = newStatus
        log.record(newStatus, at: now)
        let isSameAttempt = before.isTrying && before.state == newStatus.state && before.attempt == newStatus.attempt
        if !newStatus.isTrying { attemptBegan = nil } else if !isSameAttempt { attemptBegan = now.instant }
        guard before.state != newStatus.state else { return [] }
        withdrawNotice(about: .connection)
        absenceFollows(newStatus)
        noteOutage(before, newStatus)
        if before.state == .connected { requeue() }
        switch newStatus.state {
        case .connected:
            // What the filter could not look through it can look through now.
            if case .failed? = inbox.finding?.end { inbox.dropFinding() }
            return [.letters(.count)] + retryInbox()
        case .disconnected:
            if let reason = newStatus.reason, reason != .closedByUser {
                say("\(reason.words) /reconnect tries again.", .failure, about: .connection)
            }
            let effects = call(forEnd: newStatus.reason)
            // Whoever sets a time limit does not wait longer. What they wrote meanwhile is asked about.
            return hasScreen && connectionGivenUp != nil ? effects + quit() : effects
        case .reconnecting:
            if let reason = newStatus.reason { sayMeanwhile(reason.words, about: .connection) }
        case .initialized, .connecting, .suspended:
            break
        }
        return []
    }

    /// Notes where each conversation was when the connection was lost, and says there how long that lasted when it is
    /// back.
    private mutating func noteOutage(_ before: ConnectionStatus, _ status: ConnectionStatus) {
        recovery = nil
        switch status.state {
        case .reconnecting where before.state == .connected && status.reason != .renewalRequested:
            lostAt = now
            let resting = restingTopics
            conversations.updateAll { if !resting.contains($0.name) { $0.connectionLost() } }
        case .connected:
            guard let lostAt else { break }
            let lasted = lostAt.instant.duration(to: now.instant)
            recovery = Recovery(lasted: lasted, until: now.instant + Recovery.time)
            conversations.updateAll { $0.connectionBack(Outage(began: lostAt.wall, lasted: lasted)) }
            self.lostAt = nil
        case .initialized, .connecting, .disconnected: lostAt = nil
        case .reconnecting, .suspended: break
        }
    }

    /// What was on its way when the connection went waits again; the core keeps it.
    private mutating func requeue() {
        for (id, handed) in outgoing where handed.isAccepted {
            guard case .line(let name) = handed.item else { continue }
            conversations.update(name) { _ = $0.setState(.queued, of: id) }
        }
    }

    /// Tells the core when the person came or went, and tries to connect at once when they came.
    mutating func noteAttention(_ change: Bool?) -> ChatEffects {
        guard let change else { return [] }
        lastNudge = now.instant
        if change {
            calls.forget()
            lastSign = now.instant
            returnToTerminal()
        } else {
            leaveTerminal()
        }
        return change ? [.connection(.setActive(true)), .connection(.nudge)] : [.connection(.setActive(false))]
    }

    /// A key while waiting for the next attempt asks for it now, though not for every key of a fast typist.
    mutating func nudge() -> ChatEffects {
        guard status.nextRetryAt != nil || status.state == .suspended else { return [] }
        if let lastNudge, lastNudge.duration(to: now.instant) < .seconds(5) { return [] }
        lastNudge = now.instant
        return [.connection(.nudge)]
    }

    /// Whether what is written now waits for a connection.
    var isOffline: Bool { status.state != .connected }

    /// Whether it does so for longer than the first attempt takes.
    var isCutOff: Bool {
        switch status.state {
        case .initialized, .connected: false
        case .connecting: status.reason != nil
        case .reconnecting, .suspended, .disconnected: true
        }
    }
}
