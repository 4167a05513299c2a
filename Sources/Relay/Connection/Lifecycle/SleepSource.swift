import NIOConcurrencyHelpers

/// Reports that the machine has slept, by comparing two clocks of which only one advances during sleep. It runs no
/// timer, and looks only when the client is awake anyway.
public final class SleepSource: LifecycleSource {
    private let gauge: NIOLockedValueBox<SleepGauge>
    private let read: @Sendable () -> SleepGauge.Reading?

    /// A source that reads the system's clocks.
    public convenience init() { self.init { SleepGauge.Reading.system() } }

    /// As the public form, with other clocks.
    init(reading read: @escaping @Sendable () -> SleepGauge.Reading?) {
        self.read = read
        gauge = NIOLockedValueBox(SleepGauge())
    }

    /// Starts to compare the clocks.
    public func begin(_ receiver: LifecycleReceiver) { _ = look() }

    /// Compares the clocks.
    ///
    /// - Returns: ``LifecycleEvent/woke(after:)`` if the machine slept since the last look.
    public func look() -> LifecycleEvent? {
        guard let reading = read() else { return nil }
        return gauge.withLockedValue { $0.take(reading) }.map { .woke(after: $0) }
    }

    /// Does nothing.
    public func end() {}
}

/// Measures the machine's sleep between two readings of its clocks, as a pure value.
struct SleepGauge: Sendable {
    /// Both clocks at one moment.
    struct Reading: Sendable {
        /// Advances while the machine sleeps (Linux's boot-time clock).
        var continuous: ContinuousClock.Instant
        /// Stops while the machine sleeps (Linux's monotonic clock).
        var suspending: SuspendingClock.Instant

        /// The system's clocks now; nil if this thread is interrupted too often to read them together.
        static func system() -> Reading? {
            for _ in 0..<4 {
                let before = SuspendingClock.now
                let continuous = ContinuousClock.now
                let after = SuspendingClock.now
                // A process stopped between the two readings would look like a machine that slept.
                if after - before < .milliseconds(20) { return Reading(continuous: continuous, suspending: after) }
            }
            return nil
        }
    }

    /// A shorter sleep does not harm a connection, and the clocks differ a little.
    static let shortest = Duration.seconds(1)
    private var last: Reading?

    /// Handles a reading.
    ///
    /// - Returns: How long the machine slept since the last one; nil if it did not.
    mutating func take(_ reading: Reading) -> Duration? {
        guard let earlier = exchange(&last, with: reading) else { return nil }
        let asleep = (reading.continuous - earlier.continuous) - (reading.suspending - earlier.suspending)
        return asleep >= Self.shortest ? asleep : nil
    }
}
