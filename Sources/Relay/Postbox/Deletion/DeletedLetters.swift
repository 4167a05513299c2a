import NATS
import NIOConcurrencyHelpers

/// Letters deleted over one connection a moment ago. A replica that lags behind may list them a little longer, but no
/// caller should see them again. They are forgotten with the connection, and a minute after the last deletion: a letter
/// that a server has again after a crash exists, and is listed.
final class DeletedLetters: Sendable {
    /// No replica lags behind for this long.
    static let lag = Duration.seconds(60)

    private struct State {
        /// When the letters' stream was created, in nanoseconds since 1970.
        var incarnation: UInt64 = 0
        var places = RecentSet<UInt64>(capacity: 16_384)
        /// When all of them are forgotten; nil if there are none.
        var end: ContinuousClock.Instant?

        /// Forgets deletions that are over or of another stream.
        mutating func pass(to now: ContinuousClock.Instant, in incarnation: UInt64) {
            let isOver = end.map { $0 <= now } ?? false
            if isOver || self.incarnation != incarnation { self = State(incarnation: incarnation) }
        }
    }

    private let state = NIOLockedValueBox(State())
    private let clock: any Timekeeper

    init(clock: any Timekeeper) { self.clock = clock }

    func insert(_ letter: PostboxMessageID) {
        let now = clock.now
        state.withLockedValue { state in
            state.pass(to: now, in: letter.incarnation)
            state.places.insert(letter.sequence)
            state.end = now + Self.lag
        }
    }

    /// The sequences of deleted letters in a stream.
    ///
    /// - Parameter incarnation: When the stream was created, in nanoseconds since 1970.
    func places(in incarnation: UInt64) -> RecentSet<UInt64> {
        let now = clock.now
        return state.withLockedValue { state in
            state.pass(to: now, in: incarnation)
            return state.places
        }
    }
}
