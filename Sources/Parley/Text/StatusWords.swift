import Relay

extension ConnectionStatus.State {
    /// A symbol for each state, so that colour is not needed to distinguish them.
    var symbol: String {
        switch self {
        case .initialized: "○"
        case .connecting: "◌"
        case .connected: "●"
        case .reconnecting: "↻"
        case .suspended: "║"
        case .disconnected: "✕"
        }
    }

    /// The state's name in the title line.
    var word: String { self == .initialized ? "NOT CONNECTED" : rawValue.uppercased() }
}

extension ConnectionStatus {
    /// Whether an attempt to connect is in progress. Without a network nothing is tried.
    var isTrying: Bool {
        (state == .connecting || state == .reconnecting) && attempt > 0 && nextRetryAt == nil
            && reason != .networkUnavailable
    }

    /// Whether nothing is known yet of the first attempt to connect.
    var isBeginning: Bool {
        state == .initialized || state == .connecting && attempt <= 1 && reason == nil
    }

    /// Whether this is news to a person after `earlier`: a state, a reason, an attempt, a wait or a silence. A newly
    /// measured round trip is not.
    func isNews(after earlier: ConnectionStatus?) -> Bool {
        guard let earlier else { return true }
        return state != earlier.state || reason != earlier.reason || attempt != earlier.attempt
            || nextRetryAt != earlier.nextRetryAt || isLongOutage != earlier.isLongOutage
            || (silentSince == nil) != (earlier.silentSince == nil)
            || failingSubscriptions != earlier.failingSubscriptions
            || slowReaders > earlier.slowReaders
    }
}

extension ConnectionReason {
    /// A short form for places without room for a sentence.
    var shortWords: String {
        switch self {
        case .closedByUser: "closed here"
        case .networkUnavailable: "no network"
        case .connectionLost: "connection lost"
        case .permissionsChanged: "permissions changed"
        case .unreachable: "server unreachable"
        case .timeLimit, .windowExpired: "out of time"
        case .backgrounded: "in the background"
        case .invalidCredentials: "invalid credentials"
        case .authenticationFailed: "refused"
        case .tokenExpired: "credentials expired"
        case .credentialsRevoked: "credentials revoked"
        case .accessExpired: "access ended"
        case .kicked(let by, _): by.map { "by \($0)" } ?? "by the administrator"
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

    /// The explanation of the server or the system, if there is one: remote text.
    var detail: String? {
        let detail: String? =
            switch self {
            case .connectionLost(let words), .unreachable(let words), .invalidCredentials(let words),
                .authenticationFailed(let words), .proxyUnavailable(let words), .tlsFailure(let words),
                .store(let words):
                words
            case .accessExpired(let words), .banned(let words), .appBlocked(let words), .deactivated(let words),
                .permissionsChanged(let words), .credentialsRevoked(let words), .kicked(_, let words):
                words
            case .closedByUser, .networkUnavailable, .timeLimit, .windowExpired, .backgrounded, .tokenExpired,
                .kickedByOtherDevice, .unknown:
                nil
            }
        return detail?.isEmpty == true ? nil : detail
    }
}

/// One change of a connection's status, in the parts that a line about it shows.
struct StatusChange: Hashable, Sendable {
    let state: ConnectionStatus.State
    let reason: ConnectionReason?
    /// Whether the same reason was just given for the same state, and nothing new supports it.
    let repeatsReason: Bool
    /// Whether another state ended.
    let endsState: Bool
    /// How long it was until the next attempt at the time of the change.
    var wait: Duration?
    var roundTrip: Duration?
    /// How long the server had not answered by then; nil if it answers.
    let silence: Duration?
    private let attempt: Int
    /// What the line says after these figures.
    private let notes: [String]

    /// - Parameter since: when the earlier state began.
    init(
        _ status: ConnectionStatus, after earlier: ConnectionStatus?, since: ContinuousClock.Instant?,
        now: ContinuousClock.Instant
    ) {
        state = status.state
        reason = status.reason
        attempt = status.attempt
        wait = status.nextRetryAt.map { max(.zero, now.duration(to: $0)) }
        roundTrip = status.roundTripTime
        silence = status.silentSince.map { $0.duration(to: now) }
        let isSameState = earlier?.state == status.state
        // An attempt that begins has no reason of its own: it still carries the last failure's.
        repeatsReason = isSameState && earlier?.reason == status.reason && status.nextRetryAt == nil
        var notes: [String] = []
        if status.isLongOutage { notes.append("long outage") }
        if let silence { notes.append("no answer for \(Wording.length(silence))") }
        if state == .connected, silence == nil, let silent = earlier?.silentSince {
            notes.append("answering again after \(Wording.length(silent.duration(to: now)))")
        }
        if let failing = status.failingNames { notes.append("without \(failing)") }
        if status.slowReaders > 0, status.slowReaders != earlier?.slowReaders {
            notes.append("too slow for what comes, \(Wording.count(status.slowReaders, "time"))")
        }
        // The wait for the first call to connect does not matter.
        if let earlier, let since, !isSameState, earlier.state != .initialized {
            endsState = true
            notes.append("after \(Wording.length(since.duration(to: now))) \(earlier.state.word.lowercased())")
        } else {
            endsState = false
        }
        if let reason, !repeatsReason { notes.append(reason.words) }
        self.notes = notes
    }

    var details: [String] {
        let latency = roundTrip.map { Wording.latency($0) }
        let next = wait.map { "next try in \(Wording.length($0))" }
        return [latency, attempt > 0 ? "attempt \(attempt)" : nil, next].compactMap(\.self) + notes
    }
}
