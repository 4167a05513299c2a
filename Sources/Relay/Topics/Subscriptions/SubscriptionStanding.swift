/// What a subscription to letters does when the connection is lost.
public enum SubscriptionPolicy: Sendable, Hashable {
    /// It continues with the next connection, and delivers what was missed.
    case resubscribe
    /// It ends, like a subscription to Sudo's relay: the caller subscribes again.
    case seed
}

/// A subscription's status, as a value: the connection's changes in, reports for the reader out, each status once.
struct SubscriptionStanding: Sendable, Hashable {
    /// The consequence of a change of the connection.
    enum Step: Sendable, Hashable {
        /// The reader knows already.
        case nothing
        /// The reader is told this.
        case tell(PlatformSubscriptionStatus)
        /// The reader is told this, and nothing after it.
        case end(PlatformSubscriptionStatus)
    }

    private let policy: SubscriptionPolicy
    /// The status as the reader knows it. A new subscriber expects it to be connecting.
    private(set) var status = PlatformSubscriptionStatus.connecting
    private var hasBeenLive = false
    /// How often the connection has changed it, which reveals a connection that was lost while a success was being
    /// reported.
    private(set) var changes: UInt64 = 0

    init(_ policy: SubscriptionPolicy) { self.policy = policy }

    /// Everything stored so far has been delivered.
    mutating func becameLive() {
        status = .connected
        hasBeenLive = true
    }

    /// The subscription itself has failed, or is being retried, over an open connection.
    mutating func wasInterrupted(_ error: RelayError, passes: Bool) { status = passes ? .connecting : .error(error) }

    /// The connection's status has changed. An open connection is not reported yet: missed messages come first.
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
