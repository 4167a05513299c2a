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
    }

    init(_ status: ConnectionStatus, now: ContinuousClock.Instant) {
        switch status.state {
        case .initialized:
            forms = ["◌ NOT CONNECTED"]
            abbreviation = "◌ OFFLINE"
            kind = .waiting
        case .connecting:
            forms = Self.attempts("◌ CONNECTING", status, now: now, showsFirst: false)
            abbreviation = "◌"
            kind = .waiting
        case .connected:
            let time = status.roundTripTime.map { " " + Wording.latency($0) } ?? ""
            forms = ["● CONNECTED\(time)", "● CONNECTED"]
            abbreviation = "● ON"
            kind = .connected
        case .reconnecting:
            forms = Self.attempts("↻ RECONNECTING", status, now: now, showsFirst: true)
            abbreviation = "↻"
            kind = .waiting
        case .suspended:
            forms = ["⏸ SUSPENDED"]
            abbreviation = "⏸"
            kind = .waiting
        case .disconnected:
            let reason = status.reason.map { " · \(Self.short($0))" } ?? ""
            forms = ["✕ DISCONNECTED\(reason)", "✕ DISCONNECTED"]
            abbreviation = "✕ OFF"
            kind = .broken
        }
    }

    private static func attempts(
        _ word: String, _ status: ConnectionStatus, now: ContinuousClock.Instant, showsFirst: Bool
    ) -> [String] {
        var forms: [String] = []
        let attempt = status.attempt > 1 || showsFirst && status.attempt > 0 ? " attempt \(status.attempt)" : ""
        let wait = status.nextRetryAt.flatMap { $0 > now ? Wording.wait(now.duration(to: $0)) : nil }
        let next = wait.map { " · in \($0)" } ?? (showsFirst ? " · now" : "")
        if status.isLongOutage, let began = status.outageBegan {
            forms.append("\(word)\(attempt)\(next) · offline for \(Wording.wait(began.duration(to: now)))")
            forms.append("\(word)\(next) · long outage")
        }
        forms.append("\(word)\(attempt)\(next)")
        if let wait { forms.append("\(word) \(wait)") }
        forms.append(word)
        return forms
    }

    /// A few words for the title line; the whole sentence stands on the bottom line and in the log.
    private static func short(_ reason: ConnectionReason) -> String {
        switch reason {
        case .closedByUser: "closed here"
        case .networkUnavailable: "no network"
        case .connectionLost: "connection lost"
        case .unreachable: "server unreachable"
        case .timeLimit, .windowExpired: "out of time"
        case .backgrounded: "in the background"
        case .invalidCredentials: "invalid credentials"
        case .authenticationFailed: "refused"
        case .tokenExpired: "credentials expired"
        case .kicked(let by): by.map { "by \($0)" } ?? "by the administrator"
        case .kickedByOtherDevice(let device): "signed in on \(device ?? "another device")"
        case .banned: "banned"
        case .appBlocked: "application blocked"
        case .deactivated: "account deactivated"
        case .proxyUnavailable: "proxy"
        case .tlsFailure: "no secure connection"
        case .store: "local store"
        case .unknown(let code): "code \(code)"
        }
    }
}
