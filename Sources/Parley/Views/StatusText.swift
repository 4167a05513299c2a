import Relay
import Terminal

/// The connection's status in symbol and word, longest form first: a narrow screen takes the first that fits.
struct StatusText: Hashable {
    let forms: [String]
    /// For a screen that even the shortest form is too wide for.
    let abbreviation: String
    let kind: Kind

    /// How a status is coloured.
    enum Kind: Hashable {
        case connected
        case waiting
        case broken

        init(_ state: ConnectionStatus.State) {
            switch state {
            case .connected: self = .connected
            case .initialized, .connecting, .reconnecting, .suspended: self = .waiting
            case .disconnected: self = .broken
            }
        }
    }

    init(_ status: ConnectionStatus, now: ContinuousClock.Instant) {
        kind = Kind(status.state)
        let title = "\(status.state.symbol) \(status.state.word)"
        switch status.state {
        case .initialized:
            forms = [title]
            abbreviation = "\(status.state.symbol) OFF"
        case .connected:
            let failing = status.failingTopics.count
            let without = failing > 0 ? " · without \(Wording.count(failing, "topic"))" : ""
            let timed = status.roundTripTime.map { "\(title) \(Wording.latency($0))\(without)" }
            forms = [timed, failing > 0 ? title + without : nil, title].compactMap(\.self)
            abbreviation = "\(status.state.symbol) ON"
        case .connecting:
            forms = Self.attempts(title, status, now: now, showsFirst: false)
            abbreviation = status.state.symbol
        case .reconnecting:
            forms = Self.attempts(title, status, now: now, showsFirst: true)
            abbreviation = status.state.symbol
        case .suspended:
            forms = Self.explained(title, status.reason)
            abbreviation = status.state.symbol
        case .disconnected:
            forms = Self.explained(title, status.reason)
            abbreviation = "\(status.state.symbol) OFF"
        }
    }

    /// The title with the reason in a sentence, in a few words, and without.
    private static func explained(_ title: String, _ reason: ConnectionReason?) -> [String] {
        guard let reason else { return [title] }
        return ["\(title) · \(reason.words)", "\(title) · \(reason.shortWords)", title]
    }

    /// How long an outage has lasted that is a long one; nil for any other status.
    static func longOutage(_ status: ConnectionStatus, now: ContinuousClock.Instant) -> String? {
        guard status.isLongOutage, let began = status.outageBegan else { return nil }
        return "offline for \(Wording.elapsed(began.duration(to: now)))"
    }

    private static func attempts(
        _ title: String, _ status: ConnectionStatus, now: ContinuousClock.Instant, showsFirst: Bool
    ) -> [String] {
        let attempt = status.attempt > 1 || showsFirst && status.attempt > 0 ? " attempt \(status.attempt)" : ""
        let wait = status.nextRetryAt.flatMap { $0 > now ? Wording.wait(now.duration(to: $0)) : nil }
        // Without a network nothing is tried, so nothing is under way.
        let isPaused = status.reason == .networkUnavailable
        let next = wait.map { " · in \($0)" } ?? (showsFirst && !isPaused ? " · now" : "")
        let whole = title + attempt + next
        var forms: [String] = []
        if let outage = longOutage(status, now: now) {
            forms += explained("\(whole) · \(outage)", status.reason)
            forms.append("\(title)\(next) · long outage")
        } else {
            forms += explained(whole, status.reason)
        }
        forms.append(whole)
        if isPaused { forms.append("\(title) · \(ConnectionReason.networkUnavailable.shortWords)") }
        if let wait { forms.append("\(title) \(wait)") }
        forms.append(title)
        return forms
    }
}
