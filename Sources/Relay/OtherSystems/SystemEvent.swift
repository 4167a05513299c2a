import NATS

/// The system events of the RelayX SDKs, by their wire names.
///
/// ``reconnect`` is the umbrella topic under which RelayX delivers the three reconnection events as strings.
public enum SystemEvent: String, Hashable, Sendable, CaseIterable {
    /// The session's first connection is open. Once per session.
    case connected = "CONNECTED"
    /// The session is over, by `close()` or because the client has stopped trying. Once per session.
    case disconnected = "DISCONNECTED"
    /// The topic that carries the three reconnection events.
    case reconnect = "RECONNECT"
    /// An outage began. Once per outage, whatever the number of attempts.
    case reconnecting = "RECONNECTING"
    /// The outage is over: subscriptions are live and the outbox has been flushed.
    case reconnected = "RECONNECTED"
    /// The reconnection window passed without success; ``disconnected`` follows.
    case reconnectFailed = "RECONN_FAILED"
    /// Messages that waited in the outbox were sent.
    case messageResend = "MESSAGE_RESEND"

    // swift-format-ignore: AlwaysUseLowerCamelCase
    /// RelayX's spelling of ``reconnectFailed``, as the seed's listeners write it.
    public static let reconn_failed = SystemEvent.reconnectFailed

    /// The topic on which a RelayX listener receives this event.
    public var topic: String {
        switch self {
        case .reconnecting, .reconnected, .reconnectFailed, .reconnect: SystemEvent.reconnect.rawValue
        case .connected, .disconnected, .messageResend: rawValue
        }
    }
}

extension SystemEvent {
    init(_ event: ConnectionEvent) {
        self =
            switch event {
            case .connected: .connected
            case .reconnecting: .reconnecting
            case .reconnected: .reconnected
            case .reconnectFailed: .reconnectFailed
            case .disconnected: .disconnected
            }
    }

    /// The last RelayX event for a client in this status; nil before the first one of a session, and while it is
    /// suspended, for which RelayX has no event.
    public init?(_ status: ConnectionStatus) {
        switch status.state {
        case .initialized, .connecting, .suspended: return nil
        case .connected: self = status.recoveries == 0 ? .connected : .reconnected
        case .reconnecting: self = .reconnecting
        case .disconnected: self = status.reason == .windowExpired ? .reconnectFailed : .disconnected
        }
    }
}
