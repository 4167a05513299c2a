import NATS

/// The connection status of Nexconn's `NCConnectionStatus`, shared by RongCloud, by its raw values.
public enum NexconnConnectionStatus: Hashable, Sendable {
    /// 0: connected.
    case connected
    /// 1: no network; recovers automatically.
    case networkUnavailable
    /// 6: the user signed in on another device, or was kicked.
    case kickedOfflineByOtherClient
    /// 10: connecting.
    case connecting
    /// 11: not connected.
    case unconnected
    /// 12: signed out.
    case signOut
    /// 13: suspended; reconnects when appropriate.
    case suspend
    /// 14: the configured time passed.
    case timeout
    /// 15: the token is wrong or has expired.
    case tokenIncorrect
    /// 16: the account is banned.
    case disconnException
    /// 17: the proxy does not work.
    case proxyUnavailable
    /// 19: the account was deactivated.
    case userAbandon
    /// −1, or any value unknown to this version.
    case unknown(Int)

    /// Every status with a meaning of its own.
    public static let known: [NexconnConnectionStatus] = [
        .connected, .networkUnavailable, .kickedOfflineByOtherClient, .connecting, .unconnected, .signOut, .suspend,
        .timeout, .tokenIncorrect, .disconnException, .proxyUnavailable, .userAbandon,
    ]
}

extension NexconnConnectionStatus: RawRepresentable {
    /// The status of a raw value; unknown values are kept.
    public init(rawValue: Int) {
        self = NexconnConnectionStatus.known.first { $0.rawValue == rawValue } ?? .unknown(rawValue)
    }

    /// Nexconn's number.
    public var rawValue: Int {
        switch self {
        case .connected: 0
        case .networkUnavailable: 1
        case .kickedOfflineByOtherClient: 6
        case .connecting: 10
        case .unconnected: 11
        case .signOut: 12
        case .suspend: 13
        case .timeout: 14
        case .tokenIncorrect: 15
        case .disconnException: 16
        case .proxyUnavailable: 17
        case .userAbandon: 19
        case .unknown(let raw): raw
        }
    }
}

extension NexconnConnectionStatus {
    /// Nexconn's name for a connection's status: `suspend` between two attempts, `connecting` during one.
    public init(_ status: ConnectionStatus) {
        switch status.state {
        case .initialized: self = .unconnected
        case .connected: self = .connected
        case .suspended: self = .suspend
        case .connecting, .reconnecting:
            if status.reason == .networkUnavailable {
                self = .networkUnavailable
            } else {
                self = status.nextRetryAt == nil ? .connecting : .suspend
            }
        case .disconnected: self = status.reason.map(NexconnConnectionStatus.init(ending:)) ?? .unconnected
        }
    }

    private init(ending reason: ConnectionReason) {
        self =
            switch reason {
            case .closedByUser: .signOut
            case .networkUnavailable: .networkUnavailable
            case .timeLimit, .windowExpired: .timeout
            case .backgrounded: .suspend
            case .invalidCredentials, .authenticationFailed, .tokenExpired, .credentialsRevoked, .accessExpired:
                .tokenIncorrect
            case .kicked, .kickedByOtherDevice: .kickedOfflineByOtherClient
            case .banned: .disconnException
            case .deactivated: .userAbandon
            case .proxyUnavailable: .proxyUnavailable
            case .connectionLost, .permissionsChanged, .unreachable, .appBlocked, .tlsFailure, .store: .unconnected
            case .unknown(let code): NexconnConnectionStatus.isKnown(code) ? .unconnected : .unknown(code)
            }
    }

    /// Whether a number has a meaning of its own here, so that another system's code with that number cannot be shown.
    private static func isKnown(_ code: Int) -> Bool { known.contains { $0.rawValue == code } }

    /// The meaning of this status.
    public var meaning: (state: ConnectionStatus.State, reason: ConnectionReason?) {
        switch self {
        case .connected: (.connected, nil)
        case .networkUnavailable: (.reconnecting, .networkUnavailable)
        case .kickedOfflineByOtherClient: (.disconnected, .kickedByOtherDevice(nil))
        case .connecting: (.connecting, nil)
        case .unconnected: (.initialized, nil)
        case .signOut: (.disconnected, .closedByUser)
        case .suspend: (.suspended, .backgrounded)
        case .timeout: (.disconnected, .windowExpired)
        case .tokenIncorrect: (.disconnected, .tokenExpired)
        case .disconnException: (.disconnected, .banned(nil))
        case .proxyUnavailable: (.disconnected, .proxyUnavailable(""))
        case .userAbandon: (.disconnected, .deactivated(nil))
        case .unknown(let raw): (.disconnected, .unknown(raw))
        }
    }
}
