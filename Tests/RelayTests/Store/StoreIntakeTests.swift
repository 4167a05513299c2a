import Testing

@testable import Relay

@Suite("Local store: when what waits is written")
struct StoreIntakeTests {
    private let start = ContinuousClock.now
    private let error = RelayError.storage("the disk is full")

    private func intake(_ rules: StoreBatching = StoreBatching()) -> StoreIntake { StoreIntake(rules: rules) }

    private func lines(_ count: Int) -> [KeptMessage] { (0..<count).map { StoreFixture.line(UInt64($0 + 1)) } }

    @Test("A message is written after 100 ms, with all that came meanwhile")
    func delay() {
        var intake = intake()
        let due = start + .milliseconds(100)
        intake.add(lines(1), at: start)
        #expect(intake.next(at: start) == .wait(until: due))
        intake.add(lines(2), at: start + .milliseconds(60))
        #expect(intake.next(at: start + .milliseconds(60)) == .nothing)
        #expect(intake.batch(at: due)?.messageCount == 3)
        #expect(intake.written(refused: 0, at: due) == nil)
        #expect(intake.batches == 0 && intake.next(at: due) == .index)
    }

    @Test("A thousand messages are written at once, and what comes during that waits for its end")
    func rows() {
        var intake = intake()
        intake.add(lines(1_000), at: start)
        #expect(intake.batch(at: start)?.messageCount == 1_000)
        intake.add(lines(1_000), at: start)
        #expect(intake.next(at: start) == .nothing)
        _ = intake.written(refused: 0, at: start)
        #expect(intake.batch(at: start)?.messageCount == 1_000)
    }

    @Test("However many parts come of some subscriptions, each has one cursor and one span where nothing is missing")
    func merged() {
        var intake = intake()
        let stream = StoreFixture.stream
        for part in UInt64(0)..<10 {
            for name in ["chat.lobby", "chat.qa"] {
                let (first, last) = (part * 100 + 1, part * 100 + 100)
                intake.add(
                    [], [.received(name, stream, first...last), .cursor(name, StoreFixture.place(last))], at: start)
            }
        }
        let gap = StoreChange.gap("chat.qa", stream, KeptGap(end: 1_500, lost: 499))
        intake.add([], [gap, .received("chat.qa", stream, 1_001...1_600)], at: start)
        intake.add([], [.received("chat.lobby", stream, 1_200...1_300)], at: start)
        #expect(
            intake.batch(at: start + .milliseconds(100))?.changes == [
                .received("chat.lobby", stream, 1...1_000), .cursor("chat.lobby", StoreFixture.place(1_000)),
                .received("chat.qa", stream, 1...1_600), .cursor("chat.qa", StoreFixture.place(1_000)), gap,
                .received("chat.lobby", stream, 1_200...1_300),
            ])
    }

    @Test("What a person has read or typed is written at once with what came before, and then every 50 ms at most")
    func personal() {
        let mark = StoreChange.readMark("chat.lobby", StoreFixture.place(1))
        for change in [mark, .draft(conversation: "chat.lobby", "h"), .letterRead(id: "1", postbox: "personal")] {
            var intake = intake()
            intake.add(lines(3), at: start)
            intake.add([], [change], at: start)
            let batch = intake.batch(at: start)
            #expect(batch?.messageCount == 3 && batch?.changes == [change])
            // What comes meanwhile waits for its end, and a moment longer, so that batches stay large in a flood.
            intake.add(lines(3), [change], at: start)
            #expect(intake.next(at: start) == .nothing)
            _ = intake.written(refused: 0, at: start)
            #expect(intake.next(at: start) == .wait(until: start + .milliseconds(50)))
            intake.add(lines(1_000), at: start)
            #expect(intake.batch(at: start)?.messageCount == 1_003)
            _ = intake.written(refused: 0, at: start)
            // Messages alone wait as long as ever.
            let later = start + .seconds(1)
            intake.add(lines(1), at: later)
            #expect(intake.next(at: later) == .wait(until: later + .milliseconds(100)))
            intake.add([], [change], at: later)
            #expect(intake.batch(at: later) != nil)
        }
    }

    @Test("What a person reads or types on a disk that takes nothing does not have it tried more often")
    func personalInTrouble() {
        var intake = intake()
        let change = StoreChange.draft(conversation: "chat.lobby", "h")
        intake.add([], [change], at: start)
        #expect(intake.batch(at: start) != nil)
        #expect(intake.failed(because: error, mayPass: true, at: start) == .failing(error))
        #expect(intake.next(at: start) == .wait(until: start + .seconds(1)))
        intake.add([], [change], at: start + .milliseconds(500))
        #expect(intake.next(at: start + .milliseconds(500)) == .nothing)
        #expect(intake.batch(at: start + .seconds(1))?.changes == [change])
    }

    @Test("A conversation has one draft and one mark, the newest, whatever else waits between them")
    func newestOfEach() {
        var intake = intake()
        let place = StoreFixture.place
        let anew = KeptPlace(stream: StreamIdentity(name: "N_stream", incarnation: 2_000), sequence: 1)
        intake.add(
            [],
            [
                .draft(conversation: "a", "o"), .readMark("a", place(1)), .cursor("a", place(1)),
                .draft(conversation: "b", "t"), .draft(conversation: "a", "on"), .readMark("a", place(3)),
                .cursor("a", place(3)), .readMark("a", place(2)), .readMark("b", place(1)), .readMark("b", anew),
            ], at: start)
        #expect(
            intake.batch(at: start)?.changes == [
                .draft(conversation: "a", "on"), .readMark("a", place(3)), .cursor("a", place(3)),
                .draft(conversation: "b", "t"), .readMark("b", anew),
            ])
    }

    @Test("There is room for so many messages and bytes, those under way included")
    func room() {
        var intake = intake(StoreBatching(rows: 2, maximumRows: 4))
        intake.add(lines(2), at: start)
        #expect(intake.batch(at: start) != nil && intake.hasRoom)
        intake.add(lines(2), at: start)
        #expect(!intake.hasRoom)
        _ = intake.written(refused: 0, at: start)
        #expect(intake.hasRoom)

        var small = StoreIntake(rules: StoreBatching(maximumBytes: 1))
        small.add(lines(1), at: start)
        #expect(!small.hasRoom)
    }

    @Test("What cannot be written waits in its order, is tried again after longer and longer pauses, and is told once")
    func failing() {
        var intake = intake()
        let (first, second) = ([StoreFixture.line(1)], [StoreFixture.line(2)])
        intake.add(first, at: start)
        var now = start + .milliseconds(100)
        #expect(intake.batch(at: now)?.messageCount == 1)
        intake.add(second, at: now)
        #expect(intake.failed(because: error, mayPass: true, at: now) == .failing(error))
        #expect(intake.isInTrouble)
        for pause in [1, 2, 4, 8, 16, 30, 30] {
            #expect(intake.next(at: now) == .wait(until: now + .seconds(pause)))
            now += .seconds(pause)
            #expect(intake.batch(at: now)?.parts == [first, second])
            #expect(intake.failed(because: error, mayPass: true, at: now) == nil)
        }
        #expect(intake.giveUp(3, because: error) == nil)
        intake.hurry()
        #expect(intake.batch(at: now)?.messageCount == 2)
        #expect(intake.written(refused: 0, at: now) == .recovered(notKept: 3))
        #expect(intake.notKept == 3 && !intake.isInTrouble)
    }

    @Test("What is to be written at once is, with what came before it, and holds for nothing that comes later")
    func hurried() {
        var intake = intake()
        intake.hurry()
        intake.add(lines(1), at: start)
        #expect(intake.batch(at: start) == nil, "Nothing waited")
        intake.hurry()
        #expect(intake.batch(at: start)?.messageCount == 1 && intake.batches == 1)
        intake.add(lines(2), at: start)
        #expect(intake.batches == 2)
        intake.hurry()
        _ = intake.written(refused: 0, at: start)
        #expect(intake.batches == 1 && intake.batch(at: start)?.messageCount == 2)
        intake.add(lines(3), at: start)
        _ = intake.written(refused: 0, at: start)
        #expect(intake.batches == 1 && intake.batch(at: start) == nil)
    }

    @Test("What can never be written holds up nothing")
    func impossible() {
        var intake = intake(StoreBatching(rows: 1))
        intake.add(lines(2), at: start)
        #expect(intake.batch(at: start) != nil)
        #expect(intake.failed(because: error, mayPass: false, at: start) == .failing(error))
        #expect(intake.batches == 0 && intake.notKept == 2 && intake.next(at: start) == .nothing)
        intake.add(lines(1), at: start)
        #expect(intake.batch(at: start) != nil)
        #expect(intake.written(refused: 1, at: start) == .recovered(notKept: 2))
        #expect(intake.notKept == 3)
    }

    @Test("The search's words are brought up to date while nothing waits")
    func words() {
        var intake = StoreIntake(rules: StoreBatching(rows: 2), hasUnsearched: true)
        #expect(intake.next(at: start) == .index)
        intake.add(lines(2), at: start)
        #expect(intake.next(at: start) == .nothing)
        intake.indexed(hasMore: true)
        #expect(intake.batch(at: start) != nil)
        // Behind a large batch more is likely to follow, and comes first.
        let quiet = start + .milliseconds(250)
        _ = intake.written(refused: 0, at: start)
        #expect(intake.next(at: start) == .wait(until: quiet))
        let later = start + .milliseconds(100)
        intake.add(lines(2), at: later)
        #expect(intake.batch(at: later) != nil)
        _ = intake.written(refused: 0, at: later)
        #expect(intake.next(at: later) == .nothing)
        #expect(intake.next(at: quiet) == .wait(until: later + .milliseconds(250)))
        #expect(intake.next(at: later + .milliseconds(250)) == .index)
        intake.indexed(hasMore: true)
        #expect(intake.next(at: later + .milliseconds(260)) == .index)
        intake.indexed(hasMore: false)
        #expect(intake.next(at: later + .milliseconds(270)) == .nothing)
    }
}

extension StoreIntake {
    /// What is to be written now; nil where that is nothing.
    fileprivate mutating func batch(at now: ContinuousClock.Instant) -> Batch? {
        if case .write(let batch) = next(at: now) { batch } else { nil }
    }
}
