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

    @Test("B38 goes on behind what was received, and says nothing where nothing was lost")
    func goesOn() {
        var fresh = StreamProgress()
        let nowhere = fresh.resume(Self.extent(1, 9), in: "s")
        #expect(nowhere == nil && fresh.stream == Self.stream)
        fresh.begin(at: 4)
        let begin = fresh.resume(Self.extent(1, 9), in: "s")
        #expect(begin == .sequence(4))
        var progress = Self.progress(through: 5)
        for _ in 0..<2 {
            let next = progress.resume(Self.extent(1, 9), in: "s")
            #expect(next == .sequence(6))
        }
        let untold = progress.takeUntold()
        #expect(untold == StreamProgress.Untold())
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
        let told = progress.takeUntold()
        #expect(told == StreamProgress.Untold(isRestarted: true))
        // A stream whose time is not known is taken for the same.
        let same = progress.resume(Self.extent(1, 60, incarnation: nil), in: "s")
        let nothing = progress.takeUntold()
        #expect(same == .sequence(1) && nothing == StreamProgress.Untold())
        _ = progress.resume(Self.extent(1, 60, incarnation: 8), in: "other")
        let another = progress.takeUntold()
        #expect(another.isRestarted)
    }

    @Test("B38 messages that took the place of lost ones are read, though more have come since the loss was found")
    func rewound() {
        var progress = Self.progress(through: 50)
        #expect(progress.stream(lostBehind: Self.extent(1, 40), in: "s") == Self.stream)
        #expect(progress.stream(lostBehind: Self.extent(1, 50), in: "s") == nil)
        #expect(progress.stream(lostBehind: Self.extent(1, 40, incarnation: 8), in: "s") == nil)
        let places = ([40, 70] as [UInt64]).map { progress.resume(Self.extent(1, $0), in: "s") }
        #expect(places == [.sequence(41), .sequence(41)])
        let told = progress.takeUntold()
        #expect(told == StreamProgress.Untold(isRewound: true))
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
}
