/// The timers that a machine has started, each by its name. They end with their owner's call of `cancelAll`.
struct TimerSet<ID: Hashable & Sendable> {
    private var tasks: [ID: Task<Void, Never>] = [:]

    /// Calls back at a moment, unless the timer is cancelled before.
    mutating func start(
        _ id: ID, at moment: ContinuousClock.Instant, on clock: any Timekeeper,
        _ fire: @escaping @Sendable () async -> Void
    ) {
        cancel(id)
        tasks[id] = Task {
            try? await clock.sleep(until: moment)
            guard !Task.isCancelled else { return }
            await fire()
        }
    }

    /// Forgets a timer, which has fired or is of no use any more.
    mutating func cancel(_ id: ID) { tasks.removeValue(forKey: id)?.cancel() }

    /// Whether a timer was started and not forgotten since.
    func isRunning(_ id: ID) -> Bool { tasks[id] != nil }

    /// Forgets all.
    func cancelAll() {
        for task in tasks.values { task.cancel() }
    }
}

extension RelayClient {
    /// Names a timer of one of the values that decide.
    enum TimerID: Hashable, Sendable {
        case connection(ConnectionMachine.TimerID)
        case lifecycle(LifecycleMachine.TimerID)
        case idle(IdleRest.TimerID)
        case presence(PresenceKeeping.TimerID)
        case screen(ScreenLease.TimerID)
        /// The next look at the signals of the application's life.
        case look
    }
}
