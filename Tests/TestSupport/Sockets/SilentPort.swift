/// A loopback port that is taken, so that no other process listens there, and refuses every connection.
///
/// It is given back with the last reference.
public final class SilentPort: Sendable {
    private let socket: LoopbackSocket

    /// Takes a port.
    ///
    /// - Throws: `TestFailure` when none can be had.
    public init() throws { socket = try LoopbackSocket.taking() }

    /// The port.
    public var port: Int { socket.port }

    /// `nats://127.0.0.1:<port>`
    public var url: String { "nats://127.0.0.1:\(port)" }
}
