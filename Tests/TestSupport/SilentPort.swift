#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A loopback port that is taken, so that no other process listens there, and refuses every connection.
///
/// It is given back with the last reference.
public final class SilentPort: Sendable {
    /// The port.
    public let port: Int
    private let descriptor: Int32

    /// Takes a port.
    ///
    /// - Throws: `TestFailure` when none can be had.
    public init() throws {
        #if canImport(Glibc)
            let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        #else
            let descriptor = socket(AF_INET, SOCK_STREAM, 0)
        #endif
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
                bind(descriptor, generic, size) == 0 && getsockname(descriptor, generic, &size) == 0
            }
        }
        guard isBound else { throw TestFailure("no port could be taken: errno \(errno)") }
        self.descriptor = descriptor
        port = Int(in_port_t(bigEndian: address.sin_port))
    }

    deinit {
        #if canImport(Glibc)
            _ = Glibc.close(descriptor)
        #else
            _ = Darwin.close(descriptor)
        #endif
    }

    /// `nats://127.0.0.1:<port>`
    public var url: String { "nats://127.0.0.1:\(port)" }
}
