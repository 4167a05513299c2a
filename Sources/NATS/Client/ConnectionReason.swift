/// Why the connection is not simply connected: what ended it, or what keeps it from returning.
///
/// One vocabulary covers servers and the services behind them. The texts are the server's or the system's own words and
/// never a secret; treat them as remote text when showing them.
public enum ConnectionReason: Error, Hashable {
    /// `close()` or `disconnect()` was called.
    case closedByUser
    /// The system has no network; attempts pause until it returns.
    case networkUnavailable
    /// An established connection broke.
    case connectionLost(String)
    /// A connection could not be established.
    case unreachable(String)
    /// `connect(timeLimit:)` did not succeed within its limit, with the last failure or the step it was waiting for, if
    /// known.
    indirect case timeLimit(Duration, after: ConnectionReason? = nil)
    /// The policy's reconnection window passed (RelayX: two minutes).
    case windowExpired
    /// The application is in the background and its policy suspends the connection.
    case backgrounded
    /// The credentials are malformed.
    case invalidCredentials(String)
    /// The server refused the credentials.
    case authenticationFailed(String)
    /// The credentials were valid once and have expired.
    case tokenExpired
    /// The credentials were revoked, with the administrator's words when given. Other credentials of the user may still
    /// be valid.
    case credentialsRevoked(String?)
    /// The user's access to the network has expired, with the administrator's words when given.
    case accessExpired(String?)
    /// An administrator, named when known, ended the connection, with a reason when given.
    case kicked(by: String?, reason: String? = nil)
    /// The same user signed in on another device, named when known.
    case kickedByOtherDevice(String?)
    /// The user is banned, with the administrator's words when given.
    case banned(String?)
    /// The whole application is blocked for its users, with the administrator's words when given.
    case appBlocked(String?)
    /// The user's account was deactivated, with the administrator's words when given.
    case deactivated(String?)
    /// The administrator changed what the user may do, with a reason when given; the client reconnects.
    case permissionsChanged(String?)
    /// The configured proxy does not work.
    case proxyUnavailable(String)
    /// The secure connection could not be established. This ends a session that was never connected if its only server
    /// wants TLS before its INFO and the configuration does not.
    case tlsFailure(String)
    /// The local store failed.
    case store(String)
    /// A code that this version does not know.
    case unknown(Int)
}

extension ConnectionReason {
    /// The user asked for a new connection.
    package static let replacementRequested = ConnectionReason.connectionLost("a new connection was requested")

    /// Whether the client stops trying after this reason.
    ///
    /// Authentication, kicks, bans, blocks, deactivation and a broken proxy are final (they would fail again), as are
    /// the ends that the caller or the policy asked for, and unknown codes 4000 to 4999, which WebSocket services
    /// reserve for refusals. An expired token is final unless a token provider renews it.
    public var isFinal: Bool {
        switch self {
        case .closedByUser, .timeLimit, .windowExpired, .invalidCredentials, .authenticationFailed, .tokenExpired,
            .credentialsRevoked, .accessExpired, .kicked, .kickedByOtherDevice, .banned, .appBlocked, .deactivated,
            .proxyUnavailable:
            true
        case .networkUnavailable, .connectionLost, .unreachable, .backgrounded, .tlsFailure, .store,
            .permissionsChanged:
            false
        case .unknown(let code):
            (4000...4999).contains(code)
        }
    }

    /// What happened and, if the person can do something, what to do next.
    public var words: String {
        switch self {
        case .closedByUser: "The connection was closed here."
        case .networkUnavailable: "There is no network. The connection returns by itself when the network does."
        case .connectionLost(let detail): "The connection was lost\(Self.detail(detail))."
        case .unreachable(let detail): "The server cannot be reached\(Self.detail(detail))."
        case .timeLimit(let limit, .networkUnavailable?):
            "No connection within \(Self.seconds(limit)). There is no network. Connect again when it is back."
        case .timeLimit(let limit, let cause?): "No connection within \(Self.seconds(limit)). \(cause.words)"
        case .timeLimit(let limit, nil):
            "No connection within \(Self.seconds(limit)). Connect again when the network is back."
        case .windowExpired: "Reconnecting did not succeed in time. Connect again."
        case .backgrounded: "Disconnected while in the background. The connection returns with the focus."
        case .invalidCredentials(let detail):
            "The credentials are not valid\(Self.detail(detail)). Check the credentials file."
        case .authenticationFailed(let detail):
            "The server refused the credentials\(Self.detail(detail)). Ask the network's administrator for new ones."
        case .tokenExpired: "The credentials have expired. Ask for new ones, then connect again."
        case .credentialsRevoked(let detail):
            "These credentials were revoked\(Self.detail(detail ?? "")). Ask the network's administrator for new ones."
        case .accessExpired(let detail):
            "Your access to the network has ended\(Self.detail(detail ?? "")). Ask its administrator for more time."
        case .kicked(let administrator, let detail):
            "Disconnected by \(administrator ?? "the network's administrator")\(Self.detail(detail ?? ""))."
        case .kickedByOtherDevice(let device):
            "Signed in on \(device ?? "another device"), which ended the connection here."
        case .banned(let detail): "This user is banned\(Self.detail(detail ?? "")). Ask the network's administrator."
        case .appBlocked(let detail):
            "This application is blocked on the network\(Self.detail(detail ?? "")). Ask the network's administrator."
        case .deactivated(let detail):
            "This account was deactivated\(Self.detail(detail ?? "")). Ask the network's administrator."
        case .permissionsChanged(let detail):
            "The administrator changed what you may use\(Self.detail(detail ?? "")). Connecting again."
        case .proxyUnavailable(let detail): "The proxy does not work\(Self.detail(detail)). Check its settings."
        case .tlsFailure(let detail):
            // A detail with a semicolon says itself what to do.
            "No secure connection could be made\(Self.detail(detail))."
                + (detail.contains("; ") ? "" : " Check the server's certificate and the clock.")
        case .store(let detail): "The local store failed\(Self.detail(detail))."
        case .unknown(let code): "The connection ended with the unknown code \(code)."
        }
    }

    private static func detail(_ text: String) -> String { text.isEmpty ? "" : " (\(text))" }

    private static func seconds(_ duration: Duration) -> String {
        let tenths = (duration / .milliseconds(100)).rounded()
        guard tenths.truncatingRemainder(dividingBy: 10) == 0 else { return "\(tenths / 10) seconds" }
        return tenths == 10 ? "1 second" : "\(Int64(tenths / 10)) seconds"
    }
}

extension ConnectionReason: CustomStringConvertible {
    /// The same text as ``words``.
    public var description: String { words }
}

extension ConnectionReason {
    package init(_ error: NATSError) {
        switch error {
        case .authorization(.violation): self = .authenticationFailed("")
        case .authorization(.userRevoked): self = .credentialsRevoked(nil)
        case .authorization(.userExpired): self = .tokenExpired
        case .authorization(.accountExpired): self = .accessExpired(nil)
        case .proxy(let text): self = .proxyUnavailable(text)
        case .tls(let text): self = .tlsFailure(text)
        case .tlsRequired: self = .tlsFailure("the server requires TLS; use a tls:// address")
        case .tlsFirst, .speaksBeforeTLS: self = .tlsFailure(error.description)
        case .unreachable(let text): self = .unreachable(text)
        case .unresolvableHost, .connectionRefused, .timeout, .connectionLimit, .invalidArgument,
            .invalidSubject, .protocolViolation:
            self = .unreachable(Self.clause(error))
        case .connectionLost(let text): self = .connectionLost(text)
        case .closedByServer, .staleConnection, .closed, .cancelled, .noResponders,
            .publishNotPermitted, .subscribeNotPermitted, .subscriptionLimit, .payloadTooLarge, .outboundBufferFull,
            .jetStream:
            self = .connectionLost(Self.clause(error))
        }
    }

    private static func clause(_ error: NATSError) -> String {
        var text = error.description
        if text.hasSuffix(".") { text.removeLast() }
        return text.prefix(1).lowercased() + text.dropFirst()
    }
}
