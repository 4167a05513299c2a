#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// A port of 127.0.0.1 that stays ours while it has no listener: a socket is bound to it and never listens, so the
/// system refuses connections and gives the port to no other process.
final class ReservedPort: Sendable {
    let number: Int
    private let descriptor: Int32

    /// Reserves a port; 0 lets the system choose.
    init(_ wanted: Int) throws(FaultError) {
        (descriptor, number) = try Self.bound(to: wanted)
    }

    /// A socket at this port that is to listen. The caller closes it.
    func listeningSocket() throws(FaultError) -> Int32 { try Self.bound(to: number).descriptor }

    /// Stops a socket from listening, from now on. Closing it would not be enough if a child process is being started at
    /// that moment: until the child runs its own program it holds every descriptor of this one.
    static func stopListening(_ descriptor: Int32) { _ = shutdown(descriptor, Int32(SHUT_RD)) }

    private static func bound(to wanted: Int) throws(FaultError) -> (descriptor: Int32, number: Int) {
        guard let bits = UInt16(exactly: wanted) else {
            throw .port(wanted, reason: "a port is a number from 0 to 65535")
        }
        #if canImport(Darwin)
            let descriptor = socket(AF_INET, SOCK_STREAM, 0)
        #else
            let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        #endif
        guard descriptor >= 0 else { throw .port(wanted, reason: words(errno)) }
        share(descriptor)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = bits.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
                bind(descriptor, generic, length) == 0 && getsockname(descriptor, generic, &length) == 0
            }
        }
        guard isBound else {
            let code = errno
            close(descriptor)
            throw .port(wanted, reason: words(code))
        }
        return (descriptor, Int(UInt16(bigEndian: address.sin_port)))
    }

    deinit {
        close(descriptor)
    }

    private static func words(_ code: Int32) -> String { strerror(code).map { String(cString: $0) } ?? "error \(code)" }

    /// Lets a listening socket be bound to the same port.
    private static func share(_ descriptor: Int32) {
        var yes: Int32 = 1
        let length = socklen_t(MemoryLayout<Int32>.size)
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, length)
        #if canImport(Darwin)
            // There, a second socket of the very same address needs this too.
            setsockopt(descriptor, SOL_SOCKET, SO_REUSEPORT, &yes, length)
            _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        #endif
    }
}
