import NATS

/// A subscription's status in the Sudo platform's terms.
public enum PlatformSubscriptionStatus: Hashable, Sendable {
    /// Created but not started.
    case initialized
    /// Connecting, for the first time or again.
    case connecting
    /// Live.
    case connected
    /// Not live, for a harmless reason: closed here, or suspended in the background.
    case disconnected
    /// Not live, for this reason.
    case error(RelayError)
}

extension PlatformSubscriptionStatus {
    /// The name for a connection's status.
    public init(_ status: ConnectionStatus) {
        switch (status.state, status.reason) {
        case (.initialized, _): self = .initialized
        case (.connecting, _), (.reconnecting, _): self = .connecting
        case (.connected, _): self = .connected
        case (.suspended, _), (.disconnected, nil), (.disconnected, .closedByUser), (.disconnected, .backgrounded):
            self = .disconnected
        case (.disconnected, .some(let reason)): self = .error(.connection(reason))
        }
    }

    /// The name, as `parley watch` prints it.
    public var name: String {
        switch self {
        case .initialized: "initialized"
        case .connecting: "connecting"
        case .connected: "connected"
        case .disconnected: "disconnected"
        case .error: "error"
        }
    }
}
