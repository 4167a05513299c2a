extension FaultProxy {
    /// Which way bytes go through the proxy.
    public enum Direction: String, Hashable, Sendable, CaseIterable {
        /// Each of the two.
        case both
        /// From the client to the server.
        case fromClient = "from-client"
        /// From the server to the client.
        case fromServer = "from-server"

        /// Whether bytes of the one direction, which is not `both`, belong to this.
        func includes(_ direction: Direction) -> Bool { self == .both || self == direction }
    }

    /// What goes wrong on a connection as long as it is set. Faults of different kinds can be set together.
    public enum Fault: Hashable, Sendable {
        /// Nothing goes wrong.
        case passThrough
        /// The port has no listener: the system refuses a new connection, as after the server's death. The port stays
        /// reserved.
        case refuse
        /// New connections are accepted and never hear a byte; the server is not dialled for them, now or later.
        /// Connections that are open already lose the bytes of both directions.
        case silent
        /// Bytes vanish and sockets stay open, as behind a cable that was pulled. Even the end of a connection is
        /// kept back until the fault is over.
        case blackhole(Direction)
        /// Bytes come late by the first time and, drawn anew for every read, up to the second more; their order stays.
        /// Each is a day at most.
        case delay(Duration, jitter: Duration = .zero, Direction = .both)
        /// So many bytes a second come through at most, for each connection; with 0 they wait until the fault is over.
        case throttle(bytesPerSecond: Int, Direction = .both)
        /// Bytes are written in pieces of at most so many, each by itself; less than 1 counts as 1.
        case split(Int = 1, Direction = .both)
    }

    /// What is done to a single message: one on a subject that begins with neither `_` nor `$`, as those of replies,
    /// acknowledgements and buckets do, and of those that a client sends one with a `Nats-Msg-Id`.
    public enum MessageFault: Hashable, Sendable, CaseIterable {
        /// It comes twice.
        case duplicate
        /// It comes behind the next one, or at the connection's end.
        case reorder
        /// It does not come.
        case drop
    }

    /// How the proxy ends a connection, on both of its sides.
    public enum Ending: String, Hashable, Sendable, CaseIterable {
        /// A reset (RST): at once, and what a side has not taken from its system yet may be lost to it.
        case reset
        /// An orderly end (FIN), after what was written before.
        case finish
    }

    /// The connections that an act is about.
    public enum Connections: Hashable, Sendable {
        /// Those that are open now.
        case present
        /// The one that comes next.
        case next
        /// Those that are open and those that come.
        case all
    }

    /// What has gone through the proxy.
    public struct Statistics: Hashable, Sendable {
        /// How many connections of clients are open now.
        public internal(set) var openConnections = 0
        /// Connections of clients that were ever accepted.
        public internal(set) var acceptedConnections = 0
        /// Bytes handed on to the server.
        public internal(set) var bytesFromClient = 0
        /// Bytes handed on to clients.
        public internal(set) var bytesFromServer = 0
        /// Bytes of both directions that were swallowed.
        public internal(set) var swallowedBytes = 0
        /// How many connections the proxy has cut on request.
        public internal(set) var cuts = 0
        /// To how many messages something was done.
        public internal(set) var messages = 0
    }
}

/// The faults of a connection, sorted by what they change: the form in which they are kept for connections to come.
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

    /// A length of time between nothing and a day.
    private static func bounded(_ duration: Duration) -> Duration { min(max(.zero, duration), .seconds(86_400)) }

    private mutating func change(_ direction: FaultProxy.Direction, _ body: (inout FaultLane.Rules) -> Void) {
        if direction.includes(.fromClient) { body(&fromClient) }
        if direction.includes(.fromServer) { body(&fromServer) }
    }
}
