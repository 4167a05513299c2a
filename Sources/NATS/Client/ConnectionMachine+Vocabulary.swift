extension ConnectionMachine {
    /// Names one timer. A timer that was cancelled or replaced has another serial, so that a late firing is recognised.
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
        /// Different for each timer that the machine starts.
        package let serial: UInt64

        package init(kind: Kind, serial: UInt64) { (self.kind, self.serial) = (kind, serial) }
    }

    package enum Event: Hashable, Sendable {
        /// Somebody called connect. A positive limit ends the session when it passes without a connection; nil, zero
        /// and less wait for ever.
        case connectRequested(timeLimit: Duration?)
        /// The socket of this dial is open and the server accepted the credentials.
        case dialSucceeded(generation: UInt64)
        /// Everything on this dial's socket is as it is to be.
        case restored(generation: UInt64)
        /// The dial failed, or its socket closed or went silent. The next attempt, if there is one, comes within the
        /// limit where one is given. A session that was never connected ends where every attempt would fail alike.
        case connectionFailed(
            generation: UInt64, reason: ConnectionReason, retryWithin: Duration? = nil, isHopeless: Bool = false)
        /// This dial's credentials are of no use any more for this reason, and others are asked for: the machine says
        /// when (``Action/renewCredentials(generation:)``).
        case credentialsNeeded(generation: UInt64, reason: ConnectionReason)
        case timerFired(TimerID)
        /// Somebody called disconnect or close.
        case disconnectRequested
        /// The application went to the background for longer than its policy allows.
        case suspendRequested
        /// Nobody has needed the connection for a while.
        case restRequested
        /// The application returned to the foreground.
        case resumeRequested
        /// The system reports that no network is left.
        case networkLost
        /// The system reports a network again, or another one.
        case networkReturned
        /// A sign of a person (a key, a focus-in): try at once.
        case nudged
        /// A round trip to the server was measured on this dial's socket.
        case roundTrip(generation: UInt64, Duration)
        /// Since this moment nothing has arrived on this dial's socket, although an answer is awaited; nil once it has.
        case silence(generation: UInt64, since: ContinuousClock.Instant?)
        /// The network's administrator said on this dial's socket why it is about to end.
        case serverControl(generation: UInt64, reason: ConnectionReason)
        /// Of what is followed, these are not live on the present connection; complete when none of them is expected to
        /// be live soon by itself.
        case followingChanged(failing: [String], isComplete: Bool)
        /// A reader was so slow on this dial's socket that messages had to be dropped here. Those of a stream are asked
        /// for again.
        case readerFellBehind(generation: UInt64)
        /// The token provider gave a new token.
        case credentialsRenewed(generation: UInt64)
        /// The token provider failed; the old token stays.
        case credentialsUnavailable(generation: UInt64)
    }

    /// What the driver does, in order.
    package enum Action: Hashable, Sendable {
        /// Open a socket. The generation names it in every later event; the attempt is for the log.
        case dial(generation: UInt64, attempt: Int)
        /// Bring everything on the socket back, then report ``Event/restored(generation:)``.
        case restore(generation: UInt64)
        /// Close this dial's socket, or stop the dial. Harmless when it is closed already.
        case closeSocket(generation: UInt64)
        /// Send one liveness probe now.
        case probe(generation: UInt64)
        /// Ask the token provider once, then report one of the two credentials events.
        case renewCredentials(generation: UInt64)
        /// Report ``Event/timerFired(_:)`` at this moment.
        case startTimer(TimerID, at: ContinuousClock.Instant)
        case cancelTimer(TimerID)
        /// Show the new status; never equal to the one before.
        case publish(ConnectionStatus)
        case event(ConnectionEvent)
        /// Answer every caller that waits in connect: nil is success.
        case completeConnect(ConnectionReason?)
        case ended(ConnectionReason)
    }
}

/// A step in a session's life. Each outage has one ``reconnecting`` and one of the three that follow it.
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
