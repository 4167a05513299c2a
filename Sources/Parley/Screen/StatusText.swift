import Relay
import Terminal

/// The connection's status, in parts from which the title line chooses as many as fit. Every frame compares it with the
/// last one's; its words are made only if it differs.
struct StatusText: Hashable {
    let kind: Kind
    private let state: ConnectionStatus.State
    private let progress: Progress
    private let why: ConnectionReason?

    /// What follows the state, besides the reason.
    private enum Progress: Hashable {
        case nothing
        /// How long the server has not answered.
        case silent(String)
        case answering(roundTrip: Duration?, failingTopics: Int, recovered: Duration?)
        /// The attempt and the time to the next one, longest form first, and how long a long outage has lasted.
        case trying([String], outage: String?)
    }

    enum Kind: Hashable {
        case connected, waiting, broken

        init(_ state: ConnectionStatus.State, isSilent: Bool) {
            switch state {
            case .connected: self = isSilent ? .waiting : .connected
            case .initialized, .connecting, .reconnecting, .suspended: self = .waiting
            case .disconnected: self = .broken
            }
        }
    }

    /// - Parameters:
    ///   - recovered: how long the outage lasted that has just ended; nil if there was none.
    ///   - attemptBegan: when the present attempt to connect began; nil if that is not known.
    init(
        _ status: ConnectionStatus, recovered: Duration? = nil, attemptBegan: ContinuousClock.Instant? = nil,
        now: ContinuousClock.Instant
    ) {
        kind = Kind(status.state, isSilent: status.silentSince != nil)
        state = status.state
        progress =
            switch status.state {
            case .initialized, .suspended, .disconnected: .nothing
            case .connected:
                if let words = Self.silence(status, now: now) {
                    .silent(words)
                } else {
                    .answering(
                        roundTrip: status.roundTripTime, failingTopics: status.failingSubscriptions.count,
                        recovered: recovered)
                }
            case .connecting, .reconnecting:
                .trying(Self.attempts(status, attemptBegan, now: now), outage: Self.longOutage(status, now: now))
            }
        why = status.state == .connected ? nil : status.reason
    }

    /// The symbol and the word, which are always shown.
    var title: String { "\(state.symbol) \(state.word)" }

    /// The figures after it, longest form first: the round trip, or the attempt and the time to the next one.
    var figures: [String] {
        switch progress {
        case .nothing: return []
        case .silent(let words): return [" · \(words)", " · no answer"]
        case .answering(let roundTrip, let failing, let recovered):
            let without = failing > 0 ? " · without \(Wording.count(failing, "topic"))" : ""
            let notes = without + (recovered.map { " · back after \(Wording.length($0))" } ?? "")
            let timed = roundTrip.map { " \(Wording.latency($0))\(notes)" }
            return [timed, notes.isEmpty ? nil : notes].compactMap(\.self)
        case .trying(let figures, _): return figures
        }
    }

    /// How long a long outage has lasted, longest form first.
    var outage: [String] {
        guard case .trying(_, let words?) = progress else { return [] }
        return [" · \(words)", " · long outage"]
    }

    var reason: ReasonText? { why.map { ReasonText($0) } }

    /// How long a long outage has lasted; nil for any other status.
    static func longOutage(_ status: ConnectionStatus, now: ContinuousClock.Instant) -> String? {
        guard status.isLongOutage, let began = status.outageBegan else { return nil }
        return "offline for \(Wording.elapsed(began.duration(to: now)))"
    }

    /// How long the server has not answered; nil while it does.
    static func silence(_ status: ConnectionStatus, now: ContinuousClock.Instant) -> String? {
        status.silentSince.map { "no answer for \(Wording.elapsed($0.duration(to: now)))" }
    }

    static func trying(since began: ContinuousClock.Instant?, now: ContinuousClock.Instant) -> String? {
        guard let began, began.duration(to: now) >= .seconds(1) else { return nil }
        return Wording.elapsed(began.duration(to: now))
    }

    private static func attempts(
        _ status: ConnectionStatus, _ began: ContinuousClock.Instant?, now: ContinuousClock.Instant
    ) -> [String] {
        let isFirst = status.state == .connecting && status.attempt <= 1
        let attempt = isFirst || status.attempt == 0 ? "" : " attempt \(status.attempt)"
        if let retry = status.nextRetryAt, retry > now {
            let wait = Wording.wait(now.duration(to: retry))
            return ["\(attempt) · in \(wait)", " \(wait)"]
        }
        let elapsed = trying(since: began, now: now)
        // The word CONNECTING already says what the time is for.
        if status.state == .connecting {
            return elapsed.map { ["\(attempt) · for \($0)", " · for \($0)"] } ?? [attempt]
        }
        // Without a network nothing is tried.
        if status.reason == .networkUnavailable { return [attempt] }
        let words = elapsed.map { "connecting \($0)" } ?? "connecting"
        return ["\(attempt) · \(words)", " · \(words)"]
    }
}

/// The reason for a connection's state, in as many words as there is room for.
struct ReasonText: Hashable {
    /// A sentence or two, with what can be done.
    private let sentence: SafeText
    private let short: SafeText
    private let detail: SafeText?

    /// With fewer columns nothing can be read.
    static let least = 8
    /// The most characters that are read; it is remote text.
    private static let limit = 512

    init(_ reason: ConnectionReason) {
        sentence = SafeText(String(reason.words.prefix(Self.limit)))
        short = SafeText(String(reason.shortWords.prefix(Self.limit)))
        detail = reason.detail.map { SafeText(String($0.prefix(Self.limit))) }
    }

    /// The short form, in at most `columns`; nil if these are too few for anything.
    func brief(columns: Int) -> SafeText? {
        columns >= min(Self.least, short.width) ? short.shortened(columns: columns) : nil
    }

    /// As much as fits into `columns`. The detail is cut in its middle, as its end often names the place.
    func fitting(columns: Int) -> SafeText? {
        if sentence.width <= columns { return sentence }
        guard let detail else { return brief(columns: columns) }
        let begin = short + SafeText(": ")
        let room = columns - begin.width
        return room >= min(Self.least, detail.width)
            ? begin + detail.shortened(columns: room) : brief(columns: columns)
    }
}
