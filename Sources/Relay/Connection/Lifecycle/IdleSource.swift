import NIOConcurrencyHelpers

/// Takes a person who does nothing for a while for one who is away, and tells the background; the next thing that they
/// do is the foreground. For a program that learns nothing else about being looked at.
///
/// ```swift
/// let idle = IdleSource(after: .seconds(600))
/// configuration.handleAppLifecycle = true
/// configuration.lifecycleSources = { [SleepSource(), idle] }
/// // For each key, click or call:
/// idle.noteActivity()
/// ```
///
/// While the person is away it runs no timer.
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

    /// A source that tells the background after this time without a sign of the person; a second at least.
    public convenience init(after time: Duration) { self.init(after: time, clock: SystemTime()) }

    /// As the public form, by another clock.
    init(after time: Duration, clock: any Timekeeper) {
        self.time = max(time, .seconds(1))
        self.clock = clock
        state = NIOLockedValueBox(State(lastActivity: clock.now))
    }

    deinit { end() }

    /// The person has done something. Costs next to nothing: it may be called for every key.
    public func noteActivity() {
        let now = clock.now
        // Told under the lock, so that the client hears of an absence and its end in their order.
        let hasReturned = state.withLockedValue { state in
            state.lastActivity = now
            guard exchange(&state.isAway, with: false) else { return false }
            state.receiver?.tell(.foreground)
            return true
        }
        if hasReturned { wait() }
    }

    /// Begins with a person who is there.
    public func begin(_ receiver: LifecycleReceiver) {
        let now = clock.now
        state.withLockedValue { ($0.receiver, $0.lastActivity, $0.isAway) = (receiver, now, false) }
        wait()
    }

    /// Tells nothing any more.
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

    /// Tells the background when the time is up.
    ///
    /// - Returns: when to look again; nil when there is nothing more to wait for.
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
