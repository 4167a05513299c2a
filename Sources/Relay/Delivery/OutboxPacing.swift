/// A limit on how fast messages leave: at most so many within any span of a certain length.
public struct OutboxPacing: Hashable, Sendable {
    /// The most messages within the span; at least 1.
    public var messages: Int
    /// The length of the span.
    public var span: Duration

    /// Makes a limit.
    public init(messages: Int, per span: Duration) {
        self.messages = max(messages, 1)
        self.span = span
    }

    /// RongCloud's limit for one client: five messages a second (20604).
    public static let rongcloud = OutboxPacing(messages: 5, per: .seconds(1))
}

/// Counts what left within the last span.
struct OutboxPace: Hashable, Sendable {
    private let pacing: OutboxPacing
    private var departures: [ContinuousClock.Instant] = []

    init(_ pacing: OutboxPacing) { self.pacing = pacing }

    /// When the next message may leave; now or earlier means at once.
    func next(at now: ContinuousClock.Instant) -> ContinuousClock.Instant {
        departures.count < pacing.messages ? now : departures[departures.count - pacing.messages] + pacing.span
    }

    mutating func depart(at now: ContinuousClock.Instant) {
        if departures.count >= pacing.messages { departures.removeFirst(departures.count - pacing.messages + 1) }
        departures.append(now)
    }
}
