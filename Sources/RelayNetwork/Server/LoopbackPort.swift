import Platform

/// Ports of 127.0.0.1.
package enum LoopbackPort {
    /// The port that everybody's NATS server has; a private network never takes it.
    static let reserved = 4222

    /// The preferred port when it is free, else one that the system chooses.
    /// - Parameter others: ports that are to be somebody else's.
    package static func choose(preferred: Int?, besides others: Set<Int> = []) throws(NetworkError) -> Int {
        let taken = others.union([reserved])
        if let preferred, !taken.contains(preferred), let port = free(preferred) { return port }
        for _ in 0..<(8 + others.count) {
            if let port = free(0), !taken.contains(port) { return port }
        }
        throw .serverFailed("no port of 127.0.0.1 is free.")
    }

    /// The descriptor of a new TCP socket, which child processes do not inherit where the system allows that; negative
    /// when there can be none.
    static func newSocket(_ family: Int32 = AF_INET) -> Int32 {
        #if canImport(Darwin)
            return socket(family, SOCK_STREAM, 0)
        #else
            return socket(family, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        #endif
    }

    /// The address of a port.
    private static func address(of port: UInt16) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return address
    }

    /// Whether a port can be listened at now.
    static func isFree(_ port: Int) -> Bool { free(port) != nil }

    /// Whether a port can be listened at now, by listening for a moment; 0 asks for any.
    private static func free(_ port: Int) -> Int? {
        guard let wanted = UInt16(exactly: port) else { return nil }
        let descriptor = newSocket()
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        // As the server does: connections that linger from an earlier server do not make the port taken.
        var reuse: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &reuse, socklen_t(MemoryLayout<Int32>.size))
        var address = Self.address(of: wanted)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        return withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
                guard bind(descriptor, generic, length) == 0, listen(descriptor, 1) == 0,
                    getsockname(descriptor, generic, &length) == 0
                else { return nil }
                return Int(UInt16(bigEndian: pointer.pointee.sin_port))
            }
        }
    }
}
