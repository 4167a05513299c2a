import NATS
import NIOCore
import Platform

/// Looks whether a NATS server answers at an address of this machine.
package enum ServerProbe {
    /// Whether the server says INFO within two seconds, of which it needs the most on a busy machine alone. Where none
    /// listens that is known at once. No thread waits for it.
    package static func answers(at address: ServerAddress) async -> Bool {
        guard let target = try? SocketAddress(ipAddress: address.host, port: address.port) else { return false }
        let descriptor = LoopbackPort.newSocket(target.protocol == .inet6 ? AF_INET6 : AF_INET)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
        guard connect(descriptor, to: target) else { return false }
        let greeting = Array("INFO ".utf8)
        var buffer = [UInt8](repeating: 0, count: greeting.count)
        let deadline = ContinuousClock.now + .seconds(2)
        while true {
            // However late the sleep ends, one look follows the deadline.
            let isLast = ContinuousClock.now >= deadline
            let count = recv(descriptor, &buffer, buffer.count, Int32(MSG_PEEK))
            if count == buffer.count { return buffer == greeting }
            if count == 0 || count < 0 && errno != EAGAIN && errno != EINTR && errno != ENOTCONN { return false }
            if isLast { return false }
            guard (try? await Task.sleep(for: .milliseconds(5))) != nil else { return false }
        }
    }

    private static func connect(_ descriptor: Int32, to address: SocketAddress) -> Bool {
        address.withSockAddr { pointer, length in
            let result = Platform.connect(descriptor, pointer, socklen_t(length))
            return result == 0 || errno == EINPROGRESS
        }
    }
}
