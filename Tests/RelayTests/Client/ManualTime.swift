import NIOConcurrencyHelpers

@testable import Relay

/// A clock that a test moves.
final class ManualTime: Timekeeper {
    private struct State {
        var now = ContinuousClock.Instant.now
        var sleepers: [UInt64: (moment: ContinuousClock.Instant, continuation: CheckedContinuation<Void, any Error>)] =
            [:]
        var next: UInt64 = 0
    }

    private let state = NIOLockedValueBox(State())
    private let start = ContinuousClock.now

    var now: ContinuousClock.Instant { state.withLockedValue(\.now) }

    var secondsSince1970: Int64 { 1_900_000_000 + (now - start).components.seconds }

    func sleep(until moment: ContinuousClock.Instant) async throws {
        let key = state.withLockedValue { state in
            state.next += 1
            return state.next
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let isOver = state.withLockedValue { state in
                    guard state.now < moment, !Task.isCancelled else { return true }
                    state.sleepers[key] = (moment, continuation)
                    return false
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            let sleeper = state.withLockedValue { $0.sleepers.removeValue(forKey: key) }
            sleeper?.continuation.resume(throwing: CancellationError())
        }
        try Task.checkCancellation()
    }

    /// How often somebody has begun to sleep.
    var sleeps: UInt64 { state.withLockedValue(\.next) }

    /// How long the next sleeper has to wait; nil while there is no sleeper.
    var untilNext: Duration? {
        state.withLockedValue { state in state.sleepers.values.map { $0.moment - state.now }.min() }
    }

    /// How long those who sleep have to wait, the shortest first.
    var waits: [Duration] {
        state.withLockedValue { state in state.sleepers.values.map { $0.moment - state.now }.sorted() }
    }

    /// Lets this time pass, and wakes who waited for a moment in it.
    func advance(by duration: Duration) {
        let woken = state.withLockedValue { state in
            state.now += duration
            let due = state.sleepers.filter { $0.value.moment <= state.now }
            for key in due.keys { state.sleepers[key] = nil }
            return due.values.sorted { $0.moment < $1.moment }
        }
        for sleeper in woken { sleeper.continuation.resume() }
    }
}
