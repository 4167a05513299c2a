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

    private func words(_ error: NATSError?) -> String? {
        guard case .proxy(let text) = error else {
            Issue.record("\(String(describing: error))")
            return nil
        }
        #expect(error?.isRetryable == false)
        return text
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

    @Test(
        "a refusal has the proxy's number in its words",
        arguments: [
            ("403 Forbidden", "403 Forbidden"), ("407 Proxy Authentication Required", "asks for a user name"),
            ("404 Not Found", "404"), ("302 Found", "302"), ("101 Switching Protocols", "101"),
        ])
    func refusal(status: String, expected: String) async throws {
        let peer = try ScriptedPeer { link in
            link.waitFor("\r\n\r\n")
            link.send("HTTP/1.1 \(status)\r\nContent-Length: 6\r\n\r\nno way")
            link.waitForEnd()
        }
        let text = try #require(words(await failed(.http, port: peer.port)))
        #expect(text.contains(expected) && text.contains("http://127.0.0.1:\(peer.port)"))
        #expect(peer.received.hasPrefix("CONNECT broker.example:4333 HTTP/1.1\r\n"))
        try await eventually("the socket is closed") { peer.ends == 1 }
    }

    @Test(
        "a server that the proxy does not reach is a failure of its own",
        arguments: ["502 Bad Gateway", "504 Gateway Timeout"])
    func gateway(status: String) async throws {
        let peer = try ScriptedPeer { link in
            link.waitFor("\r\n\r\n")
            link.send("HTTP/1.0 \(status)\r\n\r\n<html>")
        }
        let error = await failed(.http, port: peer.port)
        guard case .unreachable(let text) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(text.contains(status) && text.contains("broker.example") && error?.isRetryable == true)
    }

    @Test(
        "an answer that is no HTTP",
        arguments: [
            "SSH-2.0-OpenSSH_9.2\r\n", "INFO {}\r\n", "\r\n\r\n\r\n\u{5}\u{0}", "HTTP/2 200\r\n\r\n",
            "HTTP/1.1 200\n\nx",
            "HTTP/1.1 200 OK\r\nBad header\r\n\r\n", String(repeating: "a", count: 200_000),
            "HTTP/1.1 200 OK\r\nA: " + String(repeating: "a", count: 200_000) + "\r\n\r\n",
        ])
    func garbageForHTTP(answer: String) async throws {
        let peer = try ScriptedPeer { link in
            link.waitFor("\r\n\r\n")
            link.send(answer)
            link.waitForEnd()
        }
        let text = try #require(words(await failed(.http, port: peer.port)))
        #expect(text.contains("does not answer as an HTTP proxy"))
        try await eventually("the socket is closed") { peer.ends == 1 }
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

    private static let greeting: [UInt8] = [5, 0]

    @Test(
        "a SOCKS refusal has its reply code in the words",
        arguments: [(2, "does not allow"), (7, "7"), (8, "8"), (99, "99")])
    func socksRefusal(code: UInt8, expected: String) async throws {
        let peer = try socksPeer([5, code, 0, 1, 0, 0, 0, 0, 0, 0])
        let text = try #require(words(await failed(.socks5, port: peer.port)))
        #expect(text.contains(expected) && text.contains("broker.example:4333"))
        try await eventually("the socket is closed") { peer.ends == 1 }
    }

    @Test("a server that a SOCKS proxy does not reach is a failure of its own", arguments: [1, 3, 4, 5, 6] as [UInt8])
    func socksUnreachable(code: UInt8) async throws {
        let peer = try socksPeer([5, code, 0, 1, 0, 0, 0, 0, 0, 0])
        let error = await failed(.socks5, port: peer.port)
        switch error {
        case .connectionRefused(let text): #expect(code == 5 && text.contains("broker.example"))
        case .unreachable(let text): #expect(code != 5 && text.contains("SOCKS reply \(code)"))
        default: Issue.record("\(String(describing: error))")
        }
        #expect(error?.isRetryable == true)
    }

    @Test(
        "an answer that is no SOCKS 5",
        arguments: [[72, 84, 84, 80], [4, 90, 0, 0], [5, 0, 5, 0, 0, 9]] as [[UInt8]])
    func garbageForSOCKS(answer: [UInt8]) async throws {
        let peer = try ScriptedPeer { link in
            link.waitFor("\u{5}\u{1}\u{0}")
            link.send(Array(answer.prefix(2)))
            if answer.count > 4 { link.waitFor("broker.example") }
            link.send(Array(answer.dropFirst(2)))
            link.waitForEnd()
        }
        let text = try #require(words(await failed(.socks5, port: peer.port)))
        #expect(text.contains("does not answer as a SOCKS 5 proxy"))
    }

    @Test("a SOCKS proxy that wants a password")
    func socksAuthentication() async throws {
        let peer = try ScriptedPeer { link in
            link.waitFor("\u{5}\u{1}\u{0}")
            link.send([5, 255])
            link.waitForEnd()
        }
        let text = try #require(words(await failed(.socks5, port: peer.port)))
        #expect(text.contains("user name and password"))
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
            guard case .invalidArgument = error else {
                Issue.record("\(String(describing: error))")
                continue
            }
        }
        for port in [0, 70_000] {
            guard case .invalidArgument = await failed(kind, port: peer.port, to: ServerAddress(host: "h", port: port))
            else {
                Issue.record("\(port)")
                continue
            }
        }
        try await eventually("five sockets, all closed") { peer.accepted == 5 && peer.ends == 5 }
        #expect(peer.received.isEmpty)
    }

    private func socksPeer(_ reply: [UInt8]) throws -> ScriptedPeer {
        try ScriptedPeer { link in
            link.waitFor("\u{5}\u{1}\u{0}")
            link.send(Self.greeting)
            link.waitFor("broker.example")
            link.send(reply)
            link.waitForEnd()
        }
    }
}
