import CRouteSocket
import NIOConcurrencyHelpers

/// Reports through the system's route socket when the path to the servers is lost, returns or changes.
///
/// It sleeps until the kernel reports something. If the socket cannot be opened or the system reports nothing, as in a
/// sandbox, the network counts as available and no change follows. The monitor and its stream end with its last
/// reference.
final class NetworkPathMonitor: Sendable {
    /// The present state, available or unavailable, then the changes; a few are buffered. For one reader.
    let changes: AsyncStream<NetworkPath.Change>
    private let continuation: AsyncStream<NetworkPath.Change>.Continuation
    private let socket: RouteSocket?

    /// Begins to watch. Servers on this machine need no route; nor does an empty list, of servers not yet known.
    init(
        servers: [ServerAddress], open: () -> CInt = parley_route_socket_open,
        snapshot: @escaping @Sendable () -> NetworkPath? = NetworkPath.current
    ) {
        let (changes, continuation) = AsyncStream.makeStream(
            of: NetworkPath.Change.self, bufferingPolicy: .bufferingNewest(16))
        (self.changes, self.continuation) = (changes, continuation)
        let descriptor = open()
        // Taken once the socket is open, so that no change falls in between.
        let first = descriptor < 0 ? nil : snapshot()
        continuation.yield(first?.isUsable(for: servers) ?? true ? .available : .unavailable)
        guard descriptor >= 0 else {
            socket = nil
            return
        }
        let last = NIOLockedValueBox(first)
        socket = RouteSocket(descriptor) {
            // A snapshot that the system refuses changes nothing.
            guard let newer = snapshot() else { return }
            let older = last.withLockedValue { exchange(&$0, with: newer) }
            if let change = newer.change(since: older, for: servers) { continuation.yield(change) }
        }
    }

    deinit {
        socket?.close()
        continuation.finish()
    }

    var descriptor: CInt? { socket?.descriptor }
}
