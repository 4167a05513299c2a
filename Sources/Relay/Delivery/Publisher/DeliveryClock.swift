import NATS
import NIOConcurrencyHelpers

/// The one alarm for all that waits for a moment on the way of messages: callers whose time is up, and what is to be
/// done then.
final class DeliveryClock: Sendable {
    /// Who waits.
    enum Name: Hashable, Sendable {
        /// ``Delivery``, for what it holds back.
        case delivery
        /// ``OutboxJournal``, for what is to be written.
        case journal
        /// A caller, for the end of what it sent.
        case caller(UInt64)
    }

    private enum Wait: Sendable {
        case receipt(Completion<PublishNews.State?>)
        case act(@Sendable () -> Void)
    }

    private struct State {
        var deadlines = DeadlineTable<Name>()
        var waits: [Name: Wait] = [:]
        var callers: UInt64 = 0
        var alarm: Task<Void, Never>?
    }

    private let state = NIOLockedValueBox(State())
    private let clock: any Timekeeper

    init(_ clock: any Timekeeper) { self.clock = clock }

    deinit { state.withLockedValue { $0.alarm?.cancel() } }

    /// The present moment.
    var now: ContinuousClock.Instant { clock.now }

    /// Returns when this time has passed, or the task was cancelled.
    func pause(_ time: Duration) async { try? await clock.sleep(for: time) }

    /// Has something done at a moment, in place of what was to be done under the same name.
    func set(_ name: Name, at moment: ContinuousClock.Instant, _ act: @escaping @Sendable () -> Void) {
        state.withLockedValue { set(name, at: moment, .act(act), &$0) }
    }

    /// Nothing is to be done under a name any more.
    func remove(_ name: Name) {
        state.withLockedValue { state in
            state.deadlines.remove(name)
            state.waits[name] = nil
        }
    }

    /// Waits for a message's end; nil when `limit` has passed.
    nonisolated(nonsending) func outcome(
        of waiter: Completion<PublishNews.State?>, within limit: Duration
    ) async -> PublishNews.State? {
        let deadline = now + max(.zero, limit)
        let name = state.withLockedValue { state in
            state.callers += 1
            let name = Name.caller(state.callers)
            set(name, at: deadline, .receipt(waiter), &state)
            return name
        }
        defer { remove(name) }
        return await waiter.value(onCancel: .failed(.cancelled))
    }

    private func set(_ name: Name, at moment: ContinuousClock.Instant, _ wait: Wait, _ state: inout State) {
        state.waits[name] = wait
        if let alarm = state.deadlines.set(name, to: moment) { setAlarm(alarm, &state) }
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
            let (late, alarm) = state.deadlines.ring(at: clock.now)
            if let alarm { setAlarm(alarm, &state) }
            return late.compactMap { state.waits.removeValue(forKey: $0) }
        }
        for wait in late {
            switch wait {
            case .receipt(let waiter): waiter.fulfil(nil)
            case .act(let act): act()
            }
        }
    }
}
