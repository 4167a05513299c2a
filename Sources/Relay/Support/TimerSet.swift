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

extension Actor {
    /// Runs `body` in the actor's isolation.
    func run<Value: Sendable>(_ body: @Sendable (isolated Self) throws -> Value) rethrows -> Value {
        try body(self)
    }
}
