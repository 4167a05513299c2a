/// The answers that the server's pings have asked for and its socket has not taken yet, as a value.
///
/// One write is on its way at a time: a server that pings and reads nothing costs a count, and not a buffer for each.
struct PongDebt {
    /// No server pings so often without taking an answer.
    static let limit = 1 << 16
    /// Answers in one write.
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
