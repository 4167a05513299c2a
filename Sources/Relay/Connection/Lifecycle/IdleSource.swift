import NIOConcurrencyHelpers

/// Treats a person who does nothing for a while as away, and reports the background; their next action reports the
/// foreground. For a program with no other way to know whether it is being used.
///
/// ```swift
/// let idle = IdleSource(after: .seconds(600))
/// configuration.handleAppLifecycle = true
/// configuration.lifecycleSources = { [SleepSource(), idle] }
/// // For each key, click or call:
/// idle.noteActivity()
/// ```
///
/// It runs no timer while the person is away.
public final class IdleSource: LifecycleSource {
    private struct State {
        var lastActivity: ContinuousClock.Instant
        var isAway = false
        var receiver: LifecycleReceiver?
        var alarm: Task<Void, Never>?
    }

    private let time: Duration
    private let clock: any Timekeeper
    private let state: NIOLockedValueBox<State>

    /// A source that reports the background after this long without activity; one second at least.
    public convenience init(after time: Duration) { self.init(after: time, clock: SystemTime()) }

    /// As the public form, with another clock.
    init(after time: Duration, clock: any Timekeeper) {
        self.time = max(time, .seconds(1))
        self.clock = clock
        state = NIOLockedValueBox(State(lastActivity: clock.now))
    }

    deinit { end() }

    /// Reports activity. Cheap enough to call for every key.
    public func noteActivity() {
        let now = clock.now
        // Sent under the lock, so that an absence and its end reach the client in order.
        let hasReturned = state.withLockedValue { state in
            state.lastActivity = now
            guard exchange(&state.isAway, with: false) else { return false }
            state.receiver?.tell(.foreground)
            return true
        }
        if hasReturned { wait() }
    }

    /// Starts with a person who is present.
    public func begin(_ receiver: LifecycleReceiver) {
        let now = clock.now
        state.withLockedValue { ($0.receiver, $0.lastActivity, $0.isAway) = (receiver, now, false) }
        wait()
    }

    /// Stops reporting.
    public func end() {
        let alarm = state.withLockedValue { state in
            state.receiver = nil
            return exchange(&state.alarm, with: nil)
        }
        alarm?.cancel()
    }

    private func wait() {
        let task = Task { [weak self, clock] in
            while let moment = self?.nextLook() {
                do { try await clock.sleep(until: moment) } catch { return }
            }
        }
        let replaced = state.withLockedValue { state in
            state.receiver == nil ? task : exchange(&state.alarm, with: task)
        }
        replaced?.cancel()
    }

    /// Reports the background once the time is up.
    ///
    /// - Returns: When to look again; nil if there is nothing to wait for.
    private func nextLook() -> ContinuousClock.Instant? {
        let now = clock.now
        return state.withLockedValue { state in
            guard let receiver = state.receiver, !state.isAway else { return nil }
            guard now >= state.lastActivity + time else { return state.lastActivity + time }
            state.isAway = true
            receiver.tell(.background)
            return nil
        }
    }
}
