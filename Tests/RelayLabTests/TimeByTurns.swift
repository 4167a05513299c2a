import NIOConcurrencyHelpers
import Relay

/// Time in which what somebody waits for has its turns: a step has passed when who sleeps has been woken from it,
/// however long the machine took for that.
///
/// What a session in memory waits for needs some turns and no time. Between two looks of who waits everything else that
/// was ready has had a turn, so that its patience does not end while the machine does something else.
final class TimeByTurns: Timekeeper {
    private static let step = Duration.milliseconds(5)
    private let present = NIOLockedValueBox(ContinuousClock.now)

    var now: ContinuousClock.Instant { present.withLockedValue(\.self) }

    let secondsSince1970: Int64 = 1_900_000_000

    func sleep(until moment: ContinuousClock.Instant) async throws {
        try Task.checkCancellation()
        while case let began = now, began < moment {
            try await Task.sleep(for: Self.step)
            present.withLockedValue { $0 = max($0, min(began + Self.step, moment)) }
        }
    }
}
