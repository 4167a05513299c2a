/// The rules and figures of batched writing.
package struct StoreBatching: Hashable, Sendable {
    /// A batch of this many messages and changes is written at once.
    var rows = 1_000
    /// The most messages and changes that may wait.
    var maximumRows = 16_000
    /// The most bytes of payload that may wait; the last batch may exceed this.
    var maximumBytes = 32 << 20

    /// The longest wait of an item for others.
    static let delay = Duration.milliseconds(100)
    /// The longest wait of a caller for room.
    static let patience = Duration.seconds(5)
    /// The longest pause before a failed batch is tried again; the first one is a second, and each is twice as long as
    /// the last.
    static let longestPause = Duration.seconds(30)
    /// How long indexing waits after a batch of many messages, as more are likely to follow.
    static let wordsDelay = Duration.milliseconds(250)
    /// What a person has read or typed is written at once, with everything before it, but not sooner than this after
    /// the previous batch, so that batches stay large.
    static let personalPause = Duration.milliseconds(50)
}

/// The data that waits to be written, as a pure value: when to write a batch, what to do with one that failed, and what
/// to report.
///
/// While the disk works, callers wait for room, so that nothing is lost: messages that were not added stay on the
/// server. While it fails, no caller waits, and what exceeds the limit is dropped and counted.
///
/// What a person has read or typed does not wait for others: a mark is committed with the messages before it, and never
/// ahead of them. Messages are indexed for search once nothing else waits.
struct StoreIntake: Sendable {
    struct Batch: Hashable, Sendable {
        /// Messages of topics, in the parts in which they arrived.
        private(set) var parts: [[KeptMessage]] = []
        private(set) var messageCount = 0
        /// All changes, written after the messages: a cursor is never ahead of its messages.
        private(set) var changes: [StoreChange] = []
        /// The bytes of the payloads.
        private(set) var bytes = 0

        /// How many messages and changes there are.
        var rows: Int { messageCount + changes.count }

        fileprivate mutating func add(_ messages: [KeptMessage], _ changes: [StoreChange]) {
            if !messages.isEmpty { parts.append(messages) }
            messageCount += messages.count
            bytes += messages.reduce(0) { $0 + $1.payload.count }
            for change in changes { add(change) }
        }

        /// Adds a change, merging it with an earlier one if possible: a subscription whose messages arrive in many
        /// parts has one cursor and one growing span, and a conversation one draft and one mark.
        private mutating func add(_ change: StoreChange) {
            // Up to 64 subscriptions may write in turn.
            for index in changes.indices.suffix(64).reversed() {
                guard let both = changes[index].merged(with: change) else { continue }
                changes[index] = both
                return
            }
            changes.append(change)
        }
    }

    enum Step: Hashable, Sendable {
        /// Nothing to do, or someone else is doing it or will.
        case nothing
        /// Ask again at this moment.
        case wait(until: ContinuousClock.Instant)
        /// Write a batch, and report the outcome.
        case write(Batch)
        /// Index some messages for search, and call ``indexed(hasMore:)``.
        case index
    }

    let rules: StoreBatching
    /// How many messages were dropped since the store was opened.
    private(set) var notKept = 0

    private var waiting = Batch()
    private var underWay = Batch()
    private var isBusy = false
    /// When the oldest waiting item arrived.
    private var since: ContinuousClock.Instant?
    private var lastWritten: ContinuousClock.Instant?
    /// When the next call is due.
    private var alarm: ContinuousClock.Instant?
    private var isHurried = false
    /// Whether something waits that a person has read or typed.
    private var isPersonal = false
    /// Whether there may be messages to index.
    private var hasUnsearched: Bool
    /// When indexing may start.
    private var wordsAfter: ContinuousClock.Instant?

    private var failures = 0
    private var retryAt: ContinuousClock.Instant?
    /// How many messages were dropped since a failure was reported; nil without one.
    private var notKeptInTrouble: Int?

    /// - Parameter hasUnsearched: Whether there are messages of an earlier run of the program to index.
    init(rules: StoreBatching = StoreBatching(), hasUnsearched: Bool = false) {
        self.rules = rules
        self.hasUnsearched = hasUnsearched
    }

    /// How many batches are not stored yet: the one being written, and the next one.
    var batches: Int { (underWay.rows > 0 ? 1 : 0) + (waiting.rows > 0 ? 1 : 0) }

    var hasRoom: Bool {
        waiting.rows + underWay.rows < rules.maximumRows && waiting.bytes + underWay.bytes < rules.maximumBytes
    }

    /// Whether the last batch could not be written.
    var isInTrouble: Bool { failures > 0 }

    // MARK: Coming

    /// Adds messages and changes. The caller checks ``hasRoom`` first.
    mutating func add(_ messages: [KeptMessage], _ changes: [StoreChange] = [], at now: ContinuousClock.Instant) {
        guard !messages.isEmpty || !changes.isEmpty else { return }
        waiting.add(messages, changes)
        if changes.contains(where: \.isPersonal) { isPersonal = true }
        if since == nil { since = now }
    }

    /// Writes everything that waits without waiting for more.
    mutating func hurry() { isHurried = since != nil }

    /// Counts dropped messages.
    ///
    /// - Parameter error: The reason.
    /// - Returns: The news to report; nil if it was reported before.
    mutating func giveUp(_ messages: Int, because error: RelayError) -> StoreNews? {
        let news = tell(error)
        notKept += messages
        notKeptInTrouble? += messages
        return news
    }

    /// The news of a failure; nil if it was reported before.
    mutating func tell(_ error: RelayError) -> StoreNews? {
        guard notKeptInTrouble == nil else { return nil }
        notKeptInTrouble = 0
        return .failing(error)
    }

    /// The news of a recovery; nil if no failure was reported, or one remains.
    mutating func recovered() -> StoreNews? {
        guard let count = notKeptInTrouble, !isInTrouble else { return nil }
        notKeptInTrouble = nil
        return .recovered(notKept: count)
    }

    // MARK: Going

    mutating func next(at now: ContinuousClock.Instant) -> Step {
        if let alarm, alarm <= now { self.alarm = nil }
        guard !isBusy else { return .nothing }
        guard let since else {
            guard hasUnsearched, !isInTrouble else { return .nothing }
            if let wordsAfter, wordsAfter > now { return wait(until: wordsAfter) }
            isBusy = true
            return .index
        }
        let isLarge = waiting.rows >= rules.rows || waiting.bytes >= rules.maximumBytes / 4
        var due = isHurried || isLarge ? now : since + StoreBatching.delay
        if isPersonal { due = min(due, lastWritten.map { $0 + StoreBatching.personalPause } ?? now) }
        if let retryAt, !isHurried { due = retryAt }
        guard due <= now else { return wait(until: due) }
        isBusy = true
        (underWay, waiting) = (waiting, Batch())
        (self.since, isPersonal, isHurried) = (nil, false, false)
        return .write(underWay)
    }

    private mutating func wait(until moment: ContinuousClock.Instant) -> Step {
        if let alarm, alarm <= moment { return .nothing }
        alarm = moment
        return .wait(until: moment)
    }

    /// The batch was written.
    ///
    /// - Parameter refused: How many of its messages do not fit into a store.
    /// - Returns: The news to report.
    mutating func written(refused: Int, at now: ContinuousClock.Instant) -> StoreNews? {
        notKept += refused
        lastWritten = now
        if underWay.messageCount > 0 { hasUnsearched = true }
        wordsAfter = underWay.messageCount > rules.rows / 2 ? now + StoreBatching.wordsDelay : nil
        (isBusy, underWay, failures, retryAt) = (false, Batch(), 0, nil)
        return recovered()
    }

    /// The batch could not be written.
    ///
    /// - Parameter mayPass: Whether it is worth another attempt. Otherwise it would fail forever and block all others,
    ///   so it is dropped.
    /// - Returns: The news to report.
    mutating func failed(because error: RelayError, mayPass: Bool, at now: ContinuousClock.Instant) -> StoreNews? {
        let batch = underWay
        (isBusy, underWay, isHurried) = (false, Batch(), false)
        guard mayPass else { return giveUp(batch.messageCount, because: error) }
        let later = waiting
        waiting = batch
        for part in later.parts { waiting.add(part, []) }
        waiting.add([], later.changes)
        since = since ?? now
        retryAt = now + min(StoreBatching.longestPause, .seconds(1 << min(failures, 16)))
        failures += 1
        return tell(error)
    }

    /// Some messages were indexed.
    mutating func indexed(hasMore: Bool) {
        isBusy = false
        hasUnsearched = hasMore
    }
}
