import Dispatch

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A listener on a loopback port that greets whoever comes and says nothing else: a program that is no NATS server.
///
/// It ends with its last reference.
public final class ForeignPeer: Sendable {
    /// The port.
    public let port: Int
    private let listener: Listener

    /// Unchecked: the source is resumed once before anybody else has it, and cancelled once; Dispatch lets any thread do it.
    private struct Listener: @unchecked Sendable {
        let source: any DispatchSourceRead
    }

    /// Listens at a port that the system chooses.
    ///
    /// - Parameter greeting: what everybody who connects gets at once, before the connection is closed in good order.
    /// - Throws: `TestFailure` when no port can be had.
    public init(greeting: String) throws {
        #if canImport(Glibc)
            let descriptor = socket(
                AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0)
        #else
            let descriptor = socket(AF_INET, SOCK_STREAM, 0)
            _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
        #endif
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isListening = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
                bind(descriptor, generic, size) == 0 && listen(descriptor, SOMAXCONN) == 0
                    && getsockname(descriptor, generic, &size) == 0
            }
        }
        guard isListening else {
            _ = close(descriptor)
            throw TestFailure("no port could be listened at: errno \(errno)")
        }
        port = Int(in_port_t(bigEndian: address.sin_port))
        let source = DispatchSource.makeReadSource(
            fileDescriptor: descriptor, queue: DispatchQueue(label: "foreign peer"))
        let bytes = Array(greeting.utf8)
        source.setEventHandler {
            let guest = accept(descriptor, nil, nil)
            guard guest >= 0 else { return }
            // The greeting is far smaller than what a socket takes at once.
            _ = bytes.withUnsafeBytes { write(guest, $0.baseAddress, $0.count) }
            _ = close(guest)
        }
        source.setCancelHandler { _ = close(descriptor) }
        source.resume()
        listener = Listener(source: source)
    }

    deinit { listener.source.cancel() }

    /// `nats://127.0.0.1:<port>`
    public var url: String { "nats://127.0.0.1:\(port)" }
}
