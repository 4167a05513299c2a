import CRouteSocket
import NATS

/// Reports when the way to the servers is lost, comes back or changes, from the system's route socket.
///
/// It sleeps until the kernel reports something. If the socket cannot be opened or the system reports nothing (in a
/// sandbox), the network counts as available, and no change follows. It ends, and its streams with it, with its last
/// reference.
public final class NetworkPathMonitor: Sendable {
    private let watch: NetworkPathWatch
    private let socket: RouteSocket?

    /// Begins to watch.
    ///
    /// - Parameter servers: those the client speaks with, or the proxy that it goes through. Servers on this machine
    ///   need no route; an empty list means servers that are not known yet, and needs none either.
    public convenience init(servers: [ServerAddress]) {
        self.init(servers: servers, open: parley_route_socket_open)
    }

    /// As the public form, with another way to open the socket.
    init(
        servers: [ServerAddress], open: () -> CInt,
        snapshot: @escaping @Sendable () -> NetworkPath? = NetworkPath.current
    ) {
        let descriptor = open()
        // Taken behind the socket's opening, so that no change falls in between.
        let watch = NetworkPathWatch(servers: servers, first: descriptor < 0 ? nil : snapshot())
        self.watch = watch
        socket = descriptor < 0 ? nil : RouteSocket(descriptor) { watch.update(snapshot()) }
    }

    deinit {
        socket?.close()
        watch.end()
    }

    /// The state now, as `.available` or `.unavailable`, and what changes from then on; a few may wait, the oldest give
    /// way. Each call makes a stream of its own.
    public var changes: AsyncStream<NetworkPath.Change> { watch.changes() }

    /// The socket's descriptor; nil when it could not be opened.
    var descriptor: CInt? { socket?.descriptor }
}
