/// Checks whether the peer is alive, as a pure value; times are nanoseconds of any clock.
///
/// A PING is sent once per interval. Any byte that arrives within the limit shows that the peer is there. If the PING
/// is queued after many bytes that the peer has not read yet, the machine waits for as long as the queue shrinks: the
/// peer is slow, not gone. Once the peer has read the PING, the limit runs.
struct LivenessMachine {
    enum Action: Equatable {
        /// Ask again at this moment.
        case wait(until: Int64)
        /// Send PING, and ask again at this moment.
        case ping(until: Int64)
        /// The peer is gone.
        case stale
    }

    struct Outbound: Equatable {
        /// Grows whenever the peer's system accepts bytes; only changes matter.
        var acknowledged = 0
        /// Bytes that the peer's system has accepted since the connection began.
        var taken = 0
        var waiting = 0
    }

    private struct Probe: Equatable {
        var hasHeard = false
        /// Whether an answer may be unread because this side was late: the limit then runs once more.
        var isExcused = false
        let limit: Int64
        /// How many bytes the peer must have read to have read the PING; nil once it has, as far as this side knows.
        var target: Int?
        var acknowledged: Int
    }

    /// A healthy link transfers this much at once; more may take longer than the limit.
    private static let shortQueue = 64 << 10
    /// This much does not delay a PING at all.
    static let emptyQueue = 4 << 10

    private let interval: Int64
    private let limit: Int64
    private var probe: Probe?
    private(set) var nextPing: Int64
    private var isPingOutstanding = false
    /// The longest wait for the answer to the next PING, if that PING was requested.
    private var hastenedLimit: Int64?
    /// When the machine asked to be called next.
    private var due: Int64

    /// Both in nanoseconds; the first PING goes out one interval after `now`.
    init(interval: Int64, limit: Int64, now: Int64) {
        self.interval = max(1, interval)
        self.limit = max(1, limit)
        nextPing = Self.sum(now, self.interval)
        due = nextPing
    }

    mutating func heard() { probe?.hasHeard = true }

    mutating func answered() { isPingOutstanding = false }

    /// The PING could not be sent, so no answer is due.
    mutating func pingFailed() {
        isPingOutstanding = false
        probe = nil
    }

    /// Brings the next PING forward to now unless an answer is awaited already; returns whether it did. The limit,
    /// which can only shorten the usual one, applies if nothing is queued ahead of the PING.
    mutating func hasten(now: Int64, limit: Int64) -> Bool {
        if let probe, !probe.hasHeard { return false }
        probe = nil
        hastenedLimit = limit
        nextPing = now
        return true
    }

    mutating func momentCame(now: Int64, outbound: Outbound) -> Action {
        // A process that was stopped or starved has not read either.
        if now > Self.sum(due, limit) { probe?.isExcused = true }
        let action = nextAction(now: now, outbound: outbound)
        switch action {
        case .wait(let moment), .ping(let moment): due = moment
        case .stale: break
        }
        return action
    }

    private mutating func nextAction(now: Int64, outbound: Outbound) -> Action {
        if var excused = probe, excused.isExcused, !excused.hasHeard {
            excused.isExcused = false
            probe = excused
            return .wait(until: Self.sum(now, excused.limit))
        }
        if var current = probe, !current.hasHeard {
            guard let target = current.target, outbound.acknowledged > current.acknowledged else { return .stale }
            if outbound.taken >= target { current.target = nil }
            current.acknowledged = outbound.acknowledged
            probe = current
            return .wait(until: Self.sum(now, current.limit))
        }
        probe = nil
        guard now >= nextPing else { return .wait(until: nextPing) }
        nextPing = Self.sum(now, interval)
        defer { hastenedLimit = nil }
        let isBehindMany = outbound.waiting > Self.shortQueue
        let isBehindNothing = outbound.waiting <= Self.emptyQueue
        let limit = min(limit, isBehindNothing ? hastenedLimit ?? limit : limit)
        probe = Probe(
            limit: max(1, limit), target: isBehindMany ? outbound.taken + outbound.waiting : nil,
            acknowledged: outbound.acknowledged)
        let until = Self.sum(now, limit)
        // A peer that sends but does not answer still owes the last PONG; another PING would only pile up.
        guard !isPingOutstanding else { return .wait(until: until) }
        isPingOutstanding = true
        return .ping(until: until)
    }

    private static func sum(_ left: Int64, _ right: Int64) -> Int64 {
        let (sum, overflow) = left.addingReportingOverflow(right)
        return overflow ? .max : sum
    }
}
