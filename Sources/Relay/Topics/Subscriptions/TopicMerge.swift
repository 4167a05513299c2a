import DequeModule

/// What several subscriptions to one stream bring, in the stream's order and each message once, as a pure value: news
/// and the present moment in, events out.
///
/// The earliest event at hand goes when nothing earlier can come: each of the other subscriptions has a later one at
/// hand, has passed that place in the stream, or has ended. A subscription that catches up is waited for, and says up
/// to where it has delivered everything. So what was stored before a connection is in order, however the subscriptions
/// take turns.
///
/// What is new comes over each subscription when it comes, and one on which nothing happens says nothing. There, an
/// event waits for ``Limits/hold`` and no longer; what comes later still goes at once, out of order.
package struct TopicMerge: Sendable {
    /// How long events wait, and how many.
    package struct Limits: Hashable, Sendable {
        /// The longest time for which an event waits for subscriptions that are up to date: longer than messages that
        /// were stored together lie apart on their way, and too short for a person to notice.
        package var hold: Duration
        /// How long a subscription that catches up may be silent before nothing waits for it as long as it stays
        /// silent. The server may have deleted the last message that it still announced.
        package var patience: Duration
        /// With so many events of one subscription waiting, it is not read: the rest stays on the server.
        package var queue: Int
        /// So do so many bytes of them.
        package var bytes: Int
        /// Of so many events, the newest that have gone, a repetition is recognised.
        package var remembered: Int

        /// Makes limits.
        package init(
            hold: Duration = .milliseconds(40), patience: Duration = .seconds(30), queue: Int = 8_192,
            bytes: Int = 32 << 20, remembered: Int = 65_536
        ) {
            self.hold = hold
            self.patience = patience
            self.queue = queue
            self.bytes = bytes
            self.remembered = remembered
        }

        /// 40 ms, 30 s, 8,192 events of 32 MiB, and 65,536 remembered.
        package static let standard = Limits()
    }

    /// When to call ``release(at:)`` again though nothing has come; nil when nothing waits for a moment.
    package private(set) var wakeUp: ContinuousClock.Instant?

    private let limits: Limits
    private var sources: [Source]
    /// The last sequence that has gone: nothing waits for what lies before it.
    private var newest: UInt64 = 0
    /// What has gone; nil where no message can come twice.
    private var recent: RecentSet<Place>?
    private var ready: [TopicEvent] = []

    /// A merge of subscriptions that have brought nothing yet.
    ///
    /// - Parameters:
    ///   - sources: how many subscriptions there are. They are numbered from 0 on.
    ///   - mayRepeat: whether two of them may bring the same message.
    ///   - now: the present moment. Later calls never name an earlier one.
    package init(sources: Int, mayRepeat: Bool, limits: Limits = .standard, at now: ContinuousClock.Instant) {
        self.limits = limits
        self.sources = (0..<sources).map { _ in Source(heard: now) }
        recent = mayRepeat ? RecentSet<Place>(capacity: limits.remembered) : nil
    }

    /// Whether every subscription has ended and all that they brought has gone.
    package var isOver: Bool { ready.isEmpty && sources.allSatisfy { $0.hasEnded && $0.isEmpty } }

    /// Whether a subscription is to be read on. One that something waits for always is.
    package func wantsMore(from source: Int) -> Bool {
        !sources[source].hasEnded && sources[source].count < limits.queue && sources[source].bytes < limits.bytes
    }

    /// Takes in what a subscription has brought.
    package mutating func receive(
        _ news: [SubscriptionNews<TopicEvent>], from source: Int, at now: ContinuousClock.Instant
    ) {
        sources[source].heard = now
        for item in news {
            switch item {
            case .events(let events, let bytes):
                // What each of them has is not known, and hardly matters: they came together.
                var rest = bytes
                for (index, event) in events.enumerated() {
                    let share = rest / (events.count - index)
                    rest -= share
                    receive(event, bytes: share, from: source, at: now)
                }
            case .catchingUp:
                sources[source].isLive = false
            case .live(let sequence):
                if sequence < sources[source].passed { beginAnew() }
                sources[source].passed = max(sources[source].passed, sequence)
                sources[source].isLive = true
            }
        }
    }

    private mutating func receive(
        _ event: TopicEvent, bytes: Int, from source: Int, at now: ContinuousClock.Instant
    ) {
        if let sequence = Self.sequence(of: event) {
            if sequence <= sources[source].passed { beginAnew() }
            sources[source].append(Entry(event: event, sequence: sequence, arrival: now, bytes: bytes))
            return
        }
        // All subscriptions are of one stream: that it was made anew is reported once.
        if event == .restarted {
            if sources[source].knowsOfRestart {
                sources[source].knowsOfRestart = false
                return
            }
            beginAnew()
            for other in sources.indices where other != source { sources[other].knowsOfRestart = true }
        } else {
            // What waits was stored before a gap, or has nothing to do with it.
            releaseAll()
        }
        // What is interrupted brings nothing until it catches up.
        if case .interrupted = event { sources[source].isLive = true }
        ready.append(event)
    }

    /// Notes that a subscription brings nothing more.
    package mutating func end(_ source: Int) { sources[source].hasEnded = true }

    /// What goes now, in order.
    package mutating func release(at now: ContinuousClock.Instant) -> [TopicEvent] {
        wakeUp = nil
        while let source = earliest() {
            if let moment = waitingTime(of: source), moment > now {
                wakeUp = moment
                break
            }
            releaseFirst(of: source)
        }
        return exchange(&ready, with: [])
    }

    /// All that is at hand, in order, whatever might still come.
    package mutating func flush() -> [TopicEvent] {
        wakeUp = nil
        releaseAll()
        return exchange(&ready, with: [])
    }

    // MARK: Steps

    /// The subscription with the earliest event at hand.
    private func earliest() -> Int? {
        var earliest: Int?
        var lowest = UInt64.max
        for index in sources.indices {
            guard let sequence = sources[index].firstSequence else { continue }
            guard earliest == nil || sequence < lowest else { continue }
            earliest = index
            lowest = sequence
        }
        return earliest
    }

    /// Until when the first event of a subscription waits for what others may bring; nil when nothing earlier can come.
    private func waitingTime(of source: Int) -> ContinuousClock.Instant? {
        guard let sequence = sources[source].firstSequence else { return nil }
        var latest: ContinuousClock.Instant?
        for index in sources.indices where index != source {
            guard sources[index].mayBring(between: newest, and: sequence), let oldest = oldestArrival() else {
                continue
            }
            // One that came earlier and is behind this one must not wait for longer because of it.
            var moment = oldest + limits.hold
            if !sources[index].isLive { moment = max(moment, sources[index].heard + limits.patience) }
            latest = max(latest ?? moment, moment)
        }
        return latest
    }

    /// When the first of the events that wait came.
    private func oldestArrival() -> ContinuousClock.Instant? {
        var oldest: ContinuousClock.Instant?
        for index in sources.indices where !sources[index].isEmpty {
            let arrival = sources[index].firstArrival
            oldest = min(oldest ?? arrival, arrival)
        }
        return oldest
    }

    private mutating func releaseFirst(of source: Int) {
        let entry = sources[source].removeFirst()
        newest = max(newest, entry.sequence)
        guard recent?.insert(Place(of: entry)) ?? true else { return }
        ready.append(entry.event)
    }

    private mutating func releaseAll() {
        while let source = earliest() { releaseFirst(of: source) }
    }

    /// The stream was made anew, or has lost its newest messages: sequences come again, and what they meant is over.
    private mutating func beginAnew() {
        releaseAll()
        newest = 0
        for index in sources.indices { sources[index].passed = 0 }
    }
}

extension TopicMerge {
    /// The place of a message in the stream; nil for an event that is none.
    private static func sequence(of event: TopicEvent) -> UInt64? {
        switch event {
        case .message(let message): message.sequence
        case .unreadable(let sequence, _, _): sequence
        case .gap, .restarted, .interrupted, .live: nil
        }
    }

    private struct Entry: Sendable {
        let event: TopicEvent
        let sequence: UInt64
        let arrival: ContinuousClock.Instant
        let bytes: Int
    }

    /// Distinguishes a message from all others. A stream that is made anew uses its sequences again, but hardly with
    /// the same identifiers.
    private struct Place: Hashable, Sendable {
        let sequence: UInt64
        let id: String

        init(of entry: Entry) {
            sequence = entry.sequence
            id = if case .message(let message) = entry.event { message.id } else { "" }
        }

        func hash(into hasher: inout Hasher) { hasher.combine(sequence) }
    }

    private struct Source: Sendable {
        /// Nothing that it still brings has a sequence up to this one.
        var passed: UInt64 = 0
        /// Whether it has delivered all that was stored when its connection was made.
        var isLive = false
        var hasEnded = false
        /// Whether another subscription has already reported that the stream was made anew.
        var knowsOfRestart = false
        var heard: ContinuousClock.Instant
        /// What it has brought and has not gone.
        private var queue: Deque<Entry> = []
        private(set) var bytes = 0

        init(heard: ContinuousClock.Instant) { self.heard = heard }

        var count: Int { queue.count }
        var isEmpty: Bool { queue.isEmpty }
        var firstSequence: UInt64? { queue.first?.sequence }
        /// When the first event came. There has to be one.
        var firstArrival: ContinuousClock.Instant { queue[0].arrival }

        mutating func append(_ entry: Entry) {
            queue.append(entry)
            bytes += entry.bytes
            passed = entry.sequence
        }

        /// Takes the first event. There has to be one.
        mutating func removeFirst() -> Entry {
            let entry = queue.removeFirst()
            bytes -= entry.bytes
            return entry
        }

        /// Whether something may come from here that lies between two sequences.
        func mayBring(between lower: UInt64, and upper: UInt64) -> Bool {
            guard isEmpty, !hasEnded, upper > 0 else { return false }
            return max(passed, lower) < upper - 1
        }
    }
}
