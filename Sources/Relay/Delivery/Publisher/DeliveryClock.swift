import NATS
import NIOConcurrencyHelpers

/// The one alarm for all that waits for a moment on the way of messages: callers whose time is up, and what is to be
/// done then.
///
/// A caller that sends many messages waits thousands of times a second, each time with a deadline seconds away that
/// hardly ever comes. So an alarm that is set stays set whatever becomes of the wait that it was set for, and looks
/// when it rings what is late.
final class DeliveryClock: Sendable {
    /// Who waits.
    enum Name: Hashable, Sendable {
        /// ``Delivery``, for what it holds back.
        case delivery
        /// ``OutboxJournal``, for what is to be written.
        case journal
        /// A caller, for the end of what it sent.
        case caller(ObjectIdentifier)
    }

    private struct Wait {
        let moment: ContinuousClock.Instant
        let act: @Sendable () -> Void
    }

    private struct State {
        var waits: [Name: Wait] = [:]
        /// When the alarm rings that is set; nil while none is.
        var alarm: (moment: ContinuousClock.Instant, task: Task<Void, Never>)?
    }

    private let state = NIOLockedValueBox(State())
    private let clock: any Timekeeper

    init(_ clock: any Timekeeper) { self.clock = clock }

    deinit { state.withLockedValue { $0.alarm?.task.cancel() } }

    /// The present moment.
    var now: ContinuousClock.Instant { clock.now }

    /// Returns when this time has passed, or the task was cancelled.
    func pause(_ time: Duration) async { try? await clock.sleep(for: time) }

    /// Has something done at a moment, in place of what was to be done under the same name.
    func set(_ name: Name, at moment: ContinuousClock.Instant, _ act: @escaping @Sendable () -> Void) {
        state.withLockedValue { state in
            state.waits[name] = Wait(moment: moment, act: act)
            setAlarm(by: moment, &state)
        }
    }

    /// Nothing is to be done under a name any more.
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
            // An alarm that was stopped too late rings in place of the one that is set.
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
