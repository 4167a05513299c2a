import NIOCore
import Platform

/// A port that stays ours without a listener: a socket is bound to it and never listens, so the system refuses
/// connections and gives the port to no other process.
final class ReservedPort: Sendable {
    let host: String
    let number: Int
    private let descriptor: Int32

    /// Reserves a port of a numeric address, IPv6 without brackets; 0 lets the system choose.
    init(_ wanted: Int, of host: String = FaultProxy.loopback) throws(FaultError) {
        self.host = host
        (descriptor, number) = try Self.bound(to: wanted, of: host)
    }

    /// A socket bound to this port for listening. The caller closes it.
    func listeningSocket() throws(FaultError) -> Int32 { try Self.bound(to: number, of: host).descriptor }

    /// Stops a socket from listening at once. Closing it would not suffice while a child process is being started:
    /// until it runs its own program, the child has every descriptor of this process.
    static func stopListening(_ descriptor: Int32) { _ = shutdown(descriptor, Int32(SHUT_RD)) }

    private static func bound(to wanted: Int, of host: String) throws(FaultError) -> (descriptor: Int32, number: Int) {
        guard (0...65_535).contains(wanted) else {
            throw .port(wanted, host: host, reason: "a port is a number from 0 to 65535")
        }
        // Names are not resolved: they may be other machines'.
        guard let place = try? SocketAddress(ipAddress: host, port: wanted) else {
            throw .port(wanted, host: host, reason: "it is no address in numbers, such as 127.0.0.1")
        }
        let family = place.protocol.rawValue
        #if canImport(Darwin)
            let descriptor = socket(family, SOCK_STREAM, 0)
        #else
            let descriptor = socket(family, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        #endif
        guard descriptor >= 0 else { throw .port(wanted, host: host, reason: String(cString: strerror(errno))) }
        share(descriptor)
        let result = place.withSockAddr { bind(descriptor, $0, socklen_t($1)) }
        guard result == 0, let number = port(of: descriptor) else {
            let code = errno
            close(descriptor)
            throw .port(wanted, host: host, reason: String(cString: strerror(code)))
        }
        return (descriptor, number)
    }

    private static func port(of descriptor: Int32) -> Int? {
        // Both kinds of addresses have the port in the same place, and this is the larger one.
        var address = sockaddr_in6()
        var length = socklen_t(MemoryLayout<sockaddr_in6>.size)
        let result = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &length) }
        }
        return result == 0 ? Int(UInt16(bigEndian: address.sin6_port)) : nil
    }

    deinit { close(descriptor) }

    /// Allows a listening socket at the same port.
    private static func share(_ descriptor: Int32) {
        var yes: Int32 = 1
        let length = socklen_t(MemoryLayout<Int32>.size)
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, length)
        #if canImport(Darwin)
            // Here a second socket of exactly the same address needs this too.
            setsockopt(descriptor, SOL_SOCKET, SO_REUSEPORT, &yes, length)
            _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        #endif
    }
}
