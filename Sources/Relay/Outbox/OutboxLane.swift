/// A message with its place in the order of all messages.
struct OutboxEntry: Sendable {
    let number: UInt64
    let message: OutboxMessage
    var attempts = 0
}

/// One topic's messages: those that wait, in order, and those under way.
struct OutboxLane: Sendable {
    /// Waiting entries by number; those before `first` have left.
    private var waiting: [OutboxEntry] = []
    private var first = 0
    private var inFlight: [UInt64: OutboxEntry] = [:]
    private(set) var inFlightBytes = 0
    /// The message that failed and has not succeeded since; the lane sends nothing past it.
    private var troubled: UInt64?

    var isEmpty: Bool { first == waiting.count && inFlight.isEmpty }
    var head: OutboxEntry? { first < waiting.count ? waiting[first] : nil }
    var entries: [OutboxEntry] { Array(waiting[first...]) + inFlight.values }

    func isQueued(_ number: UInt64) -> Bool { inFlight[number] == nil }

    /// How often an entry under way has been tried; nil for one that is not.
    func attempts(of number: UInt64) -> Int? { inFlight[number]?.attempts }

    /// The number of the next entry, if the lane may send it.
    func readyNumber(limit: Int) -> UInt64? {
        guard let head, inFlight.count < (troubled == nil ? limit : 1) else { return nil }
        return head.number
    }

    mutating func append(_ entry: OutboxEntry) { waiting.append(entry) }

    mutating func send() -> OutboxEntry? {
        guard var entry = head else { return nil }
        advance()
        entry.attempts += 1
        inFlight[entry.number] = entry
        inFlightBytes += entry.message.payload.count
        return entry
    }

    /// Returns an entry to its place after it failed on its own.
    mutating func putBack(_ number: UInt64) {
        guard let entry = takeFlying(number) else { return }
        insert(entry)
        troubled = min(number, troubled ?? number)
    }

    /// Returns everything to its place after the connection was lost, which counts as nobody's failure.
    mutating func putAllBack() {
        for number in inFlight.keys.sorted(by: >) {
            guard var entry = takeFlying(number) else { continue }
            entry.attempts -= 1
            insert(entry)
        }
        troubled = nil
    }

    mutating func remove(_ number: UInt64) -> (entry: OutboxEntry, wasInFlight: Bool)? {
        if troubled == number { troubled = nil }
        if let entry = takeFlying(number) { return (entry, true) }
        let index = position(of: number)
        guard index < waiting.count, waiting[index].number == number else { return nil }
        guard index == first else { return (waiting.remove(at: index), false) }
        let entry = waiting[first]
        advance()
        return (entry, false)
    }

    /// Passes the head, and gives back the room of what has left once it is the larger half.
    private mutating func advance() {
        first += 1
        guard first > 64, first * 2 > waiting.count else { return }
        waiting.removeSubrange(..<first)
        first = 0
    }

    private mutating func takeFlying(_ number: UInt64) -> OutboxEntry? {
        guard let entry = inFlight.removeValue(forKey: number) else { return nil }
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
