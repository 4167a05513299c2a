/// Whether a subscription that is for a view on the screen is held, as a pure value: the view leaves and comes back,
/// and what becomes of the subscription goes out.
struct ScreenLease: Sendable, Hashable {
    /// Names the timer. One that was cancelled or replaced has another serial.
    struct TimerID: Sendable, Hashable {
        let subscription: String
        let serial: UInt64
    }

    /// What the driver does.
    enum Action: Sendable, Hashable {
        /// Report ``timerFired(_:)`` at this moment.
        case startTimer(TimerID, at: ContinuousClock.Instant)
        /// Forget a timer.
        case cancelTimer(TimerID)
        /// Let the subscription go; its place in the stream stays.
        case release(id: String)
        /// Take it again behind that place.
        case take(id: String)
    }

    /// The subscription.
    let subscription: String
    /// How long the view may be away before the subscription is let go.
    let grace: Duration
    /// Whether the view is on the screen, by the last word.
    private(set) var isOnScreen = true
    /// Whether the subscription was let go.
    private(set) var isReleased = false
    /// Whether the view is away and the subscription still held.
    var isWaiting: Bool { timer != nil }
    private var timer: TimerID?
    private var serial: UInt64 = 0

    init(of subscription: String, grace: Duration) {
        self.subscription = subscription
        self.grace = max(grace, .zero)
    }

    /// The view is on the screen, or is not. Repetitions are harmless.
    mutating func shown(_ isOnScreen: Bool, at now: ContinuousClock.Instant) -> [Action] {
        guard isOnScreen != self.isOnScreen else { return [] }
        self.isOnScreen = isOnScreen
        guard isOnScreen else {
            serial += 1
            let id = TimerID(subscription: subscription, serial: serial)
            timer = id
            return [.startTimer(id, at: now + grace)]
        }
        guard isReleased else { return settle() }
        isReleased = false
        return settle() + [.take(id: subscription)]
    }

    /// The timer has reached its moment.
    mutating func timerFired(_ id: TimerID) -> [Action] {
        guard timer == id else { return [] }
        timer = nil
        isReleased = true
        return [.release(id: subscription)]
    }

    /// The connection rests: a view that is away needs no time any more.
    mutating func connectionRests() -> [Action] {
        guard timer != nil else { return [] }
        isReleased = true
        return settle() + [.release(id: subscription)]
    }

    /// The subscription has ended.
    mutating func end() -> [Action] { settle() }

    private mutating func settle() -> [Action] {
        defer { timer = nil }
        return timer.map { [.cancelTimer($0)] } ?? []
    }
}

/// The subscriptions that are for a view on the screen, as a pure value.
struct ScreenLeases: Sendable {
    /// What can happen.
    enum Event: Sendable, Hashable {
        /// A subscription is for a view from now on, which may be away for this long before it is let go.
        case added(id: String, grace: Duration)
        /// A subscription's view is on the screen, or is not.
        case shown(id: String, Bool)
        /// A timer has reached its moment.
        case timerFired(ScreenLease.TimerID)
        /// The connection rests.
        case connectionRests
        /// A subscription has ended.
        case ended(id: String)
    }

    private var leases: [String: ScreenLease] = [:]
    /// Those whose view is away while they are held. A chat has a lease for each topic, and few of these wait.
    private var waiting: Set<String> = []

    /// Takes in what happened and says what to do.
    mutating func handle(_ event: Event, at now: ContinuousClock.Instant) -> [ScreenLease.Action] {
        switch event {
        case .added(let id, let grace):
            leases[id] = ScreenLease(of: id, grace: grace)
            waiting.remove(id)
            return []
        case .shown(let id, let isOnScreen): return change(id) { $0.shown(isOnScreen, at: now) }
        case .timerFired(let timer): return change(timer.subscription) { $0.timerFired(timer) }
        case .connectionRests: return waiting.sorted().flatMap { id in change(id) { $0.connectionRests() } }
        case .ended(let id):
            let actions = change(id) { $0.end() }
            leases[id] = nil
            return actions
        }
    }

    private mutating func change(
        _ id: String, _ body: (inout ScreenLease) -> [ScreenLease.Action]
    ) -> [ScreenLease.Action] {
        guard var lease = leases[id] else { return [] }
        let actions = body(&lease)
        leases[id] = lease
        if lease.isWaiting { waiting.insert(id) } else { waiting.remove(id) }
        return actions
    }
}
