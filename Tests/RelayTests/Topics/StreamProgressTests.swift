import NATS
import Testing

@testable import Relay

@Suite("Topics: how far a subscription has come")
struct StreamProgressTests {
    private static let stream = StreamIdentity(name: "s", incarnation: 7)

    private static func extent(_ first: UInt64, _ last: UInt64, incarnation: UInt64? = 7) -> StreamExtent {
        StreamExtent(incarnation: incarnation, first: first, last: last)
    }

    /// One that has received everything up to a sequence.
    private static func progress(through sequence: UInt64) -> StreamProgress {
        StreamProgress(after: KeptPlace(stream: stream, sequence: sequence))
    }

    @Test("B38 goes on behind what was received, and says nothing where nothing was lost")
    func goesOn() {
        var fresh = StreamProgress()
        #expect(fresh.resume(Self.extent(1, 9), in: "s") == nil && fresh.stream == Self.stream)
        fresh.begin(at: 4)
        #expect(fresh.resume(Self.extent(1, 9), in: "s") == .sequence(4))
        var progress = Self.progress(through: 5)
        for _ in 0..<2 { #expect(progress.resume(Self.extent(1, 9), in: "s") == .sequence(6)) }
        #expect(progress.takeUntold() == StreamProgress.Untold())
        #expect(progress.takeHole(behind: 5, first: 8) == (nil, 6))
    }

    @Test("B38 what was lost over several connections is told once, in one figure, and kept as one hole")
    func losses() {
        var progress = Self.progress(through: 5)
        #expect(progress.resume(Self.extent(8, 9), in: "s") == .sequence(8))
        #expect(progress.resume(Self.extent(20, 30), in: "s") == .sequence(20))
        #expect(progress.takeUntold() == StreamProgress.Untold(lost: 14))
        #expect(progress.takeUntold() == StreamProgress.Untold())
        let (gap, whole) = progress.takeHole(behind: 19, first: 20)
        #expect(gap == KeptGap(end: 20, lost: 14) && whole == 6)
        #expect(progress.takeHole(behind: 20, first: 21).gap == nil)
    }

    @Test("B38 a stream that was made anew is read from its beginning, and that is told though a connection is lost")
    func restarted() {
        var progress = Self.progress(through: 50)
        #expect(progress.resume(Self.extent(1, 3, incarnation: 8), in: "s") == .sequence(1))
        #expect(progress.stream?.incarnation == 8)
        #expect(progress.resume(Self.extent(1, 60, incarnation: 8), in: "s") == .sequence(1))
        #expect(progress.takeUntold() == StreamProgress.Untold(isRestarted: true))
        // A stream whose time is not known is taken for the same.
        #expect(progress.resume(Self.extent(1, 60, incarnation: nil), in: "s") == .sequence(1))
        #expect(progress.takeUntold() == StreamProgress.Untold())
        _ = progress.resume(Self.extent(1, 60, incarnation: 8), in: "other")
        #expect(progress.takeUntold().isRestarted)
    }

    @Test("B38 messages that took the place of lost ones are read, though more have come since the loss was found")
    func rewound() {
        var progress = Self.progress(through: 50)
        #expect(progress.stream(lostBehind: Self.extent(1, 40), in: "s") == Self.stream)
        #expect(progress.stream(lostBehind: Self.extent(1, 50), in: "s") == nil)
        #expect(progress.stream(lostBehind: Self.extent(1, 40, incarnation: 8), in: "s") == nil)
        #expect(progress.resume(Self.extent(1, 40), in: "s") == .sequence(41))
        #expect(progress.resume(Self.extent(1, 70), in: "s") == .sequence(41))
        #expect(progress.takeUntold() == StreamProgress.Untold(isRewound: true))
    }

    @Test("With the newest message of each topic, what is stored later comes in full")
    func newestOfEach() {
        var progress = StreamProgress()
        #expect(progress.resume(Self.extent(1, 9), in: "s") == nil)
        progress.begin(wholeBehind: 9)
        #expect(progress.takeHole(behind: nil, first: 3) == (nil, 10))
    }
}
