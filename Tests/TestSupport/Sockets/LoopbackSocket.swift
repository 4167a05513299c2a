import Dispatch
import NIOConcurrencyHelpers
import Platform

/// A plain TCP socket of 127.0.0.1 for looking at bytes. What waits is there twice: for a test, whose thread goes on,
/// and blocking, for a peer that has threads of its own.
///
/// It is closed with its last reference at the latest.
public final class LoopbackSocket: Sendable {
    /// How reading ended.
    public enum End: Hashable, Sendable {
        /// The other side closed in good order.
        case finished
        /// The other side reset.
        case reset
        /// Nothing more came in time.
        case silent
    }

    /// The port: its own where it listens, the one that it was connected to otherwise.
    public let port: Int
    /// Nil once it is closed.
    private let opened: NIOLockedValueBox<Int32?>

    private init(descriptor: Int32, port: Int) {
        opened = NIOLockedValueBox(descriptor)
        self.port = port
    }

    deinit { close() }

    // MARK: Making

    /// Listens at a port that the system chooses.
    ///
    /// - Throws: `TestFailure` when no port can be had.
    public static func listening() throws -> LoopbackSocket {
        let socket = try taking()
        guard listen(socket.descriptor, SOMAXCONN) == 0 else { throw TestFailure("cannot listen: errno \(errno)") }
        return socket
    }

    /// Takes a port and does not listen there, so that connections are refused.
    ///
    /// - Parameter port: 0 lets the system choose.
    /// - Throws: `TestFailure` when no port can be had.
    public static func taking(_ port: Int = 0) throws -> LoopbackSocket {
        let descriptor = try make()
        // What was connected there a moment ago keeps nobody out.
        var isOn: Int32 = 1
        if port != 0 { setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &isOn, socklen_t(MemoryLayout<Int32>.size)) }
        var (address, length) = name(port: UInt16(port))
        let isBound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
                bind(descriptor, generic, length) == 0 && getsockname(descriptor, generic, &length) == 0
            }
        }
        guard isBound else {
            let code = errno
            close(descriptor)
            throw TestFailure("no port could be taken: errno \(code)")
        }
        return LoopbackSocket(descriptor: descriptor, port: Int(UInt16(bigEndian: address.sin_port)))
    }

    /// Connects; nil when the connection is refused, or reset by a listener that goes meanwhile.
    ///
    /// - Throws: `TestFailure` when it fails otherwise.
    public static func connected(to port: Int) async throws -> LoopbackSocket? {
        try await waiting { Result { try connectedBlocking(to: port) } }.get()
    }

    /// Connects, as ``connected(to:)``.
    public static func connectedBlocking(to port: Int) throws -> LoopbackSocket? {
        let socket = LoopbackSocket(descriptor: try make(), port: port)
        socket.limit(seconds: 60)
        var (address, length) = name(port: UInt16(port))
        let result = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(socket.descriptor, $0, length) }
        }
        let code = result == 0 ? 0 : errno
        if code == ECONNREFUSED || code == ECONNRESET { return nil }
        guard code == 0 else { throw TestFailure("cannot connect: errno \(code)") }
        return socket
    }

    /// The next connection.
    ///
    /// - Throws: `TestFailure` when none comes within a minute.
    public func accepted() async throws -> LoopbackSocket {
        limit(seconds: 60)
        let socket = await Self.waiting { self.acceptedBlocking() }
        guard let socket else { throw TestFailure("no client connected") }
        socket.limit(seconds: 60)
        return socket
    }

    /// The next connection; nil after ``wake()``.
    public func acceptedBlocking() -> LoopbackSocket? {
        let accepted = accept(descriptor, nil, nil)
        return accepted >= 0 ? LoopbackSocket(descriptor: accepted, port: port) : nil
    }

    // MARK: Bytes

    /// Sends; how many bytes the system took before it took none for so long.
    @discardableResult
    public func send(_ bytes: [UInt8], seconds: Int = 60) async -> Int {
        limit(seconds: seconds)
        return await Self.waiting { self.sendBlocking(bytes) }
    }

    /// Sends; how many bytes the system took.
    @discardableResult
    public func sendBlocking(_ bytes: [UInt8]) -> Int {
        var sent = 0
        let descriptor = descriptor
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

    /// Reads so many bytes, or fewer when the end comes before; nil for the end means that all came.
    public func read(_ count: Int, seconds: Int = 60) async -> (bytes: [UInt8], end: End?) {
        limit(seconds: seconds)
        return await Self.waiting {
            var content: [UInt8] = []
            while content.count < count {
                let (bytes, end) = self.readBlocking(upTo: min(65_536, count - content.count))
                if let end { return (content, end) }
                content += bytes
            }
            return (content, nil)
        }
    }

    /// Reads what is there, or waits for something.
    public func readBlocking(upTo count: Int) -> (bytes: [UInt8], end: End?) {
        var end: End?
        let descriptor = descriptor
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            let length = recv(descriptor, buffer.baseAddress, count, 0)
            initialized = max(0, length)
            if length == 0 { end = .finished }
            if length < 0 { end = errno == EAGAIN ? .silent : .reset }
        }
        return (bytes, end)
    }

    /// Says that no more will be sent.
    public func finish() { _ = shutdown(descriptor, Int32(SHUT_WR)) }

    /// Wakes the waiter.
    public func wake() { _ = shutdown(descriptor, Int32(SHUT_RDWR)) }

    /// Closes it, which nobody may be waiting for; safe to call again.
    public func close() {
        let descriptor = opened.withLockedValue { opened in
            defer { opened = nil }
            return opened
        }
        if let descriptor { Self.close(descriptor) }
    }

    private var descriptor: Int32 { opened.withLockedValue { $0 ?? -1 } }

    // MARK: The system

    private static func waiting<R: Sendable>(_ body: @escaping @Sendable () -> R) async -> R {
        // A result that is there before anybody waits for it goes past all that the thread sanitizer watches.
        let handover = NIOLockedValueBox(())
        let result = await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                let result = body()
                handover.withLockedValue { _ in }
                continuation.resume(returning: result)
            }
        }
        handover.withLockedValue { _ in }
        return result
    }

    private static func make() throws -> Int32 {
        #if canImport(Glibc)
            let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        #else
            let descriptor = socket(AF_INET, SOCK_STREAM, 0)
        #endif
        guard descriptor >= 0 else { throw TestFailure("no socket: errno \(errno)") }
        return descriptor
    }

    private static func close(_ descriptor: Int32) {
        _ = Platform.close(descriptor)
    }

    /// Bounds how long the system lets a call wait.
    private func limit(seconds: Int) {
        var time = timeval(tv_sec: seconds, tv_usec: 0)
        let length = socklen_t(MemoryLayout<timeval>.size)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &time, length)
        setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &time, length)
    }

    private static func name(port: UInt16) -> (sockaddr_in, socklen_t) {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return (address, socklen_t(MemoryLayout<sockaddr_in>.size))
    }
}
