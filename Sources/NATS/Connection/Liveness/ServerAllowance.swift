/// How much a server may send besides messages before it counts as broken, as a pure value; times are nanoseconds of
/// any clock.
struct ServerAllowance {
    /// Bytes of INFO at once. A fast-changing cluster sends a few hundred lines of under 1 KiB.
    static let burst = 2 << 20
    /// Bytes of INFO that may arrive each second indefinitely.
    static let rate = 64 << 10
    /// The least that an INFO counts for: reading it costs more than its bytes.
    static let leastInfo = 1 << 10
    /// Refusals beyond those that sent requests explain.
    static let refusals = 1 << 10
    /// The shortest request that a server can refuse, in bytes: a subscription.
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
        guard left >= 0 else { throw .protocolViolation("it floods the connection with INFO") }
    }

    mutating func refused(afterSending bytes: Int) throws(NATSError) {
        refused += 1
        guard refused <= Self.refusals + bytes / Self.shortestRequest else {
            throw .protocolViolation("it refuses more than was requested")
        }
    }
}

/// The answers owed to the server's pings, as a pure value.
///
/// One write is in flight at a time: a server that pings without reading costs a counter instead of a buffer for each
/// ping.
struct PongDebt {
    /// No healthy server pings this often without reading an answer.
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

    /// How many answers to write now; 0 while others are in flight, or if none is owed.
    mutating func nextBatch() -> Int {
        guard onTheirWay == 0 else { return 0 }
        onTheirWay = min(waiting, Self.batch)
        waiting -= onTheirWay
        return onTheirWay
    }

    mutating func taken() { onTheirWay = 0 }
}
