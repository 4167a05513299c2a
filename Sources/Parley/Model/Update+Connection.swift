import Relay
import Terminal

extension ChatModel {
    func statusChanged(_ newStatus: ConnectionStatus) -> ChatEffects {
        let before = network.status
        network.status = newStatus
        network.log.record(newStatus, at: now)
        let isSameAttempt = before.isTrying && before.state == newStatus.state && before.attempt == newStatus.attempt
        if !newStatus.isTrying {
            network.times.attemptBegan = nil
        } else if !isSameAttempt {
            network.times.attemptBegan = now.instant
        }
        guard before.state != newStatus.state else { return [] }
        notices.withdraw(about: .connection)
        absenceFollows(newStatus)
        noteOutage(before, newStatus)
        if before.state == .connected { requeue() }
        switch newStatus.state {
        case .connected:
            // A filter that failed offline can be retried.
            if case .failed? = network.inbox.finding?.end { network.inbox.dropFinding() }
            return [.letters(.count)] + retryInbox()
        case .disconnected:
            if let reason = newStatus.reason, reason != .closedByUser {
                say("\(reason.words) /reconnect tries again.", .failure, about: .connection)
            }
            let effects = call(forEnd: newStatus.reason)
            // The time limit to connect ends the program, after asking about unsent messages, unless other networks are
            // open.
            return hasScreen && window.isAlone && connectionGivenUp != nil ? effects + quit(isGivenUp: true) : effects
        case .reconnecting:
            if let reason = newStatus.reason { sayMeanwhile(reason.words, about: .connection) }
        case .initialized, .connecting, .suspended:
            break
        }
        return []
    }

    /// Marks each conversation when the connection is lost, and adds the outage's length there once it is back.
    private func noteOutage(_ before: ConnectionStatus, _ status: ConnectionStatus) {
        network.times.recovery = nil
        switch status.state {
        case .reconnecting where before.state == .connected && status.reason != .replacementRequested:
            network.times.lostAt = now
            let resting = network.resting.topics
            network.conversations.updateAll { if !resting.contains($0.name) { $0.connectionLost() } }
        case .connected:
            guard let lostAt = network.times.lostAt else { break }
            let lasted = lostAt.instant.duration(to: now.instant)
            network.times.recovery = Recovery(lasted: lasted, until: now.instant + Recovery.time)
            network.conversations.updateAll { $0.connectionBack(Outage(began: lostAt.wall, lasted: lasted)) }
            network.times.lostAt = nil
        case .initialized, .connecting, .disconnected: network.times.lostAt = nil
        case .reconnecting, .suspended: break
        }
    }

    /// Marks lines in flight as queued again; the core keeps them.
    private func requeue() {
        for (id, handed) in network.outbox.messages where handed.isAccepted {
            guard case .line(let name) = handed.item else { continue }
            network.conversations.update(name) { _ = $0.setState(.queued, of: id) }
        }
    }

    /// Tells the core that the user has returned, so that it retries at once, or has left.
    func noteAttention(_ change: Bool?) -> ChatEffects {
        guard let change else { return [] }
        network.times.lastNudge = now.instant
        if change {
            attention.calls.forget()
            attention.lastSign = now.instant
            returnToTerminal()
        } else {
            leaveTerminal()
        }
        return [.connection(.setActive(change))]
    }

    /// Asks for the next connection attempt now, but at most every five seconds.
    func nudge() -> ChatEffects {
        guard network.status.nextRetryAt != nil || network.status.state == .suspended else { return [] }
        if let lastNudge = network.times.lastNudge, lastNudge.duration(to: now.instant) < .seconds(5) { return [] }
        network.times.lastNudge = now.instant
        return [.connection(.nudge)]
    }

    /// Whether new messages wait for a connection.
    var isOffline: Bool { network.status.state != .connected }

    /// Whether the client is offline beyond the first attempt to connect.
    var isCutOff: Bool {
        switch network.status.state {
        case .initialized, .connected: false
        case .connecting: network.status.reason != nil
        case .reconnecting, .suspended, .disconnected: true
        }
    }
}
