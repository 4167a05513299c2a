import NATS
import NIOConcurrencyHelpers

/// The single alarm for everything in delivery that waits for a moment: callers with a timeout, and scheduled work.
///
/// A caller that sends many messages waits thousands of times a second, each time with a deadline that is seconds away
/// and hardly ever reached. So an alarm that is set outlives its wait and checks, when it rings, what is due.
final class DeliveryClock: Sendable {
    enum Name: Hashable, Sendable {
        /// ``Delivery``, for messages on hold.
        case delivery
        /// ``OutboxJournal``, for its next write.
        case journal
        /// A caller, for the end of its message.
        case caller(ObjectIdentifier)
    }

    private struct Wait {
        let moment: ContinuousClock.Instant
        let act: @Sendable () -> Void
    }

    private struct State {
        var waits: [Name: Wait] = [:]
        /// When the alarm rings, and its task; nil while none is set.
        var alarm: (moment: ContinuousClock.Instant, task: Task<Void, Never>)?
    }

    private let state = NIOLockedValueBox(State())
    private let clock: any Timekeeper

    init(_ clock: any Timekeeper) { self.clock = clock }

    deinit { state.withLockedValue { $0.alarm?.task.cancel() } }

    var now: ContinuousClock.Instant { clock.now }

    /// Returns when this time has passed or the task is cancelled.
    func pause(_ time: Duration) async { try? await clock.sleep(for: time) }

    /// Schedules work at a moment, replacing any with the same name.
    func set(_ name: Name, at moment: ContinuousClock.Instant, _ act: @escaping @Sendable () -> Void) {
        state.withLockedValue { state in
            state.waits[name] = Wait(moment: moment, act: act)
            setAlarm(by: moment, &state)
        }
    }

    func remove(_ name: Name) { state.withLockedValue { $0.waits[name] = nil } }

    private func setAlarm(by moment: ContinuousClock.Instant, _ state: inout State) {
        if let alarm = state.alarm, alarm.moment <= moment { return }
        state.alarm?.task.cancel()
        let task = Task { [weak self, clock] in
            do { try await clock.sleep(until: moment) } catch { return }
            self?.ring()
        }
        state.alarm = (moment, task)
    }

    private func ring() {
        let late = state.withLockedValue { state in
            // An alarm that was cancelled too late rings in place of the present one.
            state.alarm?.task.cancel()
            state.alarm = nil
            let now = clock.now
            let late = state.waits.filter { $0.value.moment <= now }
            for name in late.keys { state.waits[name] = nil }
            if let next = state.waits.values.lazy.map(\.moment).min() { setAlarm(by: next, &state) }
            return late
        }
        for wait in late.values { wait.act() }
    }
}
