/// What a subscription to letters does when the connection is lost.
public enum SubscriptionPolicy: Sendable, Hashable {
    /// It goes on with the next connection, and brings what came meanwhile.
    case resubscribe
    /// It ends, as a subscription to Sudo's relay does: the caller subscribes again.
    case seed
}

/// What a subscription says of itself, as a value: the connection's changes come in, and what the reader has to hear
/// goes out, each status once.
struct SubscriptionStanding: Sendable, Hashable {
    /// What follows from a change of the connection.
    enum Step: Sendable, Hashable {
        /// Nothing that the reader does not know.
        case nothing
        /// The reader hears of this.
        case tell(PlatformSubscriptionStatus)
        /// The reader hears of this, and of nothing after it.
        case end(PlatformSubscriptionStatus)
    }

    private let policy: SubscriptionPolicy
    /// What the reader knows. Whoever subscribes knows that it is on its way.
    private(set) var status = PlatformSubscriptionStatus.connecting
    private var hasBeenLive = false
    /// How often the connection has changed it: who reports success of a connection that was lost meanwhile finds out.
    private(set) var changes: UInt64 = 0

    /// Begins on the way to the first connection.
    init(_ policy: SubscriptionPolicy) { self.policy = policy }

    /// Everything stored so far has been delivered.
    mutating func becameLive() {
        status = .connected
        hasBeenLive = true
    }

    /// The subscription itself has failed, or is on its way again, over a connection that stands.
    mutating func wasInterrupted(_ error: RelayError, passes: Bool) {
        status = passes ? .connecting : .error(error)
    }

    /// The connection's status has changed. That it stands says nothing yet: what came meanwhile is to be read first.
    mutating func connectionChanged(_ connection: ConnectionStatus) -> Step {
        let new = PlatformSubscriptionStatus(connection)
        guard new != .connected, new != .initialized, new != status else { return .nothing }
        changes += 1
        status = new
        guard policy == .seed else { return .tell(new) }
        switch new {
        case .connecting: return hasBeenLive ? .end(.disconnected) : .tell(new)
        case .disconnected, .error: return .end(new)
        case .initialized, .connected: return .nothing
        }
    }
}
