import Dispatch
import TestSupport

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A plain TCP socket of 127.0.0.1 for looking at bytes. Its calls block a thread of their own, not the test's.
final class LoopbackSocket: Sendable {
    /// How reading ended.
    enum End: Hashable, Sendable {
        /// The other side closed in good order.
        case finished
        /// The other side reset.
        case reset
        /// Nothing more came in time.
        case silent
    }

    private let descriptor: Int32
    let port: Int

    private init(descriptor: Int32, port: Int) {
        self.descriptor = descriptor
        self.port = port
    }

    deinit { close() }

    /// Listens at a port that the system chooses.
    static func listening() throws -> LoopbackSocket {
        let descriptor = try make()
        var (address, length) = name(port: 0)
        let isListening = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
                bind(descriptor, generic, length) == 0 && listen(descriptor, SOMAXCONN) == 0
                    && getsockname(descriptor, generic, &length) == 0
            }
        }
        guard isListening else { throw TestFailure("cannot listen: errno \(errno)") }
        return LoopbackSocket(descriptor: descriptor, port: Int(UInt16(bigEndian: address.sin_port)))
    }

    /// Connects; nil when the connection is refused, or reset by a listener that goes meanwhile.
    static func connected(to port: Int) async throws -> LoopbackSocket? {
        let descriptor = try make()
        let code = await blocking { () -> Int32 in
            var (address, length) = name(port: UInt16(port))
            let result = withUnsafeMutablePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(descriptor, $0, length) }
            }
            return result == 0 ? 0 : errno
        }
        let socket = LoopbackSocket(descriptor: descriptor, port: port)
        if code == ECONNREFUSED || code == ECONNRESET { return nil }
        guard code == 0 else { throw TestFailure("cannot connect: errno \(code)") }
        return socket
    }

    /// The next connection.
    func accepted() async throws -> LoopbackSocket {
        let descriptor = descriptor
        let accepted = await Self.blocking { accept(descriptor, nil, nil) }
        guard accepted >= 0 else { throw TestFailure("no client connected") }
        Self.bound(accepted, seconds: 60)
        return LoopbackSocket(descriptor: accepted, port: port)
    }

    /// Sends; how many bytes the system took before it took none for so long.
    @discardableResult
    func send(_ bytes: [UInt8], seconds: Int = 60) async -> Int {
        let descriptor = descriptor
        Self.bound(descriptor, seconds: seconds)
        return await Self.blocking {
            var sent = 0
            while sent < bytes.count {
                let count = bytes.withUnsafeBytes { buffer in
                    #if canImport(Glibc)
                        Glibc.send(
                            descriptor, buffer.baseAddress?.advanced(by: sent), bytes.count - sent, Int32(MSG_NOSIGNAL))
                    #else
                        Darwin.send(descriptor, buffer.baseAddress?.advanced(by: sent), bytes.count - sent, 0)
                    #endif
                }
                guard count > 0 else { break }
                sent += count
            }
            return sent
        }
    }

    /// Reads so many bytes, or fewer when the end comes before; nil for the end means that all came.
    func read(_ count: Int, seconds: Int = 60) async -> (bytes: [UInt8], end: End?) {
        let descriptor = descriptor
        Self.bound(descriptor, seconds: seconds)
        return await Self.blocking {
            var content: [UInt8] = []
            var chunk = [UInt8](repeating: 0, count: 65_536)
            while content.count < count {
                let length = recv(descriptor, &chunk, min(chunk.count, count - content.count), 0)
                if length == 0 { return (content, .finished) }
                guard length > 0 else { return (content, errno == EAGAIN ? .silent : .reset) }
                content += chunk[..<length]
            }
            return (content, nil)
        }
    }

    /// Says that no more will be sent.
    func finish() { _ = shutdown(descriptor, Int32(SHUT_WR)) }

    /// Wakes the waiter.
    func wake() { _ = shutdown(descriptor, Int32(SHUT_RDWR)) }

    private func close() {
        #if canImport(Glibc)
            _ = Glibc.close(descriptor)
        #else
            _ = Darwin.close(descriptor)
        #endif
    }

    private static func blocking<R: Sendable>(_ body: @escaping @Sendable () -> R) async -> R {
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async { continuation.resume(returning: body()) }
        }
    }

    private static func make() throws -> Int32 {
        #if canImport(Glibc)
            let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        #else
            let descriptor = socket(AF_INET, SOCK_STREAM, 0)
        #endif
        guard descriptor >= 0 else { throw TestFailure("no socket: errno \(errno)") }
        bound(descriptor, seconds: 60)
        return descriptor
    }

    private static func bound(_ descriptor: Int32, seconds: Int) {
        var limit = timeval(tv_sec: seconds, tv_usec: 0)
        let length = socklen_t(MemoryLayout<timeval>.size)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, length)
        setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, length)
    }

    private static func name(port: UInt16) -> (sockaddr_in, socklen_t) {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return (address, socklen_t(MemoryLayout<sockaddr_in>.size))
    }
}
