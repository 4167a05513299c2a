import DequeModule

/// A message that has not ended, with its number in the overall order.
struct OutboxEntry: Sendable {
    let number: UInt64
    var message: OutboxMessage
    /// Whether an earlier run may have sent it, and it was not looked for yet.
    var mayBeStored: Bool
    /// Whether an attempt was not answered, so that the server may have it whatever it says about a later one.
    var isInDoubt: Bool
    /// When it was first written to a connection, by ``time(at:)``; nil before.
    var firstSent: Duration?
    /// When it was last written to a connection.
    var lastSent: Duration?
    /// Since when it has been refused on this connection.
    var refusedSince: Duration?
    /// The newest known sequence of its stream when it was first sent.
    var newestBefore: UInt64?

    init(number: UInt64, message: OutboxMessage) {
        (self.number, self.message) = (number, message)
        (mayBeStored, isInDoubt) = (message.mayBeStored, message.isInDoubt)
    }

    /// The origin of all entries' times.
    static let origin = ContinuousClock.now

    /// A moment relative to ``origin``: an instant itself is costly to copy, and entries move from queue to queue.
    static func time(at moment: ContinuousClock.Instant) -> Duration { moment - origin }

    /// Whether it was sent before its last attempt.
    var wasSentBefore: Bool { mayBeStored || refusedSince != nil || firstSent != lastSent }
}

extension Deque<OutboxEntry> {
    /// The index of the first entry from a number on, which is mostly at one of the ends.
    func place(from number: UInt64) -> Int {
        guard let first, first.number < number else { return 0 }
        guard let last, last.number >= number else { return count }
        var (low, high) = (1, count - 1)
        while low < high {
            let middle = (low + high) / 2
            if self[middle].number < number { low = middle + 1 } else { high = middle }
        }
        return low
    }

    func place(of number: UInt64) -> Int? {
        let place = place(from: number)
        return place < count && self[place].number == number ? place : nil
    }
}

/// The messages for one destination: those that wait and those in flight, each in order.
struct OutboxLane: Sendable {
    let destination: Destination
    private(set) var waiting: Deque<OutboxEntry> = []
    private(set) var underWay: Deque<OutboxEntry> = []
    /// The message that was refused and has not been stored since; nothing is sent past it.
    private var refused: UInt64?
    /// The message that is being looked up instead of sent; nothing is sent past it.
    private var sought: UInt64?
    private var window = SendWindow()

    init(to destination: Destination) { self.destination = destination }

    var isEmpty: Bool { waiting.isEmpty && underWay.isEmpty }
    var refusalCount: Int { window.refusals }

    func entry(underWay number: UInt64) -> OutboxEntry? { underWay.place(of: number).map { underWay[$0] } }

    /// When a lane on hold may continue; nil if it is not on hold.
    func resumption(after now: ContinuousClock.Instant) -> ContinuousClock.Instant? {
        guard let heldUntil = window.heldUntil, heldUntil > now, !waiting.isEmpty else { return nil }
        return heldUntil
    }

    /// The number of the next entry, if the lane may send it.
    func readyNumber(limit: Int, at now: ContinuousClock.Instant) -> UInt64? {
        guard let next = waiting.first?.number, sought == nil,
            window.admits(behind: underWay.count, limit: refused == nil ? limit : 1, at: now)
        else { return nil }
        return next
    }

    // MARK: Coming and leaving

    mutating func append(_ entry: OutboxEntry) { waiting.append(entry) }

    /// Sends the next entry.
    ///
    /// - Parameters:
    ///   - newestBefore: Stored with an entry that is sent for the first time.
    ///   - duplicateWindow: How long the server is sure to know an identifier.
    /// - Returns: The message, and whether to look it up: it was first sent longer ago than that, perhaps by an earlier
    ///   run, or it sets a key, so that newer values of others are not overwritten.
    mutating func send(
        at now: ContinuousClock.Instant, newestBefore: UInt64?, duplicateWindow: Duration
    ) -> (late: Delivery.LateMessage, isLate: Bool)? {
        guard var entry = waiting.popFirst() else { return nil }
        let time = OutboxEntry.time(at: now)
        let isLate =
            entry.mayBeStored || entry.message.isOnKey || entry.firstSent.map { time - $0 >= duplicateWindow } ?? false
        if isLate { sought = entry.number }
        if entry.firstSent == nil {
            entry.firstSent = time
            // A message of an earlier run may be anywhere in the stream.
            entry.newestBefore = isLate ? nil : newestBefore
        }
        entry.lastSent = time
        if underWay.isEmpty { window.begins(at: now) }
        underWay.insert(entry, at: underWay.place(from: entry.number))
        return (Delivery.LateMessage(message: entry.message, newestBefore: entry.newestBefore), isLate)
    }

    mutating func rewrite(_ change: (inout OutboxMessage) -> Void) {
        for index in waiting.indices { change(&waiting[index].message) }
    }

    // MARK: What comes of it

    /// An entry in flight counts as never sent: the server does not have it.
    mutating func forgetAttempts(of number: UInt64, at now: ContinuousClock.Instant, newestBefore: UInt64?) {
        guard let place = underWay.place(of: number) else { return }
        var entry = underWay[place]
        let time = OutboxEntry.time(at: now)
        (entry.firstSent, entry.lastSent, entry.newestBefore) = (time, time, newestBefore)
        (entry.mayBeStored, entry.isInDoubt) = (false, false)
        underWay[place] = entry
        if underWay.count == 1 { window.begins(at: now) }
        if sought == number { sought = nil }
    }

    /// The server stored a message, which ends it.
    mutating func stored(_ number: UInt64, at now: ContinuousClock.Instant, limit: Int) -> Removed? {
        // An answer of an earlier connection proves nothing about this one.
        if let place = underWay.place(of: number) {
            window.answered(underWay[place].lastSent.map { OutboxEntry.origin + $0 }, limit: limit, at: now)
        }
        return remove(number)
    }

    /// An entry was refused or not answered: it waits again.
    mutating func putBack(_ number: UInt64, at now: ContinuousClock.Instant) {
        guard var entry = leaveWay(number) else { return }
        entry.refusedSince = entry.refusedSince ?? OutboxEntry.time(at: now)
        waiting.insert(entry, at: waiting.place(from: number))
        refused = min(number, refused ?? number)
        window.refused(at: now)
    }

    /// An entry in flight may be stored, as the server did not report its outcome.
    mutating func doubt(_ number: UInt64) {
        // A message that is being looked up was not sent.
        if sought != number, let place = underWay.place(of: number) { underWay[place].isInDoubt = true }
    }

    /// Everything waits again after the connection was lost, which does not count as a refusal.
    ///
    /// - Returns: The messages that were in flight.
    mutating func putAllBack() -> [String] {
        let returned = underWay.map(\.message.id)
        while var entry = underWay.popLast() {
            if entry.number != sought { entry.isInDoubt = true }
            waiting.insert(entry, at: waiting.place(from: entry.number))
        }
        for index in waiting.indices { waiting[index].refusedSince = nil }
        (refused, sought) = (nil, nil)
        window.drained()
        window.connectionLost()
        return returned
    }

    typealias Removed = (entry: OutboxEntry, wasUnderWay: Bool)

    mutating func remove(_ number: UInt64) -> Removed? {
        if refused == number { refused = nil }
        if let entry = leaveWay(number) { return (entry, true) }
        return waiting.place(of: number).map { (waiting.remove(at: $0), false) }
    }

    private mutating func leaveWay(_ number: UInt64) -> OutboxEntry? {
        guard let place = underWay.place(of: number) else { return nil }
        let entry = underWay.remove(at: place)
        if underWay.isEmpty { window.drained() }
        if sought == number { sought = nil }
        return entry
    }
}
