import NATS
import NIOConcurrencyHelpers

/// Letters that were deleted over one connection a moment ago. A replica that lags behind lists them for a moment more,
/// and no caller is to have them again. They are forgotten with the connection, and a minute after the last one: what a
/// server has again after a crash is there, and is listed.
final class DeletedLetters: Sendable {
    /// No replica lags behind for so long.
    static let lag = Duration.seconds(60)

    private struct State {
        /// When the letters' stream was made, in nanoseconds since 1970.
        var incarnation: UInt64 = 0
        var places = RecentSet<UInt64>(capacity: 16_384)
        /// When all of them are forgotten; nil where there is none.
        var end: ContinuousClock.Instant?

        /// Forgets what is over, and what was in another stream.
        mutating func pass(to now: ContinuousClock.Instant, in incarnation: UInt64) {
            let isOver = end.map { $0 <= now } ?? false
            if isOver || self.incarnation != incarnation { self = State(incarnation: incarnation) }
        }
    }

    private let state = NIOLockedValueBox(State())
    private let clock: any Timekeeper

    init(clock: any Timekeeper) { self.clock = clock }

    /// Takes in that a letter is gone.
    func insert(_ letter: PostboxMessageID) {
        let now = clock.now
        state.withLockedValue { state in
            state.pass(to: now, in: letter.incarnation)
            state.places.insert(letter.sequence)
            state.end = now + Self.lag
        }
    }

    /// Where the letters were in a stream.
    ///
    /// - Parameter incarnation: when the stream was made, in nanoseconds since 1970.
    func places(in incarnation: UInt64) -> RecentSet<UInt64> {
        let now = clock.now
        return state.withLockedValue { state in
            state.pass(to: now, in: incarnation)
            return state.places
        }
    }
}
