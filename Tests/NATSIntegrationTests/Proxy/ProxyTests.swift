import NIOCore
import TestSupport
import Testing

@testable import NATS

@Suite("Servers behind a proxy", .realProcesses, .certificates)
struct ProxyTests {
    private static let kinds = [ProxyAddress.Kind.http, .socks5]

    private func connect(
        _ url: String, _ proxy: TestProxy, tls: TLSOptions? = nil
    ) async throws -> NATSConnection {
        try await NATSConnection.connect(
            to: ServerAddress(parsing: url),
            options: ConnectOptions(tls: tls, proxy: proxy.address, connectTimeout: .seconds(60)))
    }

    private func exercise(_ connection: NATSConnection) async throws {
        let subscription = try connection.subscribe(to: "a")
        for index in 0..<1_000 { try connection.publish(Array("\(index)".utf8), to: "a") }
        try connection.publish(ByteBuffer(repeating: 7, count: 500_000), to: "a")
        let messages = try await subscription.first(1_001)
        #expect(messages.prefix(1_000).map(\.text) == (0..<1_000).map(String.init))
        #expect(messages[1_000].bytes == [UInt8](repeating: 7, count: 500_000))
        #expect(try await connection.ping(timeout: .seconds(60)) > .zero)
    }

    @Test(
        "a server by address and by a name that the proxy alone can resolve; its end is a loss to recover from",
        arguments: NATSServerProcess.binaries)
    func tunnel(binary: NATSServerBinary) async throws {
        let server = try await NATSServerProcess.start(binary, jetStream: false)
        var open: [(connection: NATSConnection, proxy: TestProxy)] = []
        for kind in Self.kinds {
            let proxy = try await TestProxy.start(kind, .init(names: ["broker.invalid": "127.0.0.1"]))
            for host in ["127.0.0.1", "broker.invalid"] {
                let connection = try await connect("nats://\(host):\(server.port)", proxy)
                try await exercise(connection)
                await connection.close()
                #expect(connection.address.host == host)
            }
            #expect(proxy.requests.map(\.target) == ["127.0.0.1:\(server.port)", "broker.invalid:\(server.port)"])
            open.append((try await connect(server.url, proxy), proxy))
        }
        try await server.kill9()
        for (connection, _) in open {
            let reason = try #require(await connection.waitUntilClosed())
            #expect(reason.isRetryable, "\(reason)")
        }
    }

    @Test(
        "a server whose greeting comes in one piece with the proxy's answer",
        arguments: ["", "HTTP/1.1 100 Hm\r\n\r\n"]
    )
    func coalesced(preamble: String) async throws {
        let server = try await NATSServerProcess.start(jetStream: false)
        let proxy = try await TestProxy.start(.http, .init(answersWithServer: true, preamble: preamble))
        let connection = try await connect(server.url, proxy)
        try await exercise(connection)
        await connection.close()
    }

    @Test("TLS runs inside the tunnel and wants the server's own name", arguments: NATSServerProcess.binaries)
    func tls(binary: NATSServerBinary) async throws {
        let server = try await NATSServerProcess.start(
            binary, configuration: TestCertificates.configuration(), jetStream: false)
        let trusting = TLSOptions(authorityFile: try TestCertificates.path("authority.pem"))
        for kind in Self.kinds {
            let proxy = try await TestProxy.start(
                kind, .init(names: ["elsewhere.example": "127.0.0.1", "192.0.2.7": "127.0.0.1"]))
            for host in ["localhost", "127.0.0.1"] {
                let connection = try await connect("tls://\(host):\(server.port)", proxy, tls: trusting)
                try await exercise(connection)
                await connection.close()
            }
            // The proxy's own address is in the certificate, and is not what was asked for.
            for host in ["elsewhere.example", "192.0.2.7"] {
                let error = await #expect(throws: NATSError.self) {
                    _ = try await connect("tls://\(host):\(server.port)", proxy, tls: trusting)
                }
                guard case .tls(let words) = error else {
                    Issue.record("\(String(describing: error))")
                    continue
                }
                #expect(words.hasPrefix("the certificate is not for \(host) but for localhost (through the proxy "))
            }
        }
    }

    @Test(
        "TLS before INFO, inside the tunnel",
        .enabled(if: NATSServerProcess.newestBinary.takesTLSFirst, "no nats-server that is tested against does that"),
        arguments: kinds)
    func handshakeFirst(kind: ProxyAddress.Kind) async throws {
        let binary = NATSServerProcess.newestBinary
        let server = try await NATSServerProcess.start(
            binary, configuration: TestCertificates.configuration(more: "handshake_first: \"5s\""), jetStream: false)
        let proxy = try await TestProxy.start(kind)
        let connection = try await connect(
            "tls://localhost:\(server.port)", proxy,
            tls: TLSOptions(authorityFile: TestCertificates.path("authority.pem"), handshakesFirst: true))
        try await exercise(connection)
        await connection.close()
    }

    @Test("a proxy that wants a user name and password")
    func authentication() async throws {
        let server = try await NATSServerProcess.start(jetStream: false)
        let proxy = try await TestProxy.start(.http, .init(authorization: "QWxhZGRpbjpvcGVuIHNlc2FtZQ=="))
        func options(_ userInfo: String) throws -> ConnectOptions {
            let text = "http://\(userInfo)127.0.0.1:\(proxy.address.port)"
            return ConnectOptions(proxy: try ProxyAddress(parsing: text), connectTimeout: .seconds(60))
        }
        let address = try ServerAddress(parsing: server.url)
        let connection = try await NATSConnection.connect(to: address, options: options("Aladdin:open%20sesame@"))
        try await connection.flush()
        await connection.close()
        for (userInfo, words) in [("", "asks for a user name and password"), ("Aladdin:wrong@", "refuses the user")] {
            let error = await failure { () async throws(NATSError) in
                guard let options = try? options(userInfo) else { return }
                _ = try await NATSConnection.connect(to: address, options: options)
            }
            guard case .proxy(let text) = error else {
                Issue.record("\(String(describing: error))")
                return
            }
            #expect(text.contains(words) && !text.contains("wrong") && text.contains("\(proxy.address)"))
        }
    }
}
