/// A message with its place in the order of all messages.
struct OutboxEntry: Sendable {
    let number: UInt64
    var message: OutboxMessage

    init(number: UInt64, message: OutboxMessage) {
        (self.number, self.message) = (number, message)
        mayBeStored = message.mayBeStored
    }

    /// Whether an earlier run may have sent it, and it was not looked for yet.
    var mayBeStored: Bool
    /// When it was first written to a connection; nil before.
    var firstSent: ContinuousClock.Instant?
    /// When it was written to a connection last.
    var lastSent: ContinuousClock.Instant?
    /// Since when it has been refused on this connection.
    var refusedSince: ContinuousClock.Instant?
    /// The newest sequence of its stream that was known then.
    var newestBefore: UInt64?
}

/// The messages for one destination: those that wait, in order, and those under way.
///
/// Many are under way at once only while the server takes one after the other. After a connection was made, and after a
/// refusal, one has to be stored before two may follow, and nothing follows one that stays unanswered: a later message
/// would overtake an earlier one when another server takes over in between.
struct OutboxLane: Sendable {
    let destination: Destination
    /// Waiting entries by number; those before `first` have left.
    private var waiting: [OutboxEntry] = []
    private var first = 0
    private var inFlight: [UInt64: OutboxEntry] = [:]
    private(set) var inFlightBytes = 0
    /// The message that was refused and has not been stored since; nothing is sent past it.
    private var refused: UInt64?
    /// The message that is being looked for instead of sent; nothing is sent past it.
    private var sought: UInt64?
    /// How many may be under way.
    private var window = 1
    /// Refusals without a success in between.
    private var refusals = 0
    /// When to try again after a refusal.
    private var heldUntil: ContinuousClock.Instant?
    /// When the first of those under way left, or the newest answer came.
    private var lastProgress: ContinuousClock.Instant?
    /// How long the newest answer took.
    private var answerTime = Duration.zero

    /// An answer that takes longer than this and twice its usual time stops what is behind it.
    private static let patience = Duration.milliseconds(250)

    init(to destination: Destination) { self.destination = destination }

    var isEmpty: Bool { first == waiting.count && inFlight.isEmpty }
    var hasWaiting: Bool { first < waiting.count }
    var head: OutboxEntry? { first < waiting.count ? waiting[first] : nil }
    var entries: [OutboxEntry] { Array(waiting[first...]) + inFlight.values }
    var idsUnderWay: [String] { inFlight.sorted { $0.key < $1.key }.map(\.value.message.id) }

    func isQueued(_ number: UInt64) -> Bool { inFlight[number] == nil }
    func entry(underWay number: UInt64) -> OutboxEntry? { inFlight[number] }

    /// How long to wait after the refusals so far: 250 ms, doubling up to 2 s.
    private var hold: Duration { .milliseconds(min(2_000, 250 << min(max(refusals, 1) - 1, 3))) }

    /// When a lane that is held may go on; nil for one that is not.
    func resumption(after now: ContinuousClock.Instant) -> ContinuousClock.Instant? {
        guard let heldUntil, heldUntil > now, hasWaiting else { return nil }
        return heldUntil
    }

    /// The number of the next entry, if the lane may send it.
    func readyNumber(limit: Int, at now: ContinuousClock.Instant) -> UInt64? {
        guard first < waiting.count, sought == nil, inFlight.count < (refused == nil ? min(limit, window) : 1) else {
            return nil
        }
        if let heldUntil, heldUntil > now { return nil }
        if let lastProgress, !inFlight.isEmpty, now - lastProgress > Self.patience + answerTime * 2 { return nil }
        return waiting[first].number
    }

    mutating func append(_ entry: OutboxEntry) { waiting.append(entry) }

    /// Takes the next entry out.
    ///
    /// - Parameters:
    ///   - newestBefore: noted with an entry that is sent for the first time.
    ///   - window: how long the server is sure to know an identifier.
    /// - Returns: the entry, and whether it was first sent longer ago than that, so that it is to be looked for.
    mutating func send(
        at now: ContinuousClock.Instant, newestBefore: UInt64?, duplicateWindow window: Duration
    ) -> (entry: OutboxEntry, isLate: Bool)? {
        guard first < waiting.count else { return nil }
        var entry = waiting[first]
        advance()
        let isLate = entry.mayBeStored || (entry.firstSent.map { now - $0 >= window } ?? false)
        if isLate { sought = entry.number }
        if entry.firstSent == nil {
            entry.firstSent = now
            // What an earlier run sent lies anywhere.
            entry.newestBefore = isLate ? nil : newestBefore
        }
        entry.lastSent = now
        if inFlight.isEmpty { lastProgress = now }
        inFlight[entry.number] = entry
        inFlightBytes += entry.message.payload.count
        return (entry, isLate)
    }

    /// An entry under way is as good as never sent: the server does not have it.
    mutating func forgetAttempts(of number: UInt64, at now: ContinuousClock.Instant, newestBefore: UInt64?) {
        inFlight[number]?.firstSent = now
        inFlight[number]?.lastSent = now
        inFlight[number]?.newestBefore = newestBefore
        inFlight[number]?.mayBeStored = false
        if inFlight.count == 1 { lastProgress = now }
        if sought == number { sought = nil }
    }

    /// The server stored one of those under way.
    mutating func stored(_ number: UInt64, at now: ContinuousClock.Instant, limit: Int) {
        // An answer of an earlier connection says nothing about this one.
        guard let entry = inFlight[number] else { return }
        if let sent = entry.lastSent { answerTime = min(now - sent, .seconds(5)) }
        lastProgress = now
        window = min(limit, window + 1)
        refusals = 0
        heldUntil = nil
    }

    /// Returns an entry to its place after it was refused.
    mutating func putBack(_ number: UInt64, at now: ContinuousClock.Instant) {
        guard var entry = takeUnderWay(number) else { return }
        entry.refusedSince = entry.refusedSince ?? now
        insert(entry)
        refused = min(number, refused ?? number)
        window = 1
        // Those sent beside it are refused for the same cause.
        if heldUntil.map({ $0 <= now }) ?? true {
            refusals += 1
            heldUntil = now + hold
        }
    }

    /// How often in a row the lane was refused.
    var refusalCount: Int { refusals }

    /// Returns everything to its place after the connection was lost, which counts as nobody's refusal.
    mutating func putAllBack() {
        for number in inFlight.keys.sorted(by: >) {
            guard let entry = takeUnderWay(number) else { continue }
            insert(entry)
        }
        for index in first..<waiting.count { waiting[index].refusedSince = nil }
        refused = nil
        heldUntil = nil
        refusals = 0
        window = 1
    }

    mutating func remove(_ number: UInt64) -> (entry: OutboxEntry, wasInFlight: Bool)? {
        if refused == number { refused = nil }
        if let entry = takeUnderWay(number) { return (entry, true) }
        let index = position(of: number)
        guard index < waiting.count, waiting[index].number == number else { return nil }
        guard index == first else { return (waiting.remove(at: index), false) }
        let entry = waiting[first]
        advance()
        return (entry, false)
    }

    /// Changes messages that wait.
    mutating func rewrite(_ change: (inout OutboxMessage) -> Void) {
        for index in first..<waiting.count { change(&waiting[index].message) }
    }

    /// Passes the head, and gives back the room of what has left once it is the larger half.
    private mutating func advance() {
        first += 1
        guard first > 64, first * 2 > waiting.count else { return }
        waiting.removeSubrange(..<first)
        first = 0
    }

    private mutating func takeUnderWay(_ number: UInt64) -> OutboxEntry? {
        guard let entry = inFlight.removeValue(forKey: number) else { return nil }
        if sought == number { sought = nil }
        inFlightBytes -= entry.message.payload.count
        return entry
    }

    /// Puts an entry among the waiting ones. Mostly it belongs just before the head, into a slot that became free.
    private mutating func insert(_ entry: OutboxEntry) {
        let index = position(of: entry.number)
        if index == first, first > 0 {
            first -= 1
            waiting[first] = entry
        } else {
            waiting.insert(entry, at: index)
        }
    }

    /// The position of a number among the waiting entries, or where it belongs.
    private func position(of number: UInt64) -> Int {
        var (low, high) = (first, waiting.count)
        while low < high {
            let middle = (low + high) / 2
            if waiting[middle].number < number { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
