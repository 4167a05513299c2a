/// When what is to be kept is written: rules, and their figures.
package struct StoreBatching: Hashable, Sendable {
    /// How long something waits for others at most.
    package var delay: Duration
    /// With so many messages and changes a batch is written at once.
    package var rows: Int
    /// How many messages and changes may wait.
    package var maximumRows: Int
    /// How many bytes of payload may wait; the last batch may go beyond.
    package var maximumBytes: Int
    /// How long whoever adds something waits for room, before it is given up.
    package var patience: Duration
    /// The pause after a batch that could not be written; it doubles up to `longestPause`.
    package var pause: Duration
    /// The longest pause between two tries.
    package var longestPause: Duration
    /// How long the search's words wait behind a batch of many messages, as more of them are likely to follow.
    package var wordsDelay: Duration
    /// What a person has read or typed is written at once, with all that came before it, but not sooner than this after
    /// the batch before: where much comes, a batch holds many messages.
    package var personalPause: Duration

    /// Makes rules.
    package init(
        delay: Duration = .milliseconds(100), rows: Int = 1_000, maximumRows: Int = 16_000,
        maximumBytes: Int = 32 << 20, patience: Duration = .seconds(5), pause: Duration = .seconds(1),
        longestPause: Duration = .seconds(30), wordsDelay: Duration = .milliseconds(250),
        personalPause: Duration = .milliseconds(50)
    ) {
        self.delay = delay
        self.rows = max(1, rows)
        self.maximumRows = max(1, maximumRows)
        self.maximumBytes = max(1, maximumBytes)
        self.patience = patience
        self.pause = pause
        self.longestPause = longestPause
        self.wordsDelay = wordsDelay
        self.personalPause = personalPause
    }
}

/// What waits to be written, as a pure value: when a batch is written, what becomes of one that could not be, and what
/// is told of that.
///
/// While the disk takes what comes, whoever adds something waits for room, so that nothing is lost: what is not added
/// stays on the server. While it does not, nobody waits; what exceeds the bound is given up and counted.
///
/// What a person has read or typed does not wait for others: a mark is committed with the messages before it, which it
/// is never ahead of. The search's words follow once nothing else waits.
package struct StoreIntake: Sendable {
    /// What is written in one transaction.
    package struct Batch: Sendable {
        /// Messages of topics, as they came together.
        package private(set) var parts: [[KeptMessage]] = []
        /// How many there are.
        package private(set) var messageCount = 0
        /// Everything else, written behind the messages: a cursor is never ahead of what it has passed.
        package private(set) var changes: [StoreChange] = []
        /// The payloads' bytes.
        package private(set) var bytes = 0
        /// Whether it has what a person has read or typed.
        package private(set) var isPersonal = false

        /// An empty batch.
        package init() {}

        /// How many messages and changes there are.
        package var rows: Int { messageCount + changes.count }
        /// Whether there is nothing.
        package var isEmpty: Bool { rows == 0 }

        fileprivate mutating func add(_ messages: [KeptMessage]) {
            guard !messages.isEmpty else { return }
            parts.append(messages)
            messageCount += messages.count
            bytes += messages.reduce(0) { $0 + $1.payload.count }
        }

        fileprivate mutating func add(_ later: Batch) {
            for part in later.parts { add(part) }
            for change in later.changes { add(change) }
        }

        /// Adds a change, as one with an earlier one that says no more beside it: of a subscription whose messages come
        /// in many parts there is one cursor and one span that grows, and of a conversation one draft and one mark.
        fileprivate mutating func add(_ change: StoreChange) {
            if change.isPersonal { isPersonal = true }
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
    package enum Step: Hashable, Sendable {
        /// Nothing: somebody is at it, or there is nothing to do.
        case none
        /// Calls ``alarmed(at:)`` at this moment.
        case sleep(until: ContinuousClock.Instant)
        /// Takes a batch with ``take()``, writes it, and tells how that went.
        case write
        /// Adds some messages to the search's words, and calls ``indexed(hasMore:at:)``.
        case index
    }

    /// How the writing of a batch went.
    package enum Ending: Hashable, Sendable {
        /// It is kept; so many of its messages have no place in a store.
        case written(refused: Int)
        /// It could not be written, and it is worth trying again.
        case failed(RelayError)
        /// It can never be written.
        case impossible(RelayError)
    }

    /// When to write.
    package let rules: StoreBatching
    /// How many messages were not kept since the client started.
    package private(set) var notKept = 0

    private var waiting = Batch()
    private var underWay: Batch?
    private var isBusy = false
    /// When the oldest of what waits came.
    private var since: ContinuousClock.Instant?
    /// When the batch before was written.
    private var lastWritten: ContinuousClock.Instant?
    private var alarm: ContinuousClock.Instant?
    private var isHurried = false
    /// Whether there may be messages that the search's words lack.
    private var hasUnsearched: Bool
    /// When they may be added to.
    private var wordsAfter: ContinuousClock.Instant?

    private var failures = 0
    private var retryAt: ContinuousClock.Instant?
    private var isTroubleTold = false
    private var notKeptInTrouble = 0

    /// Nothing waits.
    ///
    /// - Parameter hasUnsearched: whether the search's words lack messages from an earlier run of the program.
    package init(rules: StoreBatching = StoreBatching(), hasUnsearched: Bool = false) {
        self.rules = rules
        self.hasUnsearched = hasUnsearched
    }

    /// Whether nothing waits and nothing is being written.
    package var isEmpty: Bool { waiting.isEmpty && underWay == nil }

    /// How many messages and changes wait or are being written.
    package var rows: Int { waiting.rows + (underWay?.rows ?? 0) }

    /// Whether there is room for more.
    package var hasRoom: Bool {
        rows < rules.maximumRows && waiting.bytes + (underWay?.bytes ?? 0) < rules.maximumBytes
    }

    /// Whether the last batch could not be written.
    package var isInTrouble: Bool { failures > 0 }

    // MARK: Coming

    /// Adds what is to be kept. It is the caller's to look at ``hasRoom`` before.
    package mutating func add(
        _ messages: [KeptMessage], _ changes: [StoreChange] = [], at now: ContinuousClock.Instant
    ) -> Step {
        guard !messages.isEmpty || !changes.isEmpty else { return .none }
        waiting.add(messages)
        for change in changes { waiting.add(change) }
        if since == nil { since = now }
        return next(at: now)
    }

    /// Counts messages that nobody kept, as there was no room for them.
    ///
    /// - Parameter error: why.
    /// - Returns: what is to be told; nil when it was told before.
    package mutating func giveUp(_ messages: Int, because error: RelayError) -> StoreNews? {
        notKept += messages
        notKeptInTrouble += messages
        return tell(error)
    }

    /// Something that is not written in batches could not be kept.
    ///
    /// - Returns: what is to be told; nil when it was told before.
    package mutating func failed(because error: RelayError) -> StoreNews? { tell(error) }

    /// What is not written in batches is all kept again.
    ///
    /// - Returns: what is to be told; nil when no trouble was told, or the batches still have some.
    package mutating func recovered() -> StoreNews? {
        guard isTroubleTold, !isInTrouble else { return nil }
        defer { (isTroubleTold, notKeptInTrouble) = (false, 0) }
        return .recovered(notKept: notKeptInTrouble)
    }

    /// Writes what waits without waiting for more.
    package mutating func hurry(at now: ContinuousClock.Instant) -> Step {
        isHurried = true
        return next(at: now)
    }

    /// The moment has come that a step named.
    package mutating func alarmed(at now: ContinuousClock.Instant) -> Step {
        if let alarm, alarm <= now { self.alarm = nil }
        return next(at: now)
    }

    // MARK: Going

    /// What is to be written now.
    package mutating func take() -> Batch {
        let batch = waiting
        underWay = batch
        waiting = Batch()
        since = nil
        return batch
    }

    /// How the writing of the batch went that was taken last.
    ///
    /// - Returns: what to do next, and what is to be told.
    package mutating func ended(
        _ ending: Ending, at now: ContinuousClock.Instant
    ) -> (step: Step, news: StoreNews?) {
        isBusy = false
        let batch = underWay ?? Batch()
        underWay = nil
        var news: StoreNews?
        switch ending {
        case .written(let refused):
            notKept += refused
            lastWritten = now
            if batch.messageCount > 0 { hasUnsearched = true }
            wordsAfter = batch.messageCount > rules.rows / 2 ? now + rules.wordsDelay : nil
            if isTroubleTold { news = .recovered(notKept: notKeptInTrouble) }
            (failures, retryAt, isTroubleTold, notKeptInTrouble) = (0, nil, false, 0)
            if waiting.isEmpty { isHurried = false }
        case .failed(let error):
            putBack(batch, at: now)
            let pause = min(rules.longestPause, rules.pause * (1 << min(failures, 16)))
            failures += 1
            retryAt = now + pause
            isHurried = false
            news = tell(error)
        case .impossible(let error):
            // The same batch would fail for ever, and hold up all that follows.
            notKept += batch.messageCount
            notKeptInTrouble += batch.messageCount
            isHurried = false
            news = tell(error)
        }
        return (next(at: now), news)
    }

    /// Some messages were added to the search's words.
    package mutating func indexed(hasMore: Bool, at now: ContinuousClock.Instant) -> Step {
        isBusy = false
        hasUnsearched = hasMore
        return next(at: now)
    }

    // MARK: Steps

    private mutating func next(at now: ContinuousClock.Instant) -> Step {
        guard !isBusy else { return .none }
        guard let since else {
            guard hasUnsearched, failures == 0 else { return .none }
            if let wordsAfter, wordsAfter > now { return sleep(until: wordsAfter) }
            isBusy = true
            return .index
        }
        let isLarge = waiting.rows >= rules.rows || waiting.bytes >= rules.maximumBytes / 4
        var due = isHurried || isLarge ? now : since + rules.delay
        if waiting.isPersonal { due = min(due, lastWritten.map { $0 + rules.personalPause } ?? now) }
        if let retryAt, !isHurried { due = retryAt }
        guard due > now else {
            isBusy = true
            return .write
        }
        return sleep(until: due)
    }

    private mutating func sleep(until moment: ContinuousClock.Instant) -> Step {
        if let alarm, alarm <= moment { return .none }
        alarm = moment
        return .sleep(until: moment)
    }

    private mutating func putBack(_ batch: Batch, at now: ContinuousClock.Instant) {
        var whole = batch
        whole.add(waiting)
        waiting = whole
        if !whole.isEmpty { since = since ?? now }
    }

    private mutating func tell(_ error: RelayError) -> StoreNews? {
        guard !isTroubleTold else { return nil }
        isTroubleTold = true
        return .failing(error)
    }
}
