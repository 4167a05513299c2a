import DequeModule

/// Merges the events of several subscriptions to one stream, in the stream's order and each message once, as a pure
/// value: news and the present moment in, events out.
///
/// The earliest event at hand is released once nothing earlier can arrive: each of the other subscriptions has a later
/// one at hand, has passed that sequence, or has ended. A subscription that is catching up is awaited, and reports up
/// to where it has delivered everything. So messages stored before a connection are in order, however the subscriptions
/// take turns.
///
/// New messages arrive over each subscription at any time, and an idle subscription reports nothing. For these, an
/// event waits for ``Limits/hold`` and no longer; an even later one is released at once, out of order.
package struct TopicMerge: Sendable {
    /// How long events wait, and how many.
    package struct Limits: Hashable, Sendable {
        /// The longest wait of an event for subscriptions that are up to date: longer than messages stored together
        /// differ in arrival, and too short for a person to notice.
        package var hold: Duration
        /// How long a subscription that is catching up may be silent before nothing waits for it while it stays silent.
        /// The server may have deleted the last message that it announced.
        package var patience: Duration
        /// With this many events of one subscription waiting, it is not read: the rest stays on the server.
        package var queue: Int
        /// The same limit in bytes.
        package var bytes: Int
        /// How many of the newest released events are compared for repetitions.
        package var remembered: Int

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

    /// When to call ``release(at:)`` again even without news; nil if nothing waits.
    package private(set) var wakeUp: ContinuousClock.Instant?

    private let limits: Limits
    private var sources: [Source]
    /// The last released sequence: nothing waits for earlier ones.
    private var newest: UInt64 = 0
    /// The released messages; nil if no message can arrive twice.
    private var recent: RecentSet<Place>?
    private var ready: [TopicEvent] = []

    /// A merge without events.
    ///
    /// - Parameters:
    ///   - sources: The number of subscriptions, which are numbered from 0 on.
    ///   - mayRepeat: Whether two of them may deliver the same message.
    ///   - now: The present moment, which never goes backwards.
    package init(sources: Int, mayRepeat: Bool, limits: Limits = .standard, at now: ContinuousClock.Instant) {
        self.limits = limits
        self.sources = (0..<sources).map { _ in Source(heard: now) }
        recent = mayRepeat ? RecentSet<Place>(capacity: limits.remembered) : nil
    }

    /// Whether every subscription has ended and all events were released.
    package var isOver: Bool { ready.isEmpty && sources.allSatisfy { $0.hasEnded && $0.isEmpty } }

    /// Whether to continue reading a subscription, as always if something waits for it.
    package func wantsMore(from source: Int) -> Bool {
        !sources[source].hasEnded && sources[source].count < limits.queue && sources[source].bytes < limits.bytes
    }

    package mutating func receive(
        _ news: [SubscriptionNews<TopicEvent>], from source: Int, at now: ContinuousClock.Instant
    ) {
        sources[source].heard = now
        for item in news {
            switch item {
            case .events(let events, let bytes):
                // Their individual sizes are unknown and hardly matter: they arrived together.
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

    private mutating func receive(_ event: TopicEvent, bytes: Int, from source: Int, at now: ContinuousClock.Instant) {
        if let sequence = Self.sequence(of: event) {
            if sequence <= sources[source].passed { beginAnew() }
            sources[source].append(Entry(event: event, sequence: sequence, arrival: now, bytes: bytes))
            return
        }
        // All subscriptions are of one stream, so its recreation is reported once.
        if event == .restarted {
            if sources[source].knowsOfRestart {
                sources[source].knowsOfRestart = false
                return
            }
            beginAnew()
            for other in sources.indices where other != source { sources[other].knowsOfRestart = true }
        } else {
            // Waiting events were stored before a gap, or are unrelated.
            releaseAll()
        }
        // An interrupted subscription delivers nothing until it catches up.
        if case .interrupted = event { sources[source].isLive = true }
        ready.append(event)
    }

    package mutating func end(_ source: Int) { sources[source].hasEnded = true }

    /// The events to release now, in order.
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

    /// All events at hand, in order, whatever might still arrive.
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

    /// Until when the first event of a subscription waits for others; nil if nothing earlier can arrive.
    private func waitingTime(of source: Int) -> ContinuousClock.Instant? {
        guard let sequence = sources[source].firstSequence else { return nil }
        var latest: ContinuousClock.Instant?
        for index in sources.indices where index != source {
            guard sources[index].mayBring(between: newest, and: sequence), let oldest = oldestArrival() else {
                continue
            }
            // An event that arrived earlier, with a later sequence, must not wait longer because of this one.
            var moment = oldest + limits.hold
            if !sources[index].isLive { moment = max(moment, sources[index].heard + limits.patience) }
            latest = max(latest ?? moment, moment)
        }
        return latest
    }

    /// When the first waiting event arrived.
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

    /// The stream was recreated, or has lost its newest messages: sequences are assigned again.
    private mutating func beginAnew() {
        releaseAll()
        newest = 0
        for index in sources.indices { sources[index].passed = 0 }
    }
}

extension TopicMerge {
    /// The sequence of a message; nil for another event.
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

    /// Identifies a message. A recreated stream assigns its sequences again, but hardly with the same identifiers.
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
        /// Nothing up to this sequence will be delivered any more.
        var passed: UInt64 = 0
        /// Whether it has delivered everything stored before its connection.
        var isLive = false
        var hasEnded = false
        /// Whether another subscription has already reported the stream's recreation.
        var knowsOfRestart = false
        var heard: ContinuousClock.Instant
        /// Events that were not released yet.
        private var queue: Deque<Entry> = []
        private(set) var bytes = 0

        init(heard: ContinuousClock.Instant) { self.heard = heard }

        var count: Int { queue.count }
        var isEmpty: Bool { queue.isEmpty }
        var firstSequence: UInt64? { queue.first?.sequence }
        /// When the first event arrived. There must be one.
        var firstArrival: ContinuousClock.Instant { queue[0].arrival }

        mutating func append(_ entry: Entry) {
            queue.append(entry)
            bytes += entry.bytes
            passed = entry.sequence
        }

        /// Removes the first event. There must be one.
        mutating func removeFirst() -> Entry {
            let entry = queue.removeFirst()
            bytes -= entry.bytes
            return entry
        }

        /// Whether it may still deliver something between two sequences.
        func mayBring(between lower: UInt64, and upper: UInt64) -> Bool {
            guard isEmpty, !hasEnded, upper > 0 else { return false }
            return max(passed, lower) < upper - 1
        }
    }
}
