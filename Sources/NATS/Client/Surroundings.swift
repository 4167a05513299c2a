import Platform

/// A client's outside world: the network and the time.
package struct Surroundings: Sendable {
    package typealias Dialer =
        @Sendable (ServerAddress, ConnectOptions) async throws(NATSError) -> NATSConnection

    package var dial: Dialer
    package var clock: any Timekeeper
    /// How long a JetStream request waits for its answer.
    package var answerLimit: Duration
    /// How often a server signals an idle reader that it is alive.
    package var heartbeat: Duration

    package init(
        dial: @escaping Dialer = { (address, options) async throws(NATSError) in
            try await NATSConnection.connect(to: address, options: options)
        },
        clock: any Timekeeper = SystemTime(), answerLimit: Duration = .seconds(5),
        heartbeat: Duration = .seconds(10)
    ) {
        self.dial = dial
        self.clock = clock
        self.answerLimit = answerLimit
        self.heartbeat = heartbeat
    }
}

/// A client's source of time: the system, or a test that moves it by hand.
package protocol Timekeeper: Sendable {
    /// The present moment; moments never go backwards.
    var now: ContinuousClock.Instant { get }
    /// Seconds since 1970 by the wall clock, which may be wrong.
    var secondsSince1970: Int64 { get }
    /// Sleeps until the moment; throws `CancellationError` if the task is cancelled first.
    func sleep(until moment: ContinuousClock.Instant) async throws
}

extension Timekeeper {
    package func sleep(for duration: Duration) async throws { try await sleep(until: now + duration) }
}

package struct SystemTime: Timekeeper {
    package init() {}

    package var now: ContinuousClock.Instant { .now }

    package var secondsSince1970: Int64 { Int64(Date().timeIntervalSince1970) }

    package func sleep(until moment: ContinuousClock.Instant) async throws {
        try await Task.sleep(until: moment, clock: .continuous)
    }
}

/// Running timers by their names. Their owner ends them with `cancelAll`.
package struct TimerSet<ID: Hashable & Sendable> {
    private var tasks: [ID: Task<Void, Never>] = [:]

    package init() {}

    /// Calls back in the owner's isolation at a moment, unless the timer is cancelled first.
    package mutating func start<Owner: Actor>(
        _ id: ID, at moment: ContinuousClock.Instant, on clock: any Timekeeper, for owner: Owner,
        _ fire: @escaping @Sendable (isolated Owner) -> Void
    ) {
        cancel(id)
        tasks[id] = Task { [weak owner] in
            try? await clock.sleep(until: moment)
            guard !Task.isCancelled else { return }
            await owner?.run(fire)
        }
    }

    package mutating func cancel(_ id: ID) { tasks.removeValue(forKey: id)?.cancel() }

    package func isRunning(_ id: ID) -> Bool { tasks[id] != nil }

    package func cancelAll() {
        for task in tasks.values { task.cancel() }
    }
}

extension Actor {
    package func run<Value: Sendable>(_ body: @Sendable (isolated Self) throws -> Value) rethrows -> Value {
        try body(self)
    }
}
