import Foundation
import NIOConcurrencyHelpers
import TestSupport

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// An HTTP proxy of this machine: it answers CONNECT, knows every host as 127.0.0.1, and keeps what it was asked.
final class ConnectProxy: Sendable {
    let port: UInt16
    private let listener: Int32
    private let requests = NIOLockedValueBox<[String]>([])

    init() throws {
        listener = socket(AF_INET, Self.stream, 0)
        var address = Self.loopback(0)
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let listener = listener
        let isListening = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, size) == 0 && listen(listener, SOMAXCONN) == 0
                    && getsockname(listener, $0, &size) == 0
            }
        }
        guard isListening else { throw TestFailure("no port could be taken: errno \(errno)") }
        port = UInt16(bigEndian: address.sin_port)
        Thread.detachNewThread { [requests] in
            while true {
                let client = accept(listener, nil, nil)
                guard client >= 0 else { return }
                Thread.detachNewThread { Self.serve(client, requests) }
            }
        }
    }

    /// The heads of the requests so far.
    var heads: [String] { requests.withLockedValue(\.self) }

    func close() {
        shutdown(listener, Int32(SHUT_RDWR))
        Self.end(listener)
    }

    private static func serve(_ client: Int32, _ requests: NIOLockedValueBox<[String]>) {
        defer { end(client) }
        var head = ""
        var byte: UInt8 = 0
        while !head.hasSuffix("\r\n\r\n") {
            guard read(client, &byte, 1) == 1, head.utf8.count < 8_192 else { return }
            head.unicodeScalars.append(UnicodeScalar(byte))
        }
        requests.withLockedValue { $0.append(head) }
        let target = head.split(separator: " ").dropFirst().first ?? ""
        guard head.hasPrefix("CONNECT "), let port = target.split(separator: ":").last.flatMap({ UInt16($0) }) else {
            return
        }
        let server = socket(AF_INET, stream, 0)
        defer { end(server) }
        var address = loopback(port)
        let size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isConnected = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(server, $0, size) == 0 }
        }
        guard isConnected, send(Array("HTTP/1.1 200 Connected\r\n\r\n".utf8)[...], to: client) else { return }
        let done = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
            carry(server, client)
            done.signal()
        }
        carry(client, server)
        done.wait()
    }

    private static func carry(_ from: Int32, _ to: Int32) {
        var buffer = [UInt8](repeating: 0, count: 16_384)
        while true {
            let count = read(from, &buffer, buffer.count)
            guard count > 0, send(buffer[..<count], to: to) else { break }
        }
        for socket in [from, to] { shutdown(socket, Int32(SHUT_RDWR)) }
    }

    private static func send(_ bytes: ArraySlice<UInt8>, to socket: Int32) -> Bool {
        #if canImport(Darwin)
            let flags: Int32 = 0
        #else
            let flags = Int32(MSG_NOSIGNAL)
        #endif
        var rest = bytes
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { systemSend(socket, $0.baseAddress, $0.count, flags) }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }

    private static func loopback(_ port: UInt16) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return address
    }

    private static var stream: Int32 {
        #if canImport(Glibc)
            Int32(SOCK_STREAM.rawValue)
        #else
            SOCK_STREAM
        #endif
    }

    private static func end(_ descriptor: Int32) {
        #if canImport(Glibc)
            _ = Glibc.close(descriptor)
        #else
            _ = Darwin.close(descriptor)
        #endif
    }
}

private func systemSend(_ socket: Int32, _ bytes: UnsafeRawPointer?, _ count: Int, _ flags: Int32) -> Int {
    send(socket, bytes, count, flags)
}
