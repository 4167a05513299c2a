import Foundation
import NIOConcurrencyHelpers
import TestSupport

/// An HTTP proxy of this machine: it answers CONNECT, knows every host as 127.0.0.1, and keeps what it was asked.
final class ConnectProxy: Sendable {
    private let peer: ScriptedPeer
    private let requests: NIOLockedValueBox<[String]>

    init() throws {
        let requests = NIOLockedValueBox<[String]>([])
        self.requests = requests
        peer = try ScriptedPeer { ConnectProxy.serve($0, requests) }
    }

    /// The port.
    var port: Int { peer.port }

    /// The heads of the requests so far.
    var heads: [String] { requests.withLockedValue(\.self) }

    /// Accepts nobody any more.
    func close() { peer.close() }

    private static func serve(_ link: ScriptedPeer.Link, _ requests: NIOLockedValueBox<[String]>) {
        let client = link.socket
        var head = ""
        while !head.hasSuffix("\r\n\r\n") {
            guard let byte = client.readBlocking(upTo: 1).bytes.first, head.utf8.count < 8_192 else { return }
            head.unicodeScalars.append(UnicodeScalar(byte))
        }
        requests.withLockedValue { $0.append(head) }
        let target = head.split(separator: " ").dropFirst().first ?? ""
        guard head.hasPrefix("CONNECT "), let port = target.split(separator: ":").last.flatMap({ UInt16($0) }),
            let server = try? LoopbackSocket.connectedBlocking(to: Int(port)),
            link.send(Array("HTTP/1.1 200 Connected\r\n\r\n".utf8))
        else { return }
        let done = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
            carry(server, client)
            done.signal()
        }
        carry(client, server)
        done.wait()
    }

    /// Passes bytes on until one of the two ends, and then ends both.
    private static func carry(_ from: LoopbackSocket, _ to: LoopbackSocket) {
        while true {
            let (bytes, end) = from.readBlocking(upTo: 16_384)
            guard end == nil || end == .silent, to.sendBlocking(bytes) == bytes.count else { break }
        }
        for socket in [from, to] { socket.wake() }
    }
}
