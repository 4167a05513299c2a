import Foundation
import NIOConcurrencyHelpers
import TestSupport

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A TCP listener on a loopback port that does what a script says with each connection, on a thread of its own.
final class ScriptedPeer: Sendable {
    /// One accepted connection; the script may block on it.
    struct Link: Sendable {
        fileprivate let descriptor: Int32
        fileprivate let peer: ScriptedPeer.Log
        /// What was read behind the words that were waited for last.
        private let unread = NIOLockedValueBox<[UInt8]>([])

        fileprivate init(descriptor: Int32, peer: ScriptedPeer.Log) {
            self.descriptor = descriptor
            self.peer = peer
        }

        /// What the peer's clients have sent.
        var received: String { peer.received.withLockedValue { $0 } }

        /// Sends text; a closed connection swallows it.
        func send(_ text: String) { send(Array(text.utf8)) }

        /// Sends bytes; false when the client has closed.
        @discardableResult
        func send(_ bytes: [UInt8]) -> Bool {
            var sent = 0
            while sent < bytes.count {
                let count = bytes.withUnsafeBytes { bytes in
                    #if canImport(Glibc)
                        Glibc.send(
                            descriptor, bytes.baseAddress?.advanced(by: sent), bytes.count - sent, Int32(MSG_NOSIGNAL))
                    #else
                        Darwin.send(descriptor, bytes.baseAddress?.advanced(by: sent), bytes.count - sent, 0)
                    #endif
                }
                guard count > 0 else { return false }
                sent += count
            }
            return true
        }

        /// Reads until `words` have come or the client has closed; false in the latter case. What came behind them is
        /// there for the next wait.
        @discardableResult
        func waitFor(_ words: String) -> Bool {
            let wanted = Array(words.utf8)
            var recent = takeUnread()
            var buffer = [UInt8](repeating: 0, count: 65_536)
            while true {
                if let match = recent.firstRange(of: wanted) {
                    unread.withLockedValue { $0 = Array(recent[match.upperBound...]) }
                    return true
                }
                recent = Array(recent.suffix(wanted.count))
                let count = recv(descriptor, &buffer, buffer.count, 0)
                guard count > 0 else {
                    peer.ends.withLockedValue { $0 += 1 }
                    return false
                }
                recent += buffer[..<count]
                guard peer.received.withLockedValue({ $0.utf8.count }) < 1 << 20 else { continue }
                let text = String(decoding: buffer[..<count], as: UTF8.self)
                peer.received.withLockedValue { $0 += text }
            }
        }

        private func takeUnread() -> [UInt8] {
            unread.withLockedValue { unread in
                defer { unread = [] }
                return unread
            }
        }

        /// Reads `step` bytes at a time with a pause after each, answers every PING, until the client closes.
        func readSlowly(step: Int, pause: Duration) {
            let wanted = Array("PING\r\n".utf8)
            var recent = takeUnread()
            var buffer = [UInt8](repeating: 0, count: step)
            while true {
                // Another peer's data may not hold the word; this one's tests see to that.
                while let place = recent.firstRange(of: wanted) {
                    recent.removeSubrange(..<place.upperBound)
                    send("PONG\r\n")
                }
                recent = Array(recent.suffix(wanted.count - 1))
                let count = recv(descriptor, &buffer, buffer.count, 0)
                guard count > 0 else { break }
                recent += buffer[..<count]
                Thread.sleep(forTimeInterval: Double(pause.components.attoseconds) * 1e-18)
            }
            peer.ends.withLockedValue { $0 += 1 }
        }

        /// Reads until the client closes.
        func waitForEnd() {
            var buffer = [UInt8](repeating: 0, count: 65_536)
            while true {
                let count = recv(descriptor, &buffer, buffer.count, 0)
                guard count > 0 else { break }
                let text = String(decoding: buffer[..<count], as: UTF8.self)
                peer.received.withLockedValue { if $0.utf8.count < 1 << 20 { $0 += text } }
            }
            peer.ends.withLockedValue { $0 += 1 }
        }

        /// Greets as a server does and confirms the login.
        @discardableResult
        func logIn(
            info: String = "{\"server_id\":\"S\",\"version\":\"2.10.0\",\"headers\":true,\"max_payload\":1048576}"
        )
            -> Bool
        {
            send("INFO \(info)\r\n")
            guard waitFor("PING\r\n") else { return false }
            send("PONG\r\n")
            return true
        }
    }

    fileprivate final class Log: Sendable {
        let received = NIOLockedValueBox("")
        let ends = NIOLockedValueBox(0)
        let accepted = NIOLockedValueBox(0)
    }

    let port: Int
    private let listener: Int32
    private let log = Log()

    /// What clients have sent, up to about 1 MiB.
    var received: String { log.received.withLockedValue { $0 } }
    /// How many connections clients have closed.
    var ends: Int { log.ends.withLockedValue { $0 } }
    /// How many connections were accepted.
    var accepted: Int { log.accepted.withLockedValue { $0 } }
    /// `nats://127.0.0.1:<port>`
    var url: String { "nats://127.0.0.1:\(port)" }

    /// Listens; `script` is run for each connection, which is closed when it returns.
    init(_ script: @escaping @Sendable (Link) -> Void) throws {
        #if canImport(Glibc)
            listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        #else
            listener = socket(AF_INET, SOCK_STREAM, 0)
        #endif
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let descriptor = listener
        let isListening = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, size) == 0 && listen(descriptor, SOMAXCONN) == 0
                    && getsockname(descriptor, $0, &size) == 0
            }
        }
        guard isListening else { throw TestFailure("cannot listen: errno \(errno)") }
        port = Int(in_port_t(bigEndian: address.sin_port))
        Thread { [listener, log] in
            while true {
                let accepted = accept(listener, nil, nil)
                guard accepted >= 0 else {
                    _ = close(listener)
                    return
                }
                log.accepted.withLockedValue { $0 += 1 }
                Thread {
                    script(Link(descriptor: accepted, peer: log))
                    _ = close(accepted)
                }.start()
            }
        }.start()
    }

    deinit {
        // Wakes the thread that accepts, which closes the descriptor: only it can know that it is out of use.
        _ = shutdown(listener, Int32(SHUT_RDWR))
    }
}
