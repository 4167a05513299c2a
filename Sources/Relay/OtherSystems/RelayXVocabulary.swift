import NATS

extension SystemEvent {
    /// The last RelayX event that a client in this status has seen; nil before the first one of a session, and while it
    /// rests in the background, for which RelayX has no word.
    public init?(_ status: ConnectionStatus) {
        switch status.state {
        case .initialized, .connecting, .suspended: return nil
        case .connected: self = status.recoveries == 0 ? .connected : .reconnected
        case .reconnecting: self = .reconnecting
        case .disconnected: self = status.reason == .windowExpired ? .reconnectFailed : .disconnected
        }
    }
}
