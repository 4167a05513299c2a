import Testing

@testable import Relay

@Suite("Local store: when what waits is written")
struct StoreIntakeTests {
    private let start = ContinuousClock.now
    private let error = RelayError.storage("the disk is full")

    /// An intake whose search's words are up to date.
    private func intake(_ rules: StoreBatching = StoreBatching()) -> StoreIntake {
        var intake = StoreIntake(rules: rules, hasUnsearched: true)
        #expect(intake.alarmed(at: start) == .index)
        #expect(intake.indexed(hasMore: false, at: start) == .none)
        return intake
    }

    private func lines(_ count: Int) -> [KeptMessage] { (0..<count).map { StoreFixture.line(UInt64($0 + 1)) } }

    @Test("A message is written after 100 ms, with all that came meanwhile")
    func delay() {
        var intake = intake()
        let due = start + .milliseconds(100)
        #expect(intake.add(lines(1), at: start) == .sleep(until: due))
        #expect(intake.add(lines(2), at: start + .milliseconds(60)) == .none)
        #expect(intake.alarmed(at: due) == .write)
        #expect(intake.take().messageCount == 3)
        #expect(intake.ended(.written(refused: 0), at: due).step == .index)
        #expect(intake.isEmpty)
    }

    @Test("A thousand messages are written at once, and what comes during that waits for its end")
    func rows() {
        var intake = intake()
        #expect(intake.add(lines(1_000), at: start) == .write)
        #expect(intake.take().messageCount == 1_000)
        #expect(intake.add(lines(1_000), at: start) == .none)
        #expect(intake.ended(.written(refused: 0), at: start).step == .write)
        #expect(intake.take().messageCount == 1_000)
    }

    @Test("However many parts come of some subscriptions, each has one cursor and one span where nothing is missing")
    func merged() {
        var intake = intake()
        let stream = StoreFixture.stream
        for part in UInt64(0)..<10 {
            for name in ["chat.lobby", "chat.qa"] {
                let (first, last) = (part * 100 + 1, part * 100 + 100)
                _ = intake.add(
                    [], [.received(name, stream, first...last), .cursor(name, StoreFixture.place(last))], at: start)
            }
        }
        let gap = StoreChange.gap("chat.qa", stream, KeptGap(end: 1_500, lost: 499))
        _ = intake.add([], [gap, .received("chat.qa", stream, 1_001...1_600)], at: start)
        _ = intake.add([], [.received("chat.lobby", stream, 1_200...1_300)], at: start)
        #expect(intake.alarmed(at: start + .milliseconds(100)) == .write)
        #expect(
            intake.take().changes == [
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
            _ = intake.add(lines(3), at: start)
            #expect(intake.add([], [change], at: start) == .write)
            let batch = intake.take()
            #expect(batch.messageCount == 3 && batch.changes == [change])
            // What comes meanwhile waits for its end, and a moment longer, so that batches stay large in a flood.
            _ = intake.add(lines(3), at: start)
            #expect(intake.add([], [change], at: start) == .none)
            let soon = start + .milliseconds(50)
            #expect(intake.ended(.written(refused: 0), at: start).step == .sleep(until: soon))
            #expect(intake.add(lines(1_000), at: start) == .write)
            #expect(intake.take().messageCount == 1_003)
            _ = intake.ended(.written(refused: 0), at: start)
            // Messages alone wait as long as ever.
            let later = start + .seconds(1)
            _ = intake.alarmed(at: later)
            _ = intake.indexed(hasMore: false, at: later)
            #expect(intake.add(lines(1), at: later) == .sleep(until: later + .milliseconds(100)))
            #expect(intake.add([], [change], at: later) == .write)
        }
    }

    @Test("What a person reads or types on a disk that takes nothing does not have it tried more often")
    func personalInTrouble() {
        var intake = intake()
        let change = StoreChange.draft(conversation: "chat.lobby", "h")
        #expect(intake.add([], [change], at: start) == .write)
        _ = intake.take()
        #expect(intake.ended(.failed(error), at: start).step == .sleep(until: start + .seconds(1)))
        #expect(intake.add([], [change], at: start + .milliseconds(500)) == .none)
        #expect(intake.alarmed(at: start + .seconds(1)) == .write)
    }

    @Test("A conversation has one draft and one mark, the newest, whatever else waits between them")
    func newestOfEach() {
        var intake = intake()
        let place = StoreFixture.place
        let anew = KeptPlace(stream: StreamIdentity(name: "N_stream", incarnation: 2_000), sequence: 1)
        _ = intake.add(
            [],
            [
                .draft(conversation: "a", "o"), .readMark("a", place(1)), .cursor("a", place(1)),
                .draft(conversation: "b", "t"), .draft(conversation: "a", "on"), .readMark("a", place(3)),
                .cursor("a", place(3)), .readMark("a", place(2)), .readMark("b", place(1)), .readMark("b", anew),
            ], at: start)
        #expect(
            intake.take().changes == [
                .draft(conversation: "a", "on"), .readMark("a", place(3)), .cursor("a", place(3)),
                .draft(conversation: "b", "t"), .readMark("b", anew),
            ])
    }

    @Test("There is room for so many messages and bytes, those under way included")
    func room() {
        var intake = intake(StoreBatching(rows: 2, maximumRows: 4))
        #expect(intake.add(lines(2), at: start) == .write)
        _ = intake.take()
        #expect(intake.hasRoom)
        _ = intake.add(lines(2), at: start)
        #expect(!intake.hasRoom)
        #expect(intake.ended(.written(refused: 0), at: start).step == .write)
        #expect(intake.hasRoom)

        var small = StoreIntake(rules: StoreBatching(maximumBytes: 1))
        _ = small.add(lines(1), at: start)
        #expect(!small.hasRoom)
    }

    @Test("What cannot be written waits in its order, is tried again after longer and longer pauses, and is told once")
    func failing() {
        var intake = intake()
        _ = intake.add(lines(1), at: start)
        #expect(intake.alarmed(at: start + .milliseconds(100)) == .write)
        _ = intake.take()
        var now = start + .milliseconds(100)
        var (step, news) = intake.ended(.failed(error), at: now)
        #expect(news == .failing(error) && intake.isInTrouble)
        for pause in [1, 2, 4, 8, 16, 30, 30] {
            #expect(step == .sleep(until: now + .seconds(pause)))
            now += .seconds(pause)
            #expect(intake.alarmed(at: now) == .write)
            #expect(intake.take().messageCount == 1)
            (step, news) = intake.ended(.failed(error), at: now)
            #expect(news == nil)
        }
        #expect(intake.giveUp(3, because: error) == nil)
        #expect(intake.hurry(at: now) == .write)
        #expect(intake.take().messageCount == 1)
        (step, news) = intake.ended(.written(refused: 0), at: now)
        #expect(news == .recovered(notKept: 3) && intake.notKept == 3 && !intake.isInTrouble)
    }

    @Test("What can never be written holds up nothing")
    func impossible() {
        var intake = intake(StoreBatching(rows: 1))
        #expect(intake.add(lines(2), at: start) == .write)
        _ = intake.take()
        let (step, news) = intake.ended(.impossible(error), at: start)
        #expect(step == .none && news == .failing(error))
        #expect(intake.isEmpty && intake.notKept == 2)
        #expect(intake.add(lines(1), at: start) == .write)
        _ = intake.take()
        #expect(intake.ended(.written(refused: 1), at: start).news == .recovered(notKept: 2))
        #expect(intake.notKept == 3)
    }

    @Test("The search's words are brought up to date while nothing waits")
    func words() {
        var intake = intake(StoreBatching(rows: 2))
        _ = intake.add(lines(1), at: start)
        _ = intake.take()
        #expect(intake.ended(.written(refused: 0), at: start).step == .index)
        #expect(intake.add(lines(2), at: start) == .none)
        #expect(intake.indexed(hasMore: true, at: start) == .write)
        _ = intake.take()
        // Behind a large batch more is likely to follow, and comes first.
        let quiet = start + .milliseconds(250)
        #expect(intake.ended(.written(refused: 0), at: start).step == .none)
        #expect(intake.add(lines(2), at: start) == .write)
        _ = intake.take()
        let later = start + .milliseconds(100)
        #expect(intake.ended(.written(refused: 0), at: later).step == .none)
        #expect(intake.alarmed(at: quiet) == .sleep(until: later + .milliseconds(250)))
        #expect(intake.alarmed(at: later + .milliseconds(250)) == .index)
        #expect(intake.indexed(hasMore: true, at: later + .milliseconds(260)) == .index)
        #expect(intake.indexed(hasMore: false, at: later + .milliseconds(270)) == .none)
    }
}
