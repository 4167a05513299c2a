import NATS

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// Looks whether a NATS server answers at an address of this machine.
enum ServerProbe {
    /// Whether the server says INFO within two seconds, of which it needs the most on a busy machine alone. Where none
    /// listens that is known at once. No thread waits for it.
    static func answers(at url: String) async -> Bool {
        guard let address = try? ServerAddress(parsing: url), let port = UInt16(exactly: address.port) else {
            return false
        }
        let descriptor = LoopbackPort.newSocket()
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
        guard connect(descriptor, to: port) else { return false }
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

    private static func connect(_ descriptor: Int32, to port: UInt16) -> Bool {
        var address = LoopbackPort.address(of: port)
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
                #if canImport(Darwin)
                    let result = Darwin.connect(descriptor, generic, socklen_t(MemoryLayout<sockaddr_in>.size))
                #elseif canImport(Glibc)
                    let result = Glibc.connect(descriptor, generic, socklen_t(MemoryLayout<sockaddr_in>.size))
                #else
                    let result = Musl.connect(descriptor, generic, socklen_t(MemoryLayout<sockaddr_in>.size))
                #endif
                return result == 0 || errno == EINPROGRESS
            }
        }
    }
}
