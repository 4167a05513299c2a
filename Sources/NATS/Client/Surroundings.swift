import Platform

/// What a client takes from the world around it: the network, and the time.
package struct Surroundings: Sendable {
    package typealias Dialer =
        @Sendable (ServerAddress, ConnectOptions) async throws(NATSError) -> NATSConnection

    package var dial: Dialer
    package var clock: any Timekeeper
    /// How long a question to JetStream waits for its answer.
    package var answerLimit: Duration
    /// How often a server tells a reader for whom it has nothing that it is there.
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

/// Where a client takes the time from: the system, or a test that moves it by hand.
package protocol Timekeeper: Sendable {
    /// The present moment; moments never go back.
    var now: ContinuousClock.Instant { get }
    /// Seconds since 1970, by the clock on the wall, which may be wrong.
    var secondsSince1970: Int64 { get }
    /// Returns when the moment has come; throws `CancellationError` when the task is cancelled first.
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

/// The timers that a machine has started, each by its name. They end with their owner's call of `cancelAll`.
package struct TimerSet<ID: Hashable & Sendable> {
    private var tasks: [ID: Task<Void, Never>] = [:]

    package init() {}

    /// Calls back in the owner's isolation at a moment, unless the timer is cancelled before.
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
