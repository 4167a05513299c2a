import NATS
import Platform

/// Where a client takes the time from: the system, or a test that moves it by hand.
package protocol Timekeeper: Sendable {
    /// The present moment; moments never go back.
    var now: ContinuousClock.Instant { get }
    /// Seconds since 1970, by the clock on the wall, which may be wrong.
    var secondsSince1970: Int64 { get }
    /// Returns when the moment has come.
    ///
    /// - Throws: `CancellationError` when the task is cancelled first.
    func sleep(until moment: ContinuousClock.Instant) async throws
}

extension Timekeeper {
    /// Returns when this time has passed.
    package func sleep(for duration: Duration) async throws { try await sleep(until: now + duration) }
}

/// The system's time.
package struct SystemTime: Timekeeper {
    /// The system's time.
    package init() {}

    package var now: ContinuousClock.Instant { .now }

    package var secondsSince1970: Int64 { Int64(Date().timeIntervalSince1970) }

    package func sleep(until moment: ContinuousClock.Instant) async throws {
        try await Task.sleep(until: moment, clock: .continuous)
    }
}

/// Runs work for a limited time, and goes on without its result when it takes longer.
///
/// - Returns: the result; nil when the time was up, or when the task was cancelled. Work that heeds cancellation is
///   then cancelled.
package func within<Value: Sendable>(
    _ limit: Duration, _ clock: any Timekeeper = SystemTime(), _ work: @escaping @Sendable () async -> Value
) async -> Value? {
    let outcome = Completion<Value?>()
    let worker = Task.detached { _ = outcome.fulfil(await work()) }
    let alarm = Task.detached {
        try? await clock.sleep(for: limit)
        outcome.fulfil(nil)
    }
    defer {
        worker.cancel()
        alarm.cancel()
    }
    return await outcome.value(onCancel: nil)
}
