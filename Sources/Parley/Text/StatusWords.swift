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

    /// The state as the title line names it.
    var word: String { self == .initialized ? "NOT CONNECTED" : rawValue.uppercased() }
}

extension ConnectionStatus {
    /// Whether an attempt to connect is under way. Without a network nothing is tried.
    var isTrying: Bool {
        (state == .connecting || state == .reconnecting) && attempt > 0 && nextRetryAt == nil
            && reason != .networkUnavailable
    }

    /// Whether nothing is known yet of the first attempt to connect.
    var isBeginning: Bool {
        state == .initialized || state == .connecting && attempt <= 1 && reason == nil
    }

    /// Whether this is news to a person after `earlier`: a state, a reason, an attempt, a wait or a silence. A round
    /// trip measured anew is not.
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

    /// What the server or the system said, where it said something: remote text.
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
    /// Whether the reason has just been given for the same state, and nothing new speaks for it.
    let repeatsReason: Bool
    let attempt: Int
    /// How long it was until the next attempt, when this was said.
    var wait: Duration?
    var roundTrip: Duration?
    let isLongOutage: Bool
    /// How long the server had not answered when this was said; nil where it answers.
    let silence: Duration?
    /// How long the silence lasted that is over now.
    let endedSilence: Duration?
    /// What is subscribed to and not live.
    let failing: String?
    /// How often a reader was too slow, where that is new.
    let slowReaders: Int
    /// The state before this one and how long it lasted; nil where the state is the same.
    let before: Span?

    struct Span: Hashable, Sendable {
        let state: ConnectionStatus.State
        let lasted: Duration
    }

    /// - Parameter since: when the earlier one's state began.
    init(
        _ status: ConnectionStatus, after earlier: ConnectionStatus?, since: ContinuousClock.Instant?,
        now: ContinuousClock.Instant
    ) {
        state = status.state
        reason = status.reason
        attempt = status.attempt
        wait = status.nextRetryAt.map { max(.zero, now.duration(to: $0)) }
        roundTrip = status.roundTripTime
        isLongOutage = status.isLongOutage
        silence = status.silentSince.map { $0.duration(to: now) }
        let isOver = status.state == .connected && status.silentSince == nil
        endedSilence = isOver ? earlier?.silentSince.map { $0.duration(to: now) } : nil
        failing = status.failingNames
        slowReaders = status.slowReaders == earlier?.slowReaders ? 0 : status.slowReaders
        let isSameState = earlier?.state == status.state
        // An attempt that begins has no reason of its own yet: it still carries the last failure's.
        repeatsReason = isSameState && earlier?.reason == status.reason && status.nextRetryAt == nil
        // The wait for the first call to connect is of no interest.
        if let earlier, let since, !isSameState, earlier.state != .initialized {
            before = Span(state: earlier.state, lasted: since.duration(to: now))
        } else {
            before = nil
        }
    }

    var details: [String] {
        var parts: [String] = []
        if let roundTrip { parts.append(Wording.latency(roundTrip)) }
        if attempt > 0 { parts.append("attempt \(attempt)") }
        if let wait { parts.append("next try in \(Wording.length(wait))") }
        if isLongOutage { parts.append("long outage") }
        if let silence { parts.append("no answer for \(Wording.length(silence))") }
        if let endedSilence { parts.append("answering again after \(Wording.length(endedSilence))") }
        if let failing { parts.append("without \(failing)") }
        if slowReaders > 0 { parts.append("too slow for what comes, \(Wording.count(slowReaders, "time"))") }
        if let before {
            parts.append("after \(Wording.length(before.lasted)) \(before.state.word.lowercased())")
        }
        if let reason, !repeatsReason { parts.append(reason.words) }
        return parts
    }
}
