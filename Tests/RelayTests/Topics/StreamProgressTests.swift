import NATS
import Testing

@testable import Relay

@Suite("Topics: how far a subscription has come")
struct StreamProgressTests {
    private static let stream = StreamIdentity(name: "s", incarnation: 7)

    private static func extent(_ first: UInt64, _ last: UInt64, incarnation: UInt64? = 7) -> StreamExtent {
        StreamExtent(incarnation: incarnation, first: first, last: last)
    }

    private static func place(_ sequence: UInt64) -> KeptPlace { KeptPlace(stream: stream, sequence: sequence) }

    /// One that has received everything up to a sequence.
    private static func progress(through sequence: UInt64) -> StreamProgress {
        StreamProgress(after: place(sequence))
    }

    private enum Verdict { case new, recovered, repeated }

    private func judge(_ progress: inout StreamProgress, sequence: UInt64, repetition: Int? = nil) -> Verdict {
        let wasLive = progress.isLive
        return progress.receive(sequence: sequence, repetition: repetition) ? wasLive ? .new : .recovered : .repeated
    }

    /// Goes on in the stream: where, and how many messages are told as lost.
    private func resume(_ progress: inout StreamProgress, first: UInt64, newest: UInt64) -> (StartPosition?, UInt64) {
        let start = progress.resume(Self.extent(first, newest), in: "s")
        return (start, progress.takeUntold().lost)
    }

    @Test("B38 goes on behind what was received, and says nothing where nothing was lost")
    func goesOn() {
        var fresh = StreamProgress()
        #expect(fresh.resume(Self.extent(1, 9), in: "s") == nil && fresh.stream == Self.stream)
        fresh.begin(at: 4)
        #expect(fresh.resume(Self.extent(1, 9), in: "s") == .sequence(4))
        var progress = Self.progress(through: 5)
        for _ in 0..<2 {
            #expect(progress.resume(Self.extent(1, 9), in: "s") == .sequence(6))
        }
        #expect(progress.takeUntold() == StreamProgress.Untold())
        let changes = progress.takeChanges(of: "t", behind: 5, first: 8, through: Self.place(9))
        #expect(changes == [.received("t", Self.stream, 6...9), .cursor("t", Self.place(9))])
    }

    @Test("B38 what was lost over several connections is told once, in one figure, and kept as one hole")
    func losses() {
        var progress = Self.progress(through: 5)
        let places = [Self.extent(8, 9), Self.extent(20, 30)].map { progress.resume($0, in: "s") }
        #expect(places == [.sequence(8), .sequence(20)])
        let told = [progress.takeUntold(), progress.takeUntold()]
        #expect(told == [StreamProgress.Untold(lost: 14), StreamProgress.Untold()])
        let hole = progress.takeChanges(of: "t", behind: 19, first: 20, through: Self.place(20))
        #expect(
            hole == [
                .gap("t", Self.stream, KeptGap(end: 20, lost: 14)), .received("t", Self.stream, 6...20),
                .cursor("t", Self.place(20)),
            ])
        let next = progress.takeChanges(of: "t", behind: 20, first: 21, through: Self.place(21))
        #expect(next == [.received("t", Self.stream, 21...21), .cursor("t", Self.place(21))])
    }

    @Test("B38 a stream that was made anew is read from its beginning, and that is told though a connection is lost")
    func restarted() {
        var progress = Self.progress(through: 50)
        let places = ([3, 60] as [UInt64]).map { progress.resume(Self.extent(1, $0, incarnation: 8), in: "s") }
        #expect(places == [.sequence(1), .sequence(1)] && progress.stream?.incarnation == 8)
        #expect(progress.takeUntold() == StreamProgress.Untold(isRestarted: true))
        // A stream whose time is not known is taken for the same.
        let same = progress.resume(Self.extent(1, 60, incarnation: nil), in: "s")
        #expect(progress.takeUntold() == StreamProgress.Untold() && same == .sequence(1))
        _ = progress.resume(Self.extent(1, 60, incarnation: 8), in: "other")
        #expect(progress.takeUntold().isRestarted)
    }

    @Test("B38 messages that took the place of lost ones are read, though more have come since the loss was found")
    func rewound() {
        var progress = Self.progress(through: 50)
        #expect(progress.stream(lostBehind: Self.extent(1, 40), in: "s") == Self.stream)
        #expect(progress.stream(lostBehind: Self.extent(1, 50), in: "s") == nil)
        #expect(progress.stream(lostBehind: Self.extent(1, 40, incarnation: 8), in: "s") == nil)
        let places = ([40, 70] as [UInt64]).map { progress.resume(Self.extent(1, $0), in: "s") }
        #expect(places == [.sequence(41), .sequence(41)])
        #expect(progress.takeUntold() == StreamProgress.Untold(isRewound: true))
    }

    @Test("B38 what others store while it is found out whether messages are lost is read, and a lag changes nothing")
    func storedMeanwhile() {
        var progress = Self.progress(through: 50)
        for end in [42, 40, 45] as [UInt64] { progress.look(at: Self.extent(1, end), in: "s") }
        #expect(progress.end(of: Self.extent(1, 47)) == 40)
        #expect(progress.resume(Self.extent(1, 47), in: "s") == .sequence(41) && !progress.isLive)
        var lagging = Self.progress(through: 50)
        lagging.look(at: Self.extent(1, 40), in: "s")
        let next = lagging.resume(Self.extent(1, 52), in: "s")
        #expect(lagging.takeUntold() == StreamProgress.Untold() && next == .sequence(51))
        // A later loss has nothing to do with it.
        #expect(lagging.resume(Self.extent(1, 48), in: "s") == .sequence(49))
    }

    @Test("B38 a sequence that is still to come is waited for over any number of connections, and can be lost later")
    func stillToCome() {
        var progress = StreamProgress()
        _ = progress.resume(Self.extent(1, 9), in: "s")
        progress.begin(at: 20, in: 9)
        let places = ([9, 12, 19, 25] as [UInt64]).map { progress.resume(Self.extent(1, $0), in: "s") }
        #expect(places == [.sequence(20), .sequence(20), .sequence(20), .sequence(20)])
        #expect(progress.takeUntold() == StreamProgress.Untold())
        #expect(progress.resume(Self.extent(1, 12), in: "s") == .sequence(13))
        #expect(progress.takeUntold() == StreamProgress.Untold(isRewound: true))
    }

    @Test("With the newest message of each topic, what is stored later comes in full")
    func newestOfEach() {
        var progress = StreamProgress()
        _ = progress.resume(Self.extent(1, 9), in: "s")
        progress.begin(wholeBehind: 9)
        let choice = progress.takeChanges(of: "t", behind: nil, first: 3, through: Self.place(9))
        #expect(choice == [.cursor("t", Self.place(9))])
        let whole = progress.takeChanges(of: "t", behind: 9, first: 12, through: Self.place(12))
        #expect(whole == [.received("t", Self.stream, 10...12), .cursor("t", Self.place(12))])
    }

    @Test("B38: messages are new once, by sequence and by identifier")
    func duplicates() {
        var progress = StreamProgress()
        #expect(judge(&progress, sequence: 5, repetition: 1) == .new)
        #expect(judge(&progress, sequence: 5, repetition: 1) == .repeated)
        #expect(judge(&progress, sequence: 4, repetition: 3) == .repeated)
        #expect(judge(&progress, sequence: 9, repetition: 1) == .repeated, "The same message stored twice")
        #expect(judge(&progress, sequence: 9, repetition: 2) == .repeated, "Its sequence has been passed")
        #expect(judge(&progress, sequence: 10) == .new)
        #expect(progress.last == 10)
    }

    @Test("B38: the rest may hold nothing for this subscription")
    func nothingOfOurs() {
        var progress = Self.progress(through: 10)
        _ = resume(&progress, first: 1, newest: 13)
        progress.reach(13)
        #expect(progress.isLive && progress.last == 10)
        #expect(resume(&progress, first: 1, newest: 13) == (.sequence(11), 0))
        #expect(progress.isLive)
    }

    @Test(
        "B38: what the stream no longer has is counted as lost",
        arguments: [
            (10, 11, 20, 11, 0), (10, 12, 20, 12, 1), (10, 16, 20, 16, 5), (10, 10, 20, 11, 0), (10, 21, 20, 21, 10),
            (0, 1, 5, 1, 0), (0, 4, 5, 4, 3),
        ] as [(UInt64, UInt64, UInt64, UInt64, UInt64)]
    ) func gaps(_ last: UInt64, _ first: UInt64, _ newest: UInt64, _ start: UInt64, _ lost: UInt64) {
        var progress = Self.progress(through: last)
        #expect(resume(&progress, first: first, newest: newest) == (.sequence(start), lost))
        #expect(progress.isLive == (newest < first))
        #expect(judge(&progress, sequence: start) != .repeated)
    }

    @Test("A subscription that has seen nothing goes on with new messages")
    func fresh() {
        var progress = StreamProgress()
        #expect(resume(&progress, first: 5, newest: 90) == (nil, 0))
        #expect(progress.isLive && judge(&progress, sequence: 91) == .new)
    }

    @Test("The largest sequences do not overflow")
    func extremes() {
        var progress = Self.progress(through: .max)
        #expect(resume(&progress, first: 1, newest: .max).0 == .sequence(.max))
        #expect(judge(&progress, sequence: .max) == .repeated)
        progress = Self.progress(through: 0)
        #expect(resume(&progress, first: .max, newest: .max).1 == UInt64.max - 1)
    }

    @Test("B38: under random outages and repetitions each stored message is delivered once, in order, or counted lost")
    func random() {
        for seed in 0..<200 as Range<UInt64> {
            var random = SeededGenerator(seed: seed)
            var progress = Self.progress(through: 0)
            var first: UInt64 = 1
            var newest: UInt64 = 0
            var delivered: [UInt64] = []
            var lost: UInt64 = 0
            for _ in 0..<40 {
                newest += .random(in: 0...10, using: &random)
                if Int.random(in: 0..<4, using: &random) == 0 {
                    first = min(first + .random(in: 0...15, using: &random), newest + 1)
                }
                let (start, gone) = resume(&progress, first: first, newest: newest)
                lost += gone
                guard case .sequence(var next) = start else { continue }
                // The server repeats a few and may break off at any point.
                next -= min(next - first, .random(in: 0...3, using: &random))
                let end = Int.random(in: 0..<3, using: &random) == 0 ? (next + newest) / 2 : newest
                while next <= end {
                    let isRecovered = !progress.isLive
                    if progress.receive(sequence: next, repetition: Int(next)) {
                        delivered.append(next)
                        #expect(isRecovered)
                    }
                    next += 1
                }
            }
            #expect(delivered == delivered.sorted() && Set(delivered).count == delivered.count)
            #expect(UInt64(delivered.count) + lost == progress.last)
        }
    }

    @Test("B38: what a replica shows late is no repetition, though the server said that nothing more was there")
    func laggingReplica() {
        var progress = Self.progress(through: 98)
        #expect(judge(&progress, sequence: 99) == .new)
        progress.reach(100)
        #expect(judge(&progress, sequence: 100) == .new)
        progress.reach(200)
        // None of the hundred that are gone was this subscription's.
        #expect(resume(&progress, first: 201, newest: 210) == (.sequence(201), 0))
        // The stream lost its newest messages: what comes has their sequences.
        progress = Self.progress(through: 5)
        progress.reach(100)
        #expect(resume(&progress, first: 1, newest: 50) == (.sequence(6), 0))
        #expect(judge(&progress, sequence: 51) == .new)
    }
}
