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

    /// The state that a listener may conclude from this event; nil for one that says nothing about the connection.
    public var state: ConnectionStatus.State? {
        switch self {
        case .connected, .reconnected: .connected
        case .reconnecting: .reconnecting
        case .disconnected, .reconnectFailed: .disconnected
        case .reconnect, .messageResend: nil
        }
    }

    /// The event of this wire name. RelayX's other SDKs spell the failure `RECONN_FAIL`.
    public init?(wireName: String) {
        if wireName == "RECONN_FAIL" {
            self = .reconnectFailed
        } else {
            self.init(rawValue: wireName)
        }
    }
}
