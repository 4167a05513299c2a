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
        var gauge: IdleGauge
        var receiver: LifecycleReceiver?
        var alarm: Task<Void, Never>?
    }

    private let state: NIOLockedValueBox<State>
    private let clock: any Timekeeper

    /// A source that tells the background after this time without a sign of the person.
    public convenience init(after time: Duration) { self.init(after: time, clock: SystemTime()) }

    /// As the public form, by another clock.
    init(after time: Duration, clock: any Timekeeper) {
        self.clock = clock
        state = NIOLockedValueBox(State(gauge: IdleGauge(after: time, at: clock.now)))
    }

    deinit { end() }

    /// The person has done something. Costs next to nothing: it may be called for every key.
    public func noteActivity() {
        let now = clock.now
        // Told under the lock, so that the client hears of an absence and its end in their order.
        let hasReturned = state.withLockedValue { state in
            guard state.gauge.active(at: now) else { return false }
            state.receiver?.tell(.foreground)
            return true
        }
        if hasReturned { wait() }
    }

    /// Begins with a person who is there.
    public func begin(_ receiver: LifecycleReceiver) {
        let now = clock.now
        state.withLockedValue { state in
            state.receiver = receiver
            _ = state.gauge.active(at: now)
        }
        wait()
    }

    /// Tells nothing any more.
    public func end() {
        let alarm = state.withLockedValue { state in
            state.receiver = nil
            defer { state.alarm = nil }
            return state.alarm
        }
        alarm?.cancel()
    }

    private func wait() {
        let task = Task { [weak self, clock] in
            while true {
                guard let moment = self?.step() else { return }
                do { try await clock.sleep(until: moment) } catch { return }
            }
        }
        let replaced = state.withLockedValue { state -> Task<Void, Never>? in
            guard state.receiver != nil else { return task }
            defer { state.alarm = task }
            return state.alarm
        }
        replaced?.cancel()
    }

    /// Tells the background when the time is up.
    ///
    /// - Returns: when to look again; nil when there is nothing more to wait for.
    private func step() -> ContinuousClock.Instant? {
        let now = clock.now
        return state.withLockedValue { state -> ContinuousClock.Instant? in
            guard let receiver = state.receiver else { return nil }
            switch state.gauge.look(at: now) {
            case .wait(let moment): return moment
            case .leave: receiver.tell(.background)
            case .nothing: break
            }
            return nil
        }
    }
}

/// Whether a person who does nothing counts as away, as a value.
struct IdleGauge: Sendable, Hashable {
    /// What a look leads to.
    enum Step: Sendable, Hashable {
        /// Look again then.
        case wait(until: ContinuousClock.Instant)
        /// The person counts as away from now on.
        case leave
        /// They count as away already.
        case nothing
    }

    /// How long without a sign of them.
    let time: Duration
    private(set) var isAway = false
    private var last: ContinuousClock.Instant

    init(after time: Duration, at now: ContinuousClock.Instant) {
        self.time = max(time, .seconds(1))
        last = now
    }

    /// The person has done something.
    ///
    /// - Returns: whether they counted as away.
    mutating func active(at now: ContinuousClock.Instant) -> Bool {
        last = now
        defer { isAway = false }
        return isAway
    }

    /// The moment for a look has come.
    mutating func look(at now: ContinuousClock.Instant) -> Step {
        guard !isAway else { return .nothing }
        guard now >= last + time else { return .wait(until: last + time) }
        isAway = true
        return .leave
    }
}
