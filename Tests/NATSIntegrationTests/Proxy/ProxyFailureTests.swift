import NIOCore
import Platform
import TestSupport
import Testing

@testable import NATS

@Suite("Proxies that do not work", .realProcesses)
struct ProxyFailureTests {
    private let server = ServerAddress(host: "broker.example", port: 4_333)

    private func failed(
        _ kind: ProxyAddress.Kind, host: String = "127.0.0.1", port: Int, to server: ServerAddress? = nil,
        timeout: Duration = .seconds(30)
    ) async -> NATSError? {
        await failure { () async throws(NATSError) in
            _ = try await NATSConnection.connect(
                to: server ?? self.server,
                options: ConnectOptions(
                    proxy: ProxyAddress(kind, host: host, port: port), connectTimeout: timeout))
        }
    }

    @Test("a port without a listener", arguments: [ProxyAddress.Kind.http, .socks5])
    func refused(kind: ProxyAddress.Kind) async throws {
        let absent = try SilentPort()
        let address = ProxyAddress(kind, host: "127.0.0.1", port: absent.port)
        #expect(await failed(kind, port: absent.port) == .proxy("nothing answers at \(address)"))
    }

    @Test("a proxy's name without an address is the network's trouble", arguments: [ProxyAddress.Kind.http, .socks5])
    func unresolvable(kind: ProxyAddress.Kind) async throws {
        let error = await failed(kind, host: "no-such-host.invalid", port: 1)
        let name = "\(kind.rawValue)://no-such-host.invalid:1"
        #expect(error == .unreachable("the proxy \(name) has no address; check its spelling and DNS"))
        #expect(error?.isRetryable == true)
    }

    @Test("a proxy that never answers can be tried again", arguments: [ProxyAddress.Kind.http, .socks5])
    func silent(kind: ProxyAddress.Kind) async throws {
        let peer = try ScriptedPeer { $0.waitForEnd() }
        let error = await failed(kind, port: peer.port, timeout: .seconds(2))
        guard case .timeout(let text) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(text.contains("127.0.0.1:\(peer.port)") && error?.isRetryable == true)
        try await eventually("the socket is closed") { peer.accepted == 1 && peer.ends == 1 }
    }

    @Test(
        "a proxy whose connection breaks before its answer is whole can be tried again",
        arguments: [
            (ProxyAddress.Kind.http, ""), (.http, "HTTP/1.1 20"), (.http, "HTTP/1.1 200 OK\r\nA: b\r\n"),
            (.socks5, ""), (.socks5, "\u{5}"), (.socks5, "\u{5}\u{0}"),
        ])
    func closes(kind: ProxyAddress.Kind, part: String) async throws {
        let peer = try ScriptedPeer { link in
            link.waitFor(kind == .http ? "\r\n\r\n" : "\u{5}\u{1}\u{0}")
            link.send(part)
            if part.utf8.count == 2 { link.waitFor("broker.example") }
        }
        let error = await failed(kind, port: peer.port)
        guard case .connectionLost(let text) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(text.contains("127.0.0.1:\(peer.port)") && error?.isRetryable == true)
    }

    /// What a proxy answers, in turn, and what its words are then to hold.
    struct Answer: Sendable {
        let kind: ProxyAddress.Kind
        let answers: [[UInt8]]
        let isFinal: Bool
        let words: [String]

        static func http(_ text: String, isFinal: Bool = true, _ words: String...) -> Answer {
            Answer(kind: .http, answers: [Array(text.utf8)], isFinal: isFinal, words: words)
        }

        static func socks(_ answers: [UInt8]..., isFinal: Bool = true, words: String...) -> Answer {
            Answer(kind: .socks5, answers: answers, isFinal: isFinal, words: words)
        }

        /// The reply to a request.
        static func reply(_ code: UInt8, isFinal: Bool = true, _ words: String) -> Answer {
            socks([5, 0], [5, code, 0, 1, 0, 0, 0, 0, 0, 0], isFinal: isFinal, words: words, "broker.example:4333")
        }

        static let noHTTP: [Answer] =
            ([
                "SSH-2.0-OpenSSH_9.2\r\n", "INFO {}\r\n", "\r\n\r\n\r\n\u{5}\u{0}", "HTTP/2 200\r\n\r\n",
                "HTTP/1.1 200\n\nx", "HTTP/1.1 200 OK\r\nBad header\r\n\r\n", String(repeating: "a", count: 200_000),
                "HTTP/1.1 200 OK\r\nA: " + String(repeating: "a", count: 200_000) + "\r\n\r\n",
            ] as [String]).map { http($0, "does not answer as an HTTP proxy") }

        static let others: [Answer] = [
            http("HTTP/1.1 403 Forbidden\r\nContent-Length: 6\r\n\r\nno way", "403 Forbidden"),
            http("HTTP/1.1 407 Proxy Authentication Required\r\n\r\n", "asks for a user name"),
            http("HTTP/1.1 404 Not Found\r\n\r\n", "404"), http("HTTP/1.1 302 Found\r\n\r\n", "302"),
            http("HTTP/1.1 101 Switching Protocols\r\n\r\n", "101"),
            http("HTTP/1.0 502 Bad Gateway\r\n\r\n<html>", isFinal: false, "502 Bad Gateway", "broker.example"),
            http("HTTP/1.0 504 Gateway Timeout\r\n\r\n", isFinal: false, "504 Gateway Timeout", "broker.example"),
            socks([72, 84, 84, 80], words: "does not answer as a SOCKS 5 proxy"),
            socks([4, 90, 0, 0], words: "does not answer as a SOCKS 5 proxy"),
            socks([5, 0], [5, 0, 0, 9], words: "does not answer as a SOCKS 5 proxy"),
            socks([5, 255], words: "user name and password"),
            reply(2, "does not allow"), reply(7, "7"), reply(8, "8"), reply(99, "99"),
            reply(1, isFinal: false, "SOCKS reply 1"), reply(3, isFinal: false, "SOCKS reply 3"),
            reply(4, isFinal: false, "SOCKS reply 4"), reply(6, isFinal: false, "SOCKS reply 6"),
        ]

        static let all = noHTTP + others
    }

    @Test("a refusal, an unreachable server and what is no proxy's answer are told apart", arguments: Answer.all)
    func answers(answer: Answer) async throws {
        let peer = try ScriptedPeer { link in
            link.waitFor(answer.kind == .http ? "\r\n\r\n" : "\u{5}\u{1}\u{0}")
            for (number, bytes) in answer.answers.enumerated() {
                if number > 0 { link.waitFor("broker.example") }
                link.send(bytes)
            }
            link.waitForEnd()
        }
        let error = await failed(answer.kind, port: peer.port)
        let text: String
        switch error {
        case .proxy(let told) where answer.isFinal: text = told
        case .unreachable(let told) where !answer.isFinal: text = told
        default:
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(error?.isRetryable == !answer.isFinal)
        for words in answer.words + ["\(answer.kind.rawValue)://127.0.0.1:\(peer.port)"] {
            #expect(text.contains(words), "\(text)")
        }
        if answer.kind == .http { #expect(peer.received.hasPrefix("CONNECT broker.example:4333 HTTP/1.1\r\n")) }
        try await eventually("the socket is closed") { peer.ends == 1 }
    }

    @Test("a server that refuses a SOCKS proxy is told as one that refuses this client")
    func refusedBehindSOCKS() async throws {
        let peer = try ScriptedPeer { link in
            link.waitFor("\u{5}\u{1}\u{0}")
            link.send([5, 0])
            link.waitFor("broker.example")
            link.send([5, 5, 0, 1, 0, 0, 0, 0, 0, 0])
            link.waitForEnd()
        }
        guard case .connectionRefused(let text) = await failed(.socks5, port: peer.port) else {
            Issue.record("another error")
            return
        }
        #expect(text.contains("broker.example"))
    }

    @Test("a proxy that speaks on after its answer is taken for the server", arguments: [1, 2, 3])
    func repeated(times: Int) async throws {
        let peer = try ScriptedPeer { link in
            link.waitFor("\r\n\r\n")
            link.send(String(repeating: "HTTP/1.1 200 OK\r\n\r\n", count: times))
            link.waitFor("never")
        }
        let error = await failed(.http, port: peer.port, timeout: times == 1 ? .seconds(5) : .seconds(30))
        switch error {
        case .timeout(let text): #expect(times == 1 && text.contains("broker.example"))
        case .protocolViolation: #expect(times > 1)
        default: Issue.record("\(String(describing: error))")
        }
    }

    @Test("cancelling while the proxy is silent ends the wait and closes the socket")
    func cancelled() async throws {
        let peer = try ScriptedPeer { $0.waitForEnd() }
        let options = ConnectOptions(
            proxy: ProxyAddress(.http, host: "127.0.0.1", port: peer.port), connectTimeout: .seconds(60))
        let task = Task { [server] in try await NATSConnection.connect(to: server, options: options) }
        try await eventually("the connection is made") { peer.accepted == 1 }
        task.cancel()
        await #expect(throws: NATSError.cancelled) { try await task.value }
        try await eventually("the socket is closed") { peer.ends == 1 }
    }

    @Test("a host that a request cannot hold is not asked for", arguments: [ProxyAddress.Kind.http, .socks5])
    func unusableHost(kind: ProxyAddress.Kind) async throws {
        let peer = try ScriptedPeer { $0.waitForEnd() }
        for host in ["a\r\nX: y", "", String(repeating: "h", count: 300)] {
            let error = await failed(kind, port: peer.port, to: ServerAddress(host: host, port: 1))
            #expect(error.isInvalidArgument, "\(error as Any)")
        }
        for port in [0, 70_000] {
            #expect(await failed(kind, port: peer.port, to: ServerAddress(host: "h", port: port)).isInvalidArgument)
        }
        try await eventually("five sockets, all closed") { peer.accepted == 5 && peer.ends == 5 }
        #expect(peer.received.isEmpty)
    }
}
