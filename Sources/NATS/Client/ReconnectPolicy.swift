/// When to retry after a connection failed, and when to give up.
public struct ReconnectPolicy: Hashable, Sendable {
    /// The randomness of each wait.
    public enum Jitter: Hashable, Sendable {
        /// Each wait is exactly as scheduled.
        case none
        /// Each wait is drawn evenly from zero to the scheduled value, so that many clients do not return at once.
        case full
    }

    /// The waits before the first, second, … retry. The last one repeats; without any there is no wait.
    public var schedule: [Duration]
    /// The longest wait.
    public var cap: Duration
    /// The longest outage before the client gives up, by the clock; nil never gives up.
    public var window: Duration?
    /// The randomness of each wait.
    public var jitter: Jitter
    /// The outage after which ``ConnectionStatus/isLongOutage`` is set. Nothing else changes.
    public var longOutage = Duration.seconds(120)
    /// The shortest time between two dials when a person's keys ask for attempts.
    public var nudgeSpacing = Duration.milliseconds(500)
    /// How long a connection must have been open for its loss to restart the schedule rather than continue it.
    public var stableAfter = Duration.seconds(5)

    /// Creates a policy.
    public init(
        schedule: [Duration],
        cap: Duration = .seconds(64),
        window: Duration? = nil,
        jitter: Jitter = .none
    ) {
        self.schedule = schedule
        self.cap = cap
        self.window = window
        self.jitter = jitter
    }

    /// Parley's default: RongCloud's ladder with full jitter, capped at 30 s, without a window.
    public static let parley = ReconnectPolicy(schedule: ladder, cap: .seconds(30), jitter: .full)
    /// RelayX: retries every 1 s and gives up after 120 s by the clock.
    public static let relayx = ReconnectPolicy(schedule: [.seconds(1)], cap: .seconds(1), window: .seconds(120))
    /// RongCloud and Nexconn: 0.05, 0.25, 0.5, 1, 2, 4, 8, 16, 32, then 64 s, without a window.
    public static let rongcloud = ReconnectPolicy(schedule: ladder, cap: .seconds(64))
    /// Supabase: 7, 14, 28, then 30 s, without a window.
    public static let supabase = ReconnectPolicy(
        schedule: [.seconds(7), .seconds(14), .seconds(28), .seconds(30)],
        cap: .seconds(30)
    )

    /// The preset of this name, as a profile in the configuration writes it.
    public static func named(_ name: String) -> ReconnectPolicy? {
        ["parley": parley, "relayx": relayx, "rongcloud": rongcloud, "supabase": supabase][name]
    }

    private static let ladder: [Duration] = [
        .milliseconds(50), .milliseconds(250), .milliseconds(500), .seconds(1), .seconds(2), .seconds(4), .seconds(8),
        .seconds(16), .seconds(32), .seconds(64),
    ]

    /// The wait before a retry, from zero to ``cap``; attempts below 1 count as the first.
    public func delay(attempt: Int, using generator: inout some RandomNumberGenerator) -> Duration {
        guard !schedule.isEmpty else { return .zero }
        let base = max(.zero, min(schedule[min(max(attempt, 1) - 1, schedule.count - 1)], cap))
        switch jitter {
        case .none: return base
        case .full: return base * Double.random(in: 0...1, using: &generator)
        }
    }
}
