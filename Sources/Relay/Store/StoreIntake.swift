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
    /// How long what is left for later waits behind a batch of many messages, as more of them are likely to follow.
    package var laterDelay: Duration
    /// How many bytes of a burst's messages may be kept that are no rows yet. To make rows of all of them, which the
    /// next reader may have to wait for, takes some 10 ms for each MiB.
    package var maximumStagedBytes: Int
    /// What a person has read or typed is written at once, with all that came before it, but not sooner than this after
    /// the batch before: where much comes, a batch holds many messages.
    package var personalPause: Duration

    /// Makes rules.
    package init(
        delay: Duration = .milliseconds(100), rows: Int = 1_000, maximumRows: Int = 16_000,
        maximumBytes: Int = 32 << 20, patience: Duration = .seconds(5), pause: Duration = .seconds(1),
        longestPause: Duration = .seconds(30), laterDelay: Duration = .milliseconds(250),
        maximumStagedBytes: Int = 64 << 20, personalPause: Duration = .milliseconds(50)
    ) {
        self.delay = delay
        self.rows = max(1, rows)
        self.maximumRows = max(1, maximumRows)
        self.maximumBytes = max(1, maximumBytes)
        self.patience = patience
        self.pause = pause
        self.longestPause = longestPause
        self.laterDelay = laterDelay
        self.maximumStagedBytes = maximumStagedBytes
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
/// is never ahead of.
///
/// The messages of a burst are kept at once, many in one value. Once it is over, rows are made of them, and then the
/// search's words of the rows. Where too much has come together, rows are made of some of it between two batches.
package struct StoreIntake: Sendable {
    /// What is written in one transaction.
    package struct Batch: Sendable {
        /// Messages of topics, as they came together: none of them is copied on its way.
        package private(set) var parts: [EncodedMessages] = []
        /// How many there are.
        package private(set) var messageCount = 0
        /// Everything else, written behind the messages: a cursor is never ahead of what it has passed.
        package private(set) var changes: [StoreChange] = []
        /// The payloads' bytes.
        package private(set) var bytes = 0
        /// Whether it has what a person has read or typed.
        package private(set) var isPersonal = false
        /// Whether rows are made of the messages later.
        package var isStaged = false

        /// An empty batch.
        package init() {}

        /// The messages.
        package var messages: [KeptMessage] { parts.flatMap(\.messages) }
        /// How many messages and changes there are.
        package var rows: Int { messageCount + changes.count }
        /// Whether there is nothing.
        package var isEmpty: Bool { rows == 0 }

        fileprivate mutating func add(_ messages: EncodedMessages) {
            parts.append(messages)
            messageCount += messages.count + messages.refused
            bytes += messages.payloadBytes
        }

        fileprivate mutating func add(_ later: Batch) {
            parts += later.parts
            messageCount += later.messageCount
            bytes += later.bytes
            changes += later.changes
            isPersonal = isPersonal || later.isPersonal
        }

        /// So far back a change looks for one that it takes the place of: as many subscriptions may write by turns.
        private static let reach = 64

        /// Adds a change, or has it take the place of one that says no more beside it: a subscription whose messages
        /// come in many parts has one cursor, and one span that grows, and a conversation one draft and one mark.
        fileprivate mutating func add(_ change: StoreChange) {
            if change.isPersonal { isPersonal = true }
            for index in changes.indices.suffix(Self.reach).reversed() {
                switch (changes[index], change) {
                case (.cursor(let earlier, _), .cursor(let name, _)) where earlier == name:
                    changes[index] = change
                    return
                case (.received(let earlier, let stream, let span), .received(let name, let other, let next))
                where earlier == name && stream == other && span.upperBound < .max
                    && span.upperBound + 1 == next.lowerBound:
                    changes[index] = .received(name, stream, span.lowerBound...next.upperBound)
                    return
                case (.draft(let earlier, _), .draft(let conversation, _)) where earlier == conversation:
                    changes[index] = change
                    return
                case (.readMark(let earlier, let place), .readMark(let name, let next))
                where earlier == name && place.stream == next.stream:
                    if place.sequence < next.sequence { changes[index] = change }
                    return
                case (.readMark(let earlier, _), .readMark(let name, _)) where earlier == name:
                    changes.append(change)
                    return
                case (.cursor, _), (.received, _), (.draft, _), (.readMark, _): continue
                default:
                    changes.append(change)
                    return
                }
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
        /// Makes rows of some messages that are kept, and calls ``unpacked(stagedBytes:at:)``.
        case unpack
        /// Adds some messages to the search's words, and calls ``indexed(hasMore:at:)``.
        case index
    }

    /// How the writing of a batch went.
    package enum Ending: Hashable, Sendable {
        /// It is kept; so many of its messages have no place in a store, and so many bytes of messages are no rows now.
        case written(refused: Int, stagedBytes: Int)
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
    /// How many bytes of the messages that are kept are no rows yet.
    private var stagedBytes: Int
    /// When rows may be made of them, and the search's words may be added to.
    private var laterAfter: ContinuousClock.Instant?

    private var failures = 0
    private var retryAt: ContinuousClock.Instant?
    private var isTroubleTold = false
    private var notKeptInTrouble = 0

    /// Nothing waits.
    ///
    /// - Parameters:
    ///   - hasUnsearched: whether the search's words lack messages from an earlier run of the program.
    ///   - stagedBytes: how many bytes of messages from an earlier run are no rows yet.
    package init(rules: StoreBatching = StoreBatching(), hasUnsearched: Bool = false, stagedBytes: Int = 0) {
        self.rules = rules
        self.hasUnsearched = hasUnsearched
        self.stagedBytes = stagedBytes
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
        _ messages: [EncodedMessages], _ changes: [StoreChange] = [], at now: ContinuousClock.Instant
    ) -> Step {
        guard !messages.isEmpty || !changes.isEmpty else { return .none }
        for part in messages { waiting.add(part) }
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
        var batch = waiting
        batch.isStaged = batch.messageCount >= rules.rows && stagedBytes < rules.maximumStagedBytes
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
        case .written(let refused, let stagedBytes):
            notKept += refused
            lastWritten = now
            self.stagedBytes = stagedBytes
            if batch.messageCount > 0 { hasUnsearched = true }
            laterAfter = batch.messageCount > rules.rows / 2 ? now + rules.laterDelay : nil
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

    /// Rows were made of some messages.
    ///
    /// - Parameter stagedBytes: how many bytes of messages are no rows yet; nil where it did not go well. The next
    ///   batch brings it back then.
    package mutating func unpacked(stagedBytes: Int?, at now: ContinuousClock.Instant) -> Step {
        isBusy = false
        self.stagedBytes = stagedBytes ?? 0
        hasUnsearched = true
        return next(at: now)
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
            guard stagedBytes > 0 || hasUnsearched, failures == 0 else { return .none }
            if let laterAfter, laterAfter > now { return sleep(until: laterAfter) }
            isBusy = true
            return stagedBytes > 0 ? .unpack : .index
        }
        let isLarge = waiting.rows >= rules.rows || waiting.bytes >= rules.maximumBytes / 4
        var due = isHurried || isLarge ? now : since + rules.delay
        if waiting.isPersonal { due = min(due, lastWritten.map { $0 + rules.personalPause } ?? now) }
        if let retryAt, !isHurried { due = retryAt }
        guard due > now else {
            isBusy = true
            return stagedBytes > 0 && stagedBytes >= rules.maximumStagedBytes && failures == 0 && !isHurried
                ? .unpack : .write
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
        whole.isStaged = false
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
