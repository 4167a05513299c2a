extension ConnectionMachine {
    /// Identifies one timer. A replaced timer has another serial, so that a late firing is recognised.
    package struct TimerID: Hashable, Sendable {
        package enum Kind: Hashable, Sendable, CaseIterable {
            /// The end of `connect(timeLimit:)`.
            case timeLimit
            /// The next attempt.
            case retry
            /// The end of the policy's reconnection window.
            case window
            /// The moment from which an outage counts as long.
            case longOutage
        }

        package let kind: Kind
        /// Unique to each timer that the machine starts.
        package let serial: UInt64

        package init(kind: Kind, serial: UInt64) { (self.kind, self.serial) = (kind, serial) }
    }

    package enum Event: Hashable, Sendable {
        /// `connect` was called. The session ends if a positive limit passes without a connection; nil, zero and less
        /// wait forever.
        case connectRequested(timeLimit: Duration?)
        /// The socket of this dial is open and the server accepted the credentials.
        case dialSucceeded(generation: UInt64)
        /// Everything on this dial's socket is restored.
        case restored(generation: UInt64)
        /// The dial failed, or its socket closed or went silent. The next attempt, if any, starts within the limit if
        /// one is given. A hopeless failure ends a session that was never connected.
        case connectionFailed(
            generation: UInt64, reason: ConnectionReason, retryWithin: Duration? = nil, isHopeless: Bool = false)
        /// This dial's credentials are no longer valid. The machine says when to ask for others
        /// (``Action/renewCredentials(generation:)``).
        case credentialsNeeded(generation: UInt64, reason: ConnectionReason)
        case timerFired(TimerID)
        /// `disconnect` or `close` was called.
        case disconnectRequested
        /// The application went to the background for longer than its policy allows.
        case suspendRequested
        /// Nobody has needed the connection for a while.
        case restRequested
        /// The application returned to the foreground.
        case resumeRequested
        /// The system reports that there is no network left.
        case networkLost
        /// The system reports a network again, or a different one.
        case networkReturned
        /// A person is present (a key, a focus-in): retry at once.
        case nudged
        /// A round trip to the server was measured on this dial's socket.
        case roundTrip(generation: UInt64, Duration)
        /// Nothing has arrived on this dial's socket since this moment, although an answer is awaited; nil once it has.
        case silence(generation: UInt64, since: ContinuousClock.Instant?)
        /// The network's administrator announced on this dial's socket why it is about to end.
        case serverControl(generation: UInt64, reason: ConnectionReason)
        /// The subscriptions that are not live on the present connection; complete if none of them is expected to
        /// recover soon without help.
        case followingChanged(failing: [String], isComplete: Bool)
        /// A slow reader on this dial's socket made the client drop messages. Those of a stream are requested again.
        case readerFellBehind(generation: UInt64)
        /// The token provider returned a new token.
        case credentialsRenewed(generation: UInt64)
        /// The token provider failed; the old token stays.
        case credentialsUnavailable(generation: UInt64)
    }

    /// What the driver does, in order.
    package enum Action: Hashable, Sendable {
        /// Open a socket. The generation identifies it in every later event; the attempt is for the log.
        case dial(generation: UInt64, attempt: Int)
        /// Restore everything on the socket, then report ``Event/restored(generation:)``.
        case restore(generation: UInt64)
        /// Close this dial's socket, or cancel the dial. Harmless if it is closed already.
        case closeSocket(generation: UInt64)
        /// Send one liveness probe now.
        case probe(generation: UInt64)
        /// Ask the token provider once, then report one of the two credentials events.
        case renewCredentials(generation: UInt64)
        /// Report ``Event/timerFired(_:)`` at this moment.
        case startTimer(TimerID, at: ContinuousClock.Instant)
        case cancelTimer(TimerID)
        /// Show the new status, which differs from the last.
        case publish(ConnectionStatus)
        case event(ConnectionEvent)
        /// Answer every caller that waits in `connect`; nil is success.
        case completeConnect(ConnectionReason?)
        case ended(ConnectionReason)
    }
}

/// A step in a session's life. Each outage has one ``reconnecting`` and one of the three steps after it.
package enum ConnectionEvent: Hashable, Sendable {
    /// The session's first connection is open. Once per session.
    case connected
    /// An outage began.
    case reconnecting
    /// The outage is over, and everything on the connection is restored.
    case reconnected
    /// The reconnection window passed without success; ``disconnected`` follows.
    case reconnectFailed
    /// The session is over. Once per session.
    case disconnected
}
