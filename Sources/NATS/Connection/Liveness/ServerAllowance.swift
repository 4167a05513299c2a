/// How much a server may say in addition to messages before it counts as broken, as a value; times are nanoseconds of
/// any clock.
struct ServerAllowance {
    /// Bytes of INFO at once. A cluster that changes fast sends some hundred lines of under 1 KiB.
    static let burst = 2 << 20
    /// Bytes of INFO that may come each second for ever.
    static let rate = 64 << 10
    /// What the shortest INFO counts as: reading it costs more than its bytes.
    static let leastInfo = 1 << 10
    /// Refusals that nothing sent explains.
    static let refusals = 1 << 10
    /// The shortest thing that a server can refuse, in bytes: a subscription.
    static let shortestRequest = 8

    private var left = burst
    private var last: Int64
    private var refused = 0

    init(now: Int64) { last = now }

    mutating func informed(bytes: Int, now: Int64) throws(NATSError) {
        let regained = (max(0, now - last) / 1_000).multipliedReportingOverflow(by: Int64(Self.rate))
        left = min(
            Self.burst, left + (regained.overflow ? Self.burst : Int(clamping: regained.partialValue / 1_000_000)))
        last = now
        left -= max(bytes, Self.leastInfo)
        guard left >= 0 else { throw .protocolViolation("it sends INFO without end") }
    }

    mutating func refused(afterSending bytes: Int) throws(NATSError) {
        refused += 1
        guard refused <= Self.refusals + bytes / Self.shortestRequest else {
            throw .protocolViolation("it refuses more than it was asked for")
        }
    }
}

/// The answers that the server's pings have asked for and its socket has not taken yet, as a value.
///
/// One write is on its way at a time: a server that pings and reads nothing costs a count, and not a buffer for each.
struct PongDebt {
    /// No server pings so often without taking an answer.
    static let limit = 1 << 16
    static let batch = 1 << 10

    private var waiting = 0
    private var onTheirWay = 0

    mutating func pinged() throws(NATSError) {
        waiting += 1
        guard waiting + onTheirWay <= Self.limit else {
            throw .protocolViolation("it pings and does not take the answers")
        }
    }

    /// How many answers to write now; 0 while others are on their way, or none is owed.
    mutating func nextBatch() -> Int {
        guard onTheirWay == 0 else { return 0 }
        onTheirWay = min(waiting, Self.batch)
        waiting -= onTheirWay
        return onTheirWay
    }

    mutating func taken() { onTheirWay = 0 }
}
