import NIOConcurrencyHelpers

/// Letters that were deleted over one connection a moment ago. A replica that lags behind lists them for a moment more,
/// and no caller is to have them again. They are forgotten with the connection, and a minute after the last one: what a
/// server has again after a crash is there, and is listed.
final class DeletedLetters: Sendable {
    /// No replica lags behind for so long.
    static let lag = Duration.seconds(60)

    private struct State {
        var ids = RecentSet<String>(capacity: 16_384)
        /// When all of them are forgotten; nil where there is none.
        var end: ContinuousClock.Instant?

        mutating func pass(_ now: ContinuousClock.Instant) {
            if let end, end <= now { self = State() }
        }
    }

    private let state = NIOLockedValueBox(State())
    private let clock: any Timekeeper

    init(clock: any Timekeeper) { self.clock = clock }

    /// Takes in that a letter is gone.
    func insert(_ id: String) {
        let now = clock.now
        state.withLockedValue { state in
            state.pass(now)
            _ = state.ids.insert(id)
            state.end = now + Self.lag
        }
    }

    /// Whether a letter was deleted a moment ago.
    func contains(_ id: String) -> Bool {
        let now = clock.now
        return state.withLockedValue { state in
            state.pass(now)
            return state.ids.contains(id)
        }
    }
}
