import Relay

/// What happened to the connection, oldest first: a bounded list, and the status that the next one is compared with.
struct ConnectionLog: Equatable, Sendable {
    struct Entry: Hashable, Sendable {
        /// Unique in this process, and growing.
        let serial: UInt64
        let at: Timestamp
        var event: Event
    }

    enum Event: Hashable, Sendable {
        case status(StatusChange)
        /// The person or the terminal did something that affects the connection.
        case life(Life)
        /// Anything else worth keeping, such as lost messages of a topic.
        case remark(String)
        /// A failure that the person was told about.
        case failure(String)
    }

    /// The life of the program in its terminal.
    enum Life: String, Sendable {
        case focusLost = "the terminal lost the focus"
        case focusReturned = "the terminal has the focus again"
        /// A key or the mouse came from a terminal that had reported its focus as lost.
        case signOfLife = "input came: somebody is here"
        case stopped = "Parley was suspended"
        case continued = "Parley runs again"
        /// Nothing was done for as long as the configuration allows.
        case idle = "nobody has done anything for a while"
        /// tmux or screen has no terminal any more, or has one again.
        case detached = "the terminal was detached"
        case attached = "a terminal is attached"
    }

    static let limit = 1_000

    /// The entries, oldest first.
    private(set) var entries: [Entry] = []
    private var nextSerial: UInt64 = 0
    private var status: ConnectionStatus?
    private var stateBegan: ContinuousClock.Instant?

    /// Records a status; one without news makes no entry.
    mutating func record(_ new: ConnectionStatus, at now: Moment) {
        let earlier = status
        status = new
        guard new.isNews(after: earlier) else {
            // The first round trip is measured a moment after the connection is open, and belongs to that line.
            amendLast { if $0.state == new.state, $0.roundTrip == nil { $0.roundTrip = new.roundTripTime } }
            return
        }
        let change = StatusChange(new, after: earlier, since: stateBegan, now: now.instant)
        if earlier?.state != new.state { stateBegan = now.instant }
        // An outage and its first wait are one entry.
        if let wait = change.wait, !change.endsState, new.attempt == 0, new.reason == earlier?.reason, beginsState {
            amendLast { $0.wait = wait }
            return
        }
        append(.status(change), at: now.wall)
    }

    /// Records an event of the program's life. Both the caller that stopped the program and the system's signal report
    /// that it continues; they make one entry.
    mutating func record(_ life: Life, at now: Moment) {
        if life != .continued || !repeatsLast(.life(life), at: now) { append(.life(life), at: now.wall) }
    }

    /// Records a sentence. One that is both told to the person and noted within a second makes one entry.
    mutating func record(_ sentence: String, isFailure: Bool = false, at now: Moment) {
        let words = String(sentence.prefix(1_024))
        if !repeatsLast(.failure(words), at: now) { append(isFailure ? .failure(words) : .remark(words), at: now.wall) }
    }

    /// Whether the last entry is the same event, less than a second ago.
    private func repeatsLast(_ event: Event, at now: Moment) -> Bool {
        guard let last = entries.last, last.event == event else { return false }
        return now.wall.milliseconds - last.at.milliseconds < 1_000
    }

    func index(atOrAfter serial: UInt64) -> Int {
        guard let first = entries.first?.serial, serial > first else { return 0 }
        return min(entries.count, Int(clamping: serial - first))
    }

    /// Whether the newest entry is the beginning of the present state.
    private var beginsState: Bool {
        guard case .status(let change)? = entries.last?.event else { return false }
        return change.endsState
    }

    private mutating func amendLast(_ change: (inout StatusChange) -> Void) {
        guard let last = entries.indices.last, case .status(var present) = entries[last].event else { return }
        change(&present)
        entries[last].event = .status(present)
    }

    private mutating func append(_ event: Event, at time: Timestamp) {
        entries.append(Entry(serial: nextSerial, at: time, event: event))
        nextSerial += 1
        if entries.count > Self.limit { entries.removeFirst(entries.count - Self.limit) }
    }
}
