import NIOCore
import NIOPosix
import TestSupport
import Testing

@testable import NATS

@Suite("Dialling peers that are not there, or not what they should be", .realProcesses)
struct DialTests {
    /// With more time than a busy machine needs for what is no matter of time.
    private static let patient = ConnectOptions(connectTimeout: .seconds(60))

    private func failed(_ url: String, _ options: ConnectOptions = Self.patient) async -> NATSError? {
        await failure { () async throws(NATSError) in
            _ = try await NATSConnection.connect(to: try ServerAddress(parsing: url), options: options)
        }
    }

    @Test("a port without a listener")
    func refused() async throws {
        let absent = try SilentPort()
        #expect(await failed(absent.url) == .connectionRefused(absent.url))
    }

    @Test("a name without an address")
    func unresolvable() async {
        let error = await failed("nats://no-such-host.invalid")
        #expect(error == .unresolvableHost("no-such-host.invalid"))
    }

    @Test("a host whose first address refuses is reached at its second")
    func severalAddresses() async throws {
        let server = try await NATSServerProcess.start(jetStream: false)
        let resolver = FixedResolver(
            addresses: [
                try SocketAddress(ipAddress: "127.0.0.2", port: server.port),
                try SocketAddress(ipAddress: "127.0.0.1", port: server.port),
            ])
        let connection = try await NATSConnection.connect(
            to: ServerAddress(host: "two.example", port: server.port),
            options: Self.patient, group: NIOSingletons.posixEventLoopGroup, resolver: resolver)
        try await connection.flush()
        await connection.close()
    }

    @Test("a server that never speaks, and one that never confirms the login", arguments: [false, true])
    func silent(greets: Bool) async throws {
        let peer = try ScriptedPeer { link in
            if greets { link.send("INFO {\"server_id\":\"S\"}\r\n") }
            link.waitForEnd()
        }
        let error = await failed(peer.url, ConnectOptions(connectTimeout: .seconds(2)))
        #expect(error.isTimeout, "\(error as Any)")
        // Whoever says nothing is asked over a second connection whether it waits for TLS.
        try await eventually("every socket is closed") { peer.ends == (greets ? 1 : 2) }
    }

    @Test(
        "a peer that speaks something else",
        arguments: [
            "HTTP/1.1 400 Bad Request\r\n\r\n", "SSH-2.0-OpenSSH_9.2\r\n", "220 mail ESMTP\r\n", "INFO nonsense\r\n",
            "INFO {]\r\n", "MSG a\r\n",
        ])
    func otherProtocol(greeting: String) async throws {
        let peer = try ScriptedPeer { link in
            link.send(greeting)
            link.waitForEnd()
        }
        let error = await failed(peer.url)
        #expect(error.isViolation, "\(error as Any)")
        try await eventually("the socket is closed") { peer.ends == 1 }
    }

    @Test("a peer that closes at once, or after its greeting", arguments: [false, true])
    func closes(greets: Bool) async throws {
        let peer = try ScriptedPeer { link in
            if greets { link.send("INFO {\"server_id\":\"S\"}\r\n") }
            if greets { link.waitFor("PING") }
        }
        let error = try #require(await failed(peer.url))
        switch error {
        case .closedByServer, .connectionLost: #expect(error.isRetryable)
        default: Issue.record("\(error)")
        }
    }

    @Test("a login that is refused leaves no socket behind")
    func refusedLogin() async throws {
        let peer = try ScriptedPeer { link in
            link.send("INFO {\"server_id\":\"S\"}\r\n")
            link.waitFor("PING\r\n")
            link.send("-ERR 'Authorization Violation'\r\n")
            link.waitForEnd()
        }
        #expect(await failed(peer.url) == .authorization(.violation))
        try await eventually("the socket is closed") { peer.ends == 1 }
    }

    @Test("a peer that sends plain bytes where TLS begins is not believed")
    func plainBytesBeforeTLS() async throws {
        let peer = try ScriptedPeer { link in
            link.send("INFO {\"server_id\":\"S\",\"tls_required\":true}\r\nPING\r\n")
            link.waitForEnd()
        }
        #expect(await failed(peer.url).isViolation)
        // Nothing of the login may have gone out in clear.
        try await eventually("the socket is closed") { peer.ends == 1 }
        #expect(!peer.received.contains("CONNECT"))
    }

    @Test(
        "a peer without TLS gets no login from a client that wants TLS",
        arguments: [("tls", nil), ("nats", TLSOptions())] as [(String, TLSOptions?)])
    func withoutTLS(scheme: String, tls: TLSOptions?) async throws {
        let peer = try ScriptedPeer { link in
            link.send("INFO {\"server_id\":\"S\"}\r\n")
            link.waitForEnd()
        }
        let error = await failed(
            "\(scheme)://secret@127.0.0.1:\(peer.port)", ConnectOptions(tls: tls, connectTimeout: .seconds(60)))
        #expect(error.isTLS, "\(error as Any)")
        try await eventually("the socket is closed") { peer.ends == 1 }
        #expect(!peer.received.contains("CONNECT"))
    }

    @Test("cancelling while the peer is silent ends the wait and closes the socket")
    func cancelled() async throws {
        let peer = try ScriptedPeer { $0.waitForEnd() }
        let address = try ServerAddress(parsing: peer.url)
        let task = Task { try await NATSConnection.connect(to: address, options: Self.patient) }
        try await eventually("the connection is made") { peer.accepted == 1 }
        task.cancel()
        await #expect(throws: NATSError.cancelled) { try await task.value }
        try await eventually("the socket is closed") { peer.ends == 1 }
    }

    @Test("a task cancelled beforehand, or anywhere on the way, leaves no connection behind")
    func cancelledAnywhere() async throws {
        let peer = try ScriptedPeer { link in
            if link.logIn() { link.waitForEnd() }
        }
        let address = try ServerAddress(parsing: peer.url)
        for round in 0..<100 {
            let task = Task {
                if round == 0 { withUnsafeCurrentTask { $0?.cancel() } }
                return try await NATSConnection.connect(to: address, options: Self.patient)
            }
            for _ in 0..<round { await Task.yield() }
            task.cancel()
            if case .failure(let error) = await task.result { #expect(error as? NATSError == .cancelled) }
        }
        // A cancelled dial may still reach the peer, and then has to leave again.
        let last = try await NATSConnection.connect(to: address, options: Self.patient)
        try await eventually("every other socket is closed") { peer.ends == peer.accepted - 1 }
        await last.close()
        try await eventually("the last socket is closed") { peer.ends == peer.accepted }
    }
}

/// Answers every look-up with the same addresses.
private struct FixedResolver: Resolver, Sendable {
    let addresses: [SocketAddress]

    func initiateAQuery(host: String, port: Int) -> EventLoopFuture<[SocketAddress]> {
        NIOSingletons.posixEventLoopGroup.next().makeSucceededFuture(addresses)
    }

    func initiateAAAAQuery(host: String, port: Int) -> EventLoopFuture<[SocketAddress]> {
        NIOSingletons.posixEventLoopGroup.next().makeSucceededFuture([])
    }

    func cancelQueries() {}
}
