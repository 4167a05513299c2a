extension FaultProxy {
    /// The direction of bytes through the proxy.
    public enum Direction: String, Hashable, Sendable, CaseIterable {
        /// Both directions.
        case both
        /// From the client to the server.
        case fromClient = "from-client"
        /// From the server to the client.
        case fromServer = "from-server"

        /// Whether this includes a direction other than `both`.
        func includes(_ direction: Direction) -> Bool { self == .both || self == direction }
    }

    /// A fault of connections that lasts while it is set. Faults of different kinds can be combined.
    public enum Fault: Hashable, Sendable {
        /// No fault.
        case passThrough
        /// The port has no listener but stays reserved: new connections are refused, as if the server had died.
        case refuse
        /// New connections are accepted but receive nothing; the server is never dialled for them. Open connections
        /// lose the bytes of both directions.
        case silent
        /// Bytes vanish while sockets stay open, as if a cable had been pulled. Even the end of a connection is held
        /// back until the fault ends.
        case blackhole(Direction)
        /// Bytes are delayed by the first duration and, drawn anew for every read, up to the second more; they stay in
        /// order. Each is at most a day.
        case delay(Duration, jitter: Duration = .zero, Direction = .both)
        /// Limits each connection to this many bytes per second; with 0 they wait until the fault ends.
        case throttle(bytesPerSecond: Int, Direction = .both)
        /// Bytes are written in separate pieces of at most this size; less than 1 counts as 1.
        case split(Int = 1, Direction = .both)
    }

    /// A fault of a single message on a subject that does not begin with `_` or `$`, as those of replies,
    /// acknowledgements and buckets do; of the client's messages only one with a `Nats-Msg-Id`.
    public enum MessageFault: Hashable, Sendable, CaseIterable {
        /// It arrives twice.
        case duplicate
        /// It arrives after the next one, or at the connection's end.
        case reorder
        /// It does not arrive.
        case drop
    }

    /// How the proxy ends a connection, on both of its sides.
    public enum Ending: String, Hashable, Sendable, CaseIterable {
        /// A reset (RST): at once, and data that a side has not read yet may be lost.
        case reset
        /// An orderly end (FIN), after everything that was written.
        case finish
    }

    /// The connections that a call affects.
    public enum Connections: Hashable, Sendable {
        /// The open ones.
        case present
        /// The next one.
        case next
        /// The open and all future ones.
        case all
    }

    /// The traffic of a proxy.
    public struct Statistics: Hashable, Sendable {
        /// The number of open client connections.
        public internal(set) var openConnections = 0
        /// The number of client connections ever accepted.
        public internal(set) var acceptedConnections = 0
        /// Bytes forwarded to the server.
        public internal(set) var bytesFromClient = 0
        /// Bytes forwarded to clients.
        public internal(set) var bytesFromServer = 0
        /// Bytes of both directions that were dropped.
        public internal(set) var swallowedBytes = 0
        /// The number of connections cut on request.
        public internal(set) var cuts = 0
        /// The number of messages that met a fault.
        public internal(set) var messages = 0
    }
}

/// The faults of a connection, by what they change, as kept for future connections.
struct FaultPlan: Hashable, Sendable {
    var isRefusing = false
    var isSilent = false
    var fromClient = FaultLane.Rules()
    var fromServer = FaultLane.Rules()

    init(_ faults: [FaultProxy.Fault] = []) {
        for fault in faults {
            switch fault {
            case .passThrough: break
            case .refuse: isRefusing = true
            case .silent:
                isSilent = true
                change(.both) { $0.swallows = true }
            case .blackhole(let direction): change(direction) { $0.swallows = true }
            case .delay(let delay, let jitter, let direction):
                change(direction) {
                    $0.delay = Self.bounded(delay)
                    $0.jitter = Self.bounded(jitter)
                }
            case .throttle(let rate, let direction): change(direction) { $0.bytesPerSecond = max(0, rate) }
            case .split(let length, let direction): change(direction) { $0.pieceLength = max(1, length) }
            }
        }
    }

    mutating func cut(after bytes: Int, _ direction: FaultProxy.Direction, _ ending: FaultProxy.Ending) {
        change(direction) { $0.cut = FaultLane.Cut(remaining: max(0, bytes), ending: ending) }
    }

    private static func bounded(_ duration: Duration) -> Duration { min(max(.zero, duration), .seconds(86_400)) }

    private mutating func change(_ direction: FaultProxy.Direction, _ body: (inout FaultLane.Rules) -> Void) {
        if direction.includes(.fromClient) { body(&fromClient) }
        if direction.includes(.fromServer) { body(&fromServer) }
    }
}
