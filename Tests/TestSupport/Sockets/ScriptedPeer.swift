import Foundation
import NIOConcurrencyHelpers

/// A TCP listener on a loopback port that does what a script says with each connection, on a thread of its own.
///
/// It ends with its last reference.
public final class ScriptedPeer: Sendable {
    /// One accepted connection; the script may block on it.
    public struct Link: Sendable {
        /// The connection itself.
        public let socket: LoopbackSocket
        fileprivate let peer: ScriptedPeer.Log
        /// What was read behind the words that were waited for last.
        private let unread = NIOLockedValueBox<[UInt8]>([])

        fileprivate init(_ socket: LoopbackSocket, peer: ScriptedPeer.Log) {
            self.socket = socket
            self.peer = peer
        }

        /// What the peer's clients have sent.
        public var received: String { peer.received.withLockedValue { $0 } }

        /// Sends text; a closed connection swallows it.
        public func send(_ text: String) { send(Array(text.utf8)) }

        /// Sends bytes; false when the client has closed.
        @discardableResult
        public func send(_ bytes: [UInt8]) -> Bool { socket.sendBlocking(bytes) == bytes.count }

        /// Reads until `words` have come or the client has closed; false in the latter case. What came behind them is
        /// there for the next wait.
        @discardableResult
        public func waitFor(_ words: String) -> Bool {
            let wanted = Array(words.utf8)
            var recent = takeUnread()
            while true {
                if let match = recent.firstRange(of: wanted) {
                    unread.withLockedValue { $0 = Array(recent[match.upperBound...]) }
                    return true
                }
                recent = Array(recent.suffix(wanted.count))
                let (bytes, end) = socket.readBlocking(upTo: 65_536)
                guard end == nil else {
                    peer.ends.withLockedValue { $0 += 1 }
                    return false
                }
                recent += bytes
                peer.note(bytes)
            }
        }

        private func takeUnread() -> [UInt8] {
            unread.withLockedValue { unread in
                defer { unread = [] }
                return unread
            }
        }

        /// Reads `step` bytes at a time with a pause after each, answers every PING, until the client closes.
        public func readSlowly(step: Int, pause: Duration) {
            let wanted = Array("PING\r\n".utf8)
            var recent = takeUnread()
            while true {
                // Another peer's data may not hold the word; this one's tests see to that.
                while let place = recent.firstRange(of: wanted) {
                    recent.removeSubrange(..<place.upperBound)
                    send("PONG\r\n")
                }
                recent = Array(recent.suffix(wanted.count - 1))
                let (bytes, end) = socket.readBlocking(upTo: step)
                guard end == nil else { break }
                recent += bytes
                Thread.sleep(forTimeInterval: Double(pause.components.attoseconds) * 1e-18)
            }
            peer.ends.withLockedValue { $0 += 1 }
        }

        /// Reads until the client closes.
        public func waitForEnd() {
            while true {
                let (bytes, end) = socket.readBlocking(upTo: 65_536)
                guard end == nil else { break }
                peer.note(bytes)
            }
            peer.ends.withLockedValue { $0 += 1 }
        }

        /// Greets as a server does and confirms the login.
        @discardableResult
        public func logIn(
            info: String = "{\"server_id\":\"S\",\"version\":\"2.10.0\",\"headers\":true,\"max_payload\":1048576}"
        ) -> Bool {
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

        /// Adds to what was received, up to about 1 MiB.
        func note(_ bytes: [UInt8]) {
            guard received.withLockedValue({ $0.utf8.count }) < 1 << 20 else { return }
            let text = String(decoding: bytes, as: UTF8.self)
            received.withLockedValue { $0 += text }
        }
    }

    private let listener: LoopbackSocket
    private let log = Log()

    /// The port.
    public var port: Int { listener.port }
    /// What clients have sent, up to about 1 MiB.
    public var received: String { log.received.withLockedValue { $0 } }
    /// How many connections clients have closed.
    public var ends: Int { log.ends.withLockedValue { $0 } }
    /// How many connections were accepted.
    public var accepted: Int { log.accepted.withLockedValue { $0 } }
    /// `nats://127.0.0.1:<port>`
    public var url: String { "nats://127.0.0.1:\(port)" }

    /// Listens; `script` is run for each connection, which is closed when it returns.
    ///
    /// - Throws: `TestFailure` when no port can be had.
    public init(_ script: @escaping @Sendable (Link) -> Void) throws {
        listener = try LoopbackSocket.listening()
        Thread.detachNewThread { [listener, log] in
            while let accepted = listener.acceptedBlocking() {
                log.accepted.withLockedValue { $0 += 1 }
                Thread.detachNewThread {
                    script(Link(accepted, peer: log))
                    accepted.close()
                }
            }
            listener.close()
        }
    }

    /// Listens, and greets whoever comes and says nothing else: a program that is no NATS server.
    ///
    /// - Parameter greeting: what everybody who connects gets at once, before the connection is closed.
    /// - Throws: `TestFailure` when no port can be had.
    public convenience init(greeting: String) throws {
        try self.init { $0.send(greeting) }
    }

    deinit { close() }

    /// Accepts nobody any more; connections that are there go on.
    public func close() {
        // Wakes the thread that accepts, which closes the listener: only it can know that it is out of use.
        listener.wake()
    }
}
