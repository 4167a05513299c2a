import NATS

/// The client status of Supabase's realtime library.
public enum SupabaseStatus: String, Hashable, Sendable, CaseIterable {
    /// Neither connected nor connecting.
    case disconnected
    /// Connecting, for the first time or again.
    case connecting
    /// Connected.
    case connected
}

extension SupabaseStatus {
    /// Supabase's name for a connection's status.
    public init(_ status: ConnectionStatus) {
        self =
            switch status.state {
            case .initialized, .suspended, .disconnected: .disconnected
            case .connecting, .reconnecting: .connecting
            case .connected: .connected
            }
    }
}
