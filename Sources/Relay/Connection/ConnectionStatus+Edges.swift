extension ConnectionStatus.State {
    /// The states that may follow this one. Nothing else ever happens; ``ConnectionMachine``'s tests check every change
    /// against this table.
    public var successors: Set<ConnectionStatus.State> {
        switch self {
        case .initialized: [.connecting]
        case .connecting: [.connected, .suspended, .disconnected]
        case .connected: [.reconnecting, .suspended, .disconnected]
        case .reconnecting: [.connected, .suspended, .disconnected]
        case .suspended: [.connecting, .reconnecting, .disconnected]
        case .disconnected: [.connecting]
        }
    }
}
