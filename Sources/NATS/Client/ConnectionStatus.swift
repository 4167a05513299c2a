/// The connection's status at one moment: its state, and the details that a person would ask about.
public struct ConnectionStatus: Hashable, Sendable {
    /// The connection's state.
    public enum State: String, Hashable, Sendable, CaseIterable, Codable {
        /// Created, and never asked to connect.
        case initialized
        /// Making the first connection of this session.
        case connecting
        /// Connected: subscriptions are live and the outbox has been flushed.
        case connected
        /// The connection was lost and is being restored.
        case reconnecting
        /// Suspended while the application is in the background, or, without a reason, while the connection is idle.
        case suspended
        /// The session is over. Only a new `connect` changes this.
        case disconnected
    }

    /// The state.
    public var state: State
    /// The reason for the state; nil when connected, or when there is nothing to explain.
    public var reason: ConnectionReason?
    /// The number of attempts since the outage began or the backoff was reset; 0 while connected or suspended.
    public var attempt: Int
    /// When the next attempt starts, while waiting for one.
    public var nextRetryAt: ContinuousClock.Instant?
    /// The last measured round trip to the server, while connected and not silent.
    public var roundTripTime: Duration?
    /// While connected: since when nothing has arrived from the server although it owes an answer to a message, a
    /// request or a ping. Set after two seconds of silence; nil while the server answers. The state stays
    /// ``State/connected`` until the connection is given up.
    public var silentSince: ContinuousClock.Instant?
    /// When the present outage began; nil while connected, suspended or over.
    public var outageBegan: ContinuousClock.Instant?
    /// Whether the present outage has lasted longer than the policy's ``ReconnectPolicy/longOutage``.
    public var isLongOutage: Bool
    /// How many outages this session has recovered from.
    public var recoveries: Int
    /// While connected: the sorted names of the subscriptions that are not live. Each is retried until it is.
    public var failingSubscriptions: [String]
    /// How often slow readers of this connection made the client drop messages, counted at most once a second. Messages
    /// of a stream are requested again, so this costs time but loses nothing.
    public var slowReaders: Int

    /// Creates a status.
    public init(
        state: State,
        reason: ConnectionReason? = nil,
        attempt: Int = 0,
        nextRetryAt: ContinuousClock.Instant? = nil,
        roundTripTime: Duration? = nil,
        silentSince: ContinuousClock.Instant? = nil,
        outageBegan: ContinuousClock.Instant? = nil,
        isLongOutage: Bool = false,
        recoveries: Int = 0,
        failingSubscriptions: [String] = [],
        slowReaders: Int = 0
    ) {
        self.state = state
        self.reason = reason
        self.attempt = attempt
        self.nextRetryAt = nextRetryAt
        self.roundTripTime = roundTripTime
        self.silentSince = silentSince
        self.outageBegan = outageBegan
        self.isLongOutage = isLongOutage
        self.recoveries = recoveries
        self.failingSubscriptions = failingSubscriptions
        self.slowReaders = slowReaders
    }

    /// The status of a client that was never asked to connect.
    public static let initialized = ConnectionStatus(state: .initialized)
}

extension ConnectionStatus {
    /// The status in a sentence or two for a person, without figures that change on their own.
    public var words: String {
        switch state {
        case .initialized: return "Not connected yet."
        case .connected where silentSince != nil: return "Connected, but the server is not answering."
        case .connected: return failingNames.map { "Connected, but not to \($0); trying again." } ?? "Connected."
        case .suspended, .disconnected: return reason?.words ?? "Not connected."
        case .connecting, .reconnecting:
            let verb = state == .connecting ? "Connecting" : "Reconnecting"
            let why = reason.map { " \($0.words)" } ?? ""
            let long = isLongOutage ? " The outage is long; the attempts go on and the queue stays." : ""
            return "\(verb), attempt \(max(attempt, 1)).\(why)\(long)"
        }
    }

    /// The first three failing subscriptions and the number of the others; nil if none fails.
    package var failingNames: String? {
        guard !failingSubscriptions.isEmpty else { return nil }
        let names = failingSubscriptions.prefix(3).joined(separator: ", ")
        return failingSubscriptions.count > 3 ? "\(names) and \(failingSubscriptions.count - 3) more" : names
    }
}

extension ConnectionStatus.State {
    /// The states that can follow this one.
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
