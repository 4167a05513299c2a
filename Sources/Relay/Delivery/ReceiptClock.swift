import NATS
import NIOConcurrencyHelpers

/// Tells callers that wait for a message's end when their time is up: one alarm for all of a client, on its clock.
final class ReceiptClock: Sendable {
    private struct State {
        var waiting = DeadlineTable<Completion<PublishOutcome?>>()
        var alarm: Task<Void, Never>?
    }

    private let state = NIOLockedValueBox(State())
    private let clock: any Timekeeper

    init(_ clock: any Timekeeper) { self.clock = clock }

    deinit { state.withLockedValue { $0.alarm?.cancel() } }

    /// Waits for a message's end; nil when `limit` has passed.
    nonisolated(nonsending) func outcome(
        of waiter: Completion<PublishOutcome?>, within limit: Duration
    ) async -> PublishOutcome? {
        let deadline = clock.now + max(.zero, limit)
        let key = state.withLockedValue { state in
            let (key, alarm) = state.waiting.add(waiter, until: deadline)
            if let alarm { setAlarm(alarm, &state) }
            return key
        }
        defer { state.withLockedValue { $0.waiting.remove(key) } }
        return await waiter.value(onCancel: .failed(.cancelled))
    }

    private func setAlarm(_ moment: ContinuousClock.Instant, _ state: inout State) {
        state.alarm?.cancel()
        state.alarm = Task { [weak self, clock] in
            do { try await clock.sleep(until: moment) } catch { return }
            self?.ring()
        }
    }

    private func ring() {
        let late = state.withLockedValue { state in
            let (late, alarm) = state.waiting.ring(at: clock.now)
            if let alarm { setAlarm(alarm, &state) }
            return late
        }
        for waiter in late { waiter.fulfil(nil) }
    }
}
