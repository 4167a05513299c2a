/// When what is to be kept is written: rules, and their figures.
package struct StoreBatching: Hashable, Sendable {
    /// With so many messages and changes a batch is written at once.
    var rows = 1_000
    /// How many messages and changes may wait.
    var maximumRows = 16_000
    /// How many bytes of payload may wait; the last batch may go beyond.
    var maximumBytes = 32 << 20

    /// How long something waits for others at most.
    static let delay = Duration.milliseconds(100)
    /// How long whoever adds something waits for room, before it is given up.
    static let patience = Duration.seconds(5)
    /// The longest pause before a batch that could not be written is tried again; the first one is a second, and each
    /// is twice as long as the one before.
    static let longestPause = Duration.seconds(30)
    /// How long the search's words wait behind a batch of many messages, as more of them are likely to follow.
    static let wordsDelay = Duration.milliseconds(250)
    /// What a person has read or typed is written at once, with all that came before it, but not sooner than this after
    /// the batch before: where much comes, a batch holds many messages.
    static let personalPause = Duration.milliseconds(50)
}

/// What waits to be written, as a pure value: when a batch is written, what becomes of one that could not be, and what
/// is told of that.
///
/// While the disk takes what comes, whoever adds something waits for room, so that nothing is lost: what is not added
/// stays on the server. While it does not, nobody waits; what exceeds the bound is given up and counted.
///
/// What a person has read or typed does not wait for others: a mark is committed with the messages before it, which it
/// is never ahead of. The search's words follow once nothing else waits.
struct StoreIntake: Sendable {
    /// What is written in one transaction.
    struct Batch: Hashable, Sendable {
        /// Messages of topics, as they came together.
        private(set) var parts: [[KeptMessage]] = []
        /// How many there are.
        private(set) var messageCount = 0
        /// Everything else, written behind the messages: a cursor is never ahead of what it has passed.
        private(set) var changes: [StoreChange] = []
        /// The payloads' bytes.
        private(set) var bytes = 0

        /// How many messages and changes there are.
        var rows: Int { messageCount + changes.count }

        fileprivate mutating func add(_ messages: [KeptMessage], _ changes: [StoreChange]) {
            if !messages.isEmpty { parts.append(messages) }
            messageCount += messages.count
            bytes += messages.reduce(0) { $0 + $1.payload.count }
            for change in changes { add(change) }
        }

        /// Adds a change, as one with an earlier one that says no more beside it: of a subscription whose messages come
        /// in many parts there is one cursor and one span that grows, and of a conversation one draft and one mark.
        private mutating func add(_ change: StoreChange) {
            // As many subscriptions may write by turns.
            for index in changes.indices.suffix(64).reversed() {
                guard let both = changes[index].merged(with: change) else { continue }
                changes[index] = both
                return
            }
            changes.append(change)
        }
    }

    /// What is to be done next.
    enum Step: Hashable, Sendable {
        /// Nothing: somebody is at it, or will be, or there is nothing to do.
        case nothing
        /// Asks again at this moment.
        case wait(until: ContinuousClock.Instant)
        /// Writes a batch, and tells how that went.
        case write(Batch)
        /// Adds some messages to the search's words, and calls ``indexed(hasMore:)``.
        case index
    }

    let rules: StoreBatching
    /// How many messages were not kept since the store was opened.
    private(set) var notKept = 0

    private var waiting = Batch()
    private var underWay = Batch()
    private var isBusy = false
    /// When the oldest of what waits came.
    private var since: ContinuousClock.Instant?
    /// When the batch before was written.
    private var lastWritten: ContinuousClock.Instant?
    /// When somebody will ask again.
    private var alarm: ContinuousClock.Instant?
    private var isHurried = false
    /// Whether something waits that a person has read or typed.
    private var isPersonal = false
    /// Whether there may be messages that the search's words lack.
    private var hasUnsearched: Bool
    /// When they may be added to.
    private var wordsAfter: ContinuousClock.Instant?

    private var failures = 0
    private var retryAt: ContinuousClock.Instant?
    /// How many messages were not kept since a trouble was told of; nil while none is.
    private var notKeptInTrouble: Int?

    /// Nothing waits.
    ///
    /// - Parameter hasUnsearched: whether the search's words lack messages from an earlier run of the program.
    init(rules: StoreBatching = StoreBatching(), hasUnsearched: Bool = false) {
        self.rules = rules
        self.hasUnsearched = hasUnsearched
    }

    /// How many batches hold what is not kept yet: the one that is being written, and the next one.
    var batches: Int { (underWay.rows > 0 ? 1 : 0) + (waiting.rows > 0 ? 1 : 0) }

    /// Whether there is room for more.
    var hasRoom: Bool {
        waiting.rows + underWay.rows < rules.maximumRows && waiting.bytes + underWay.bytes < rules.maximumBytes
    }

    /// Whether the last batch could not be written.
    var isInTrouble: Bool { failures > 0 }

    // MARK: Coming

    /// Adds what is to be kept. It is the caller's to look at ``hasRoom`` before.
    mutating func add(_ messages: [KeptMessage], _ changes: [StoreChange] = [], at now: ContinuousClock.Instant) {
        guard !messages.isEmpty || !changes.isEmpty else { return }
        waiting.add(messages, changes)
        if changes.contains(where: \.isPersonal) { isPersonal = true }
        if since == nil { since = now }
    }

    /// Writes what waits without waiting for more.
    mutating func hurry() { isHurried = since != nil }

    /// Counts messages that nobody kept.
    ///
    /// - Parameter error: why.
    /// - Returns: what is to be told; nil when it was told before.
    mutating func giveUp(_ messages: Int, because error: RelayError) -> StoreNews? {
        let news = tell(error)
        notKept += messages
        notKeptInTrouble? += messages
        return news
    }

    /// What is to be told of something that could not be kept; nil when it was told before.
    mutating func tell(_ error: RelayError) -> StoreNews? {
        guard notKeptInTrouble == nil else { return nil }
        notKeptInTrouble = 0
        return .failing(error)
    }

    /// What is to be told once everything is kept again; nil when no trouble was told of, or some is left.
    mutating func recovered() -> StoreNews? {
        guard let count = notKeptInTrouble, !isInTrouble else { return nil }
        notKeptInTrouble = nil
        return .recovered(notKept: count)
    }

    // MARK: Going

    /// What is to be done now.
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

    /// The batch is kept.
    ///
    /// - Parameter refused: how many of its messages have no place in a store.
    /// - Returns: what is to be told.
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
    /// - Parameter mayPass: whether it is worth trying again. Otherwise it would fail for ever, and hold up all that
    ///   follows, so that it is given up.
    /// - Returns: what is to be told.
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

    /// Some messages were added to the search's words.
    mutating func indexed(hasMore: Bool) {
        isBusy = false
        hasUnsearched = hasMore
    }
}
