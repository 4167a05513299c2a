/// A message with its place in the order of all messages.
struct OutboxEntry: Sendable {
    /// Where the message is.
    enum Stage: Hashable, Sendable {
        case waiting, underWay, ended
    }

    let number: UInt64
    var message: OutboxMessage {
        didSet { bytes = message.payload.count }
    }
    /// How large its payload is.
    private(set) var bytes: Int
    var stage = Stage.waiting
    /// Whether it is looked for each time before it is sent: what others have set a key to meanwhile is not
    /// overwritten.
    let isAlwaysSought: Bool
    /// Whether an earlier run may have sent it, and it was not looked for yet.
    var mayBeStored: Bool
    /// Whether it was sent and not answered, so that the server may have it whatever it says of a later attempt.
    var isInDoubt: Bool
    /// When it was first written to a connection; nil before.
    var firstSent: ContinuousClock.Instant?
    /// When it was written to a connection last.
    var lastSent: ContinuousClock.Instant?
    /// Since when it has been refused on this connection.
    var refusedSince: ContinuousClock.Instant?
    /// The newest sequence of its stream that was known then.
    var newestBefore: UInt64?

    init(number: UInt64, message: OutboxMessage) {
        (self.number, self.message) = (number, message)
        bytes = message.payload.count
        mayBeStored = message.mayBeStored
        isInDoubt = message.isInDoubt
        isAlwaysSought = message.isOnKey
    }

    /// Whether it was sent before it was sent last.
    var wasSentBefore: Bool { mayBeStored || refusedSince != nil || firstSent != lastSent }
}

/// The messages for one destination, in order: those that wait, and those under way. Each stays where it was put until
/// it has ended.
struct OutboxLane: Sendable {
    let destination: Destination
    /// In the order in which they came, including ended ones that lie between others.
    private var entries: [OutboxEntry] = []
    /// The place of the first of them, counted from the lane's beginning.
    private var base = 0
    /// The oldest that has not ended.
    private var first = 0
    /// The oldest that waits.
    private var next = 0
    private var waitingCount = 0
    private var underWayCount = 0
    private(set) var inFlightBytes = 0
    /// The place of the message that was refused and has not been stored since; nothing is sent past it.
    private var refused: Int?
    /// The place of the message that is being looked for instead of sent; nothing is sent past it.
    private var sought: Int?
    private var window = SendWindow()

    /// Takes the place of a message that has ended, so that its memory is free.
    private static let nothing = OutboxMessage(id: "", destination: .topic(""), payload: [])

    init(to destination: Destination) { self.destination = destination }

    var isEmpty: Bool { waitingCount == 0 && underWayCount == 0 }
    /// The oldest that waits.
    var head: OutboxEntry? { next < entries.count ? entries[next] : nil }
    var all: [OutboxEntry] { entries[first...].filter { $0.stage != .ended } }
    /// Those that have not ended and came last, from a number on.
    func all(from number: UInt64) -> [OutboxEntry] {
        entries[first...].reversed().prefix { $0.number >= number }.filter { $0.stage != .ended }
    }
    var idsUnderWay: [String] { entries[first...].lazy.filter { $0.stage == .underWay }.map(\.message.id) }
    /// How often in a row the lane was refused.
    var refusalCount: Int { window.refusals }

    func isQueued(_ place: Int) -> Bool { entries[place - base].stage == .waiting }
    func entry(underWay place: Int) -> OutboxEntry? {
        entries[place - base].stage == .underWay ? entries[place - base] : nil
    }

    /// When a lane that is held may go on; nil for one that is not.
    func resumption(after now: ContinuousClock.Instant) -> ContinuousClock.Instant? {
        guard let heldUntil = window.heldUntil, heldUntil > now, waitingCount > 0 else { return nil }
        return heldUntil
    }

    /// The number of the next entry, if the lane may send it.
    func readyNumber(limit: Int, at now: ContinuousClock.Instant) -> UInt64? {
        guard waitingCount > 0, sought == nil,
            window.admits(behind: underWayCount, limit: refused == nil ? limit : 1, at: now)
        else { return nil }
        return entries[next].number
    }

    // MARK: Coming and leaving

    /// The place that the next entry will have, and keep.
    var nextPlace: Int { base + entries.count }

    /// Puts an entry at the end.
    mutating func append(_ entry: OutboxEntry) {
        entries.append(entry)
        waitingCount += 1
    }

    /// Has the next entry leave, of which there is one.
    ///
    /// - Parameters:
    ///   - newestBefore: noted with an entry that is sent for the first time.
    ///   - duplicateWindow: how long the server is sure to know an identifier.
    /// - Returns: the message, and whether it is to be looked for: it was first sent longer ago than that, or sets a
    ///   key.
    mutating func send(
        at now: ContinuousClock.Instant, newestBefore: UInt64?, duplicateWindow: Duration
    ) -> (late: Delivery.LateMessage, isLate: Bool)? {
        guard waitingCount > 0 else { return nil }
        let index = next
        let isLate =
            entries[index].mayBeStored || entries[index].isAlwaysSought
            || (entries[index].firstSent.map { now - $0 >= duplicateWindow } ?? false)
        if isLate { sought = base + index }
        if entries[index].firstSent == nil {
            entries[index].firstSent = now
            // What an earlier run sent lies anywhere.
            entries[index].newestBefore = isLate ? nil : newestBefore
        }
        leave(index, at: now)
        return (
            Delivery.LateMessage(message: entries[index].message, newestBefore: entries[index].newestBefore), isLate
        )
    }

    /// Has the one entry that waits leave, where nothing holds it back and it has never been sent, by no earlier run
    /// either.
    ///
    /// - Returns: whether it left.
    mutating func sendNew(at now: ContinuousClock.Instant, newestBefore: UInt64?, limit: Int) -> Bool {
        guard readyNumber(limit: limit, at: now) != nil, entries[next].firstSent == nil, !entries[next].mayBeStored,
            !entries[next].isAlwaysSought
        else { return false }
        entries[next].firstSent = now
        entries[next].newestBefore = newestBefore
        leave(next, at: now)
        return true
    }

    private mutating func leave(_ index: Int, at now: ContinuousClock.Instant) {
        entries[index].lastSent = now
        entries[index].stage = .underWay
        if underWayCount == 0 { window.begins(at: now) }
        underWayCount += 1
        waitingCount -= 1
        inFlightBytes += entries[index].bytes
        findNext(from: index + 1)
    }

    /// Changes messages that wait.
    mutating func rewrite(_ change: (inout OutboxMessage) -> Void) {
        for index in first..<entries.count where entries[index].stage == .waiting { change(&entries[index].message) }
    }

    // MARK: What comes of it

    /// An entry under way counts as never sent: the server does not have it.
    mutating func forgetAttempts(of place: Int, at now: ContinuousClock.Instant, newestBefore: UInt64?) {
        let index = place - base
        guard entries[index].stage == .underWay else { return }
        entries[index].firstSent = now
        entries[index].lastSent = now
        entries[index].newestBefore = newestBefore
        entries[index].mayBeStored = false
        entries[index].isInDoubt = false
        if underWayCount == 1 { window.begins(at: now) }
        if sought == place { sought = nil }
    }

    /// The server stored a message, whose end this is.
    ///
    /// - Returns: as ``remove(_:)``.
    mutating func stored(_ place: Int, at now: ContinuousClock.Instant, limit: Int) -> Removed? {
        let index = place - base
        // An answer of an earlier connection says nothing about this one.
        if entries[index].stage == .underWay { window.answered(entries[index].lastSent, limit: limit, at: now) }
        return remove(place)
    }

    /// An entry was refused, or not answered: it waits again.
    mutating func putBack(_ place: Int, at now: ContinuousClock.Instant) {
        let index = place - base
        guard entries[index].stage == .underWay else { return }
        entries[index].refusedSince = entries[index].refusedSince ?? now
        wait(index)
        next = min(next, index)
        refused = min(place, refused ?? place)
        window.refused(at: now)
    }

    /// An entry under way may be stored, as the server did not say what became of it.
    mutating func doubt(_ place: Int) {
        let index = place - base
        // While it is looked for it is not sent.
        guard entries[index].stage == .underWay, sought != place else { return }
        entries[index].isInDoubt = true
    }

    /// Everything waits again after the connection was lost, which does not count as a refusal.
    mutating func putAllBack() {
        for index in first..<entries.count {
            entries[index].refusedSince = nil
            doubt(base + index)
            if entries[index].stage == .underWay { wait(index) }
        }
        findNext(from: first)
        refused = nil
        window.connectionLost()
    }

    /// An entry that has ended.
    struct Removed {
        let message: OutboxMessage
        /// Whether it was under way.
        let wasInFlight: Bool
        /// Whether an attempt before the last one may have stored it.
        let wasInDoubt: Bool
    }

    /// Ends an entry; nil where it has ended before.
    mutating func remove(_ place: Int) -> Removed? {
        let index = place - base
        let stage = entries[index].stage
        guard stage != .ended else { return nil }
        let isInDoubt = entries[index].isInDoubt
        if refused == place { refused = nil }
        if stage == .underWay { leaveWay(index) } else { waitingCount -= 1 }
        entries[index].stage = .ended
        var message = Self.nothing
        swap(&message, &entries[index].message)
        if index == next { findNext(from: index + 1) }
        if index == first { advance() }
        while entries.count > first, entries.last?.stage == .ended { entries.removeLast() }
        next = min(next, entries.count)
        return Removed(message: message, wasInFlight: stage == .underWay, wasInDoubt: isInDoubt)
    }

    // MARK: Steps

    private mutating func wait(_ index: Int) {
        leaveWay(index)
        entries[index].stage = .waiting
        waitingCount += 1
    }

    private mutating func leaveWay(_ index: Int) {
        underWayCount -= 1
        inFlightBytes -= entries[index].bytes
        if underWayCount == 0 { window.drained() }
        if sought == base + index { sought = nil }
    }

    private mutating func findNext(from index: Int) {
        next = index
        while next < entries.count, entries[next].stage != .waiting { next += 1 }
    }

    /// Passes what has ended at the front, and gives back its room once it is the larger half.
    private mutating func advance() {
        while first < entries.count, entries[first].stage == .ended { first += 1 }
        guard first == entries.count || (first > 64 && first * 2 > entries.count) else { return }
        entries.removeSubrange(..<first)
        base += first
        next -= first
        first = 0
    }
}
