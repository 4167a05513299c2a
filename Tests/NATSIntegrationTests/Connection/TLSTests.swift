import Foundation
import NATS
import NIOConcurrencyHelpers
import NIOCore
import TestSupport
import Testing

@Suite("TLS", .realProcesses, .certificates)
struct TLSTests {
    private func trusting() throws -> TLSOptions {
        TLSOptions(authorityFile: try TestCertificates.path("authority.pem"))
    }

    private func connect(
        _ server: NATSServerProcess, host: String = "127.0.0.1", scheme: String = "tls", _ tls: TLSOptions?
    ) async throws -> NATSConnection {
        try await NATSConnection.connect(
            to: ServerAddress(parsing: "\(scheme)://\(host):\(server.port)"), options: patient(tls))
    }

    /// For a server that may take long to answer.
    private func patient(_ tls: TLSOptions?) -> ConnectOptions {
        var options = ConnectOptions(tls: tls, connectTimeout: .seconds(60))
        options.timeToAnswer = .seconds(10)
        return options
    }

    private func refusal(
        _ server: NATSServerProcess, host: String = "127.0.0.1", scheme: String = "tls", _ tls: TLSOptions?
    ) async -> NATSError? {
        do {
            await (try connect(server, host: host, scheme: scheme, tls)).close()
            return nil
        } catch {
            return error as? NATSError
        }
    }

    @Test(
        "speaks with a server whose authority is trusted, by name and by address, where either side asks for TLS",
        arguments: NATSServerProcess.binaries)
    func trusted(binary: NATSServerBinary) async throws {
        let server = try await NATSServerProcess.start(
            binary, configuration: TestCertificates.configuration(), jetStream: false)
        for host in ["127.0.0.1", "localhost"] {
            let connection = try await connect(server, host: host, trusting())
            let subscription = try connection.subscribe(to: "a")
            for index in 0..<2_000 { try connection.publish(Array("\(index)".utf8), to: "a") }
            try connection.publish(ByteBuffer(repeating: 7, count: 500_000), to: "a")
            let messages = try await subscription.first(2_001)
            #expect(messages.prefix(2_000).map(\.text) == (0..<2_000).map(String.init))
            #expect(messages[2_000].bytes == [UInt8](repeating: 7, count: 500_000))
            #expect(connection.info.requiresTLS == true)
            await connection.close()
        }
        // What the server asks for is done for an address that does not.
        let upgraded = try await connect(server, scheme: "nats", trusting())
        try await upgraded.flush()
        #expect(await refusal(server, scheme: "nats", nil).isTLS, "without an authority it does not go on in clear")
        // A killed server is a loss to recover from, and no failure of TLS.
        try await server.kill9()
        let reason = try #require(await upgraded.waitUntilClosed())
        #expect(reason.isRetryable, "\(reason)")
    }

    private func words(_ error: NATSError?) -> String {
        guard case .tls(let words) = error else {
            Issue.record("\(String(describing: error))")
            return ""
        }
        #expect(error?.isRetryable == false)
        #expect(!words.contains("/") && !words.contains("BoringSSL") && !words.hasSuffix("."), "\(words)")
        return words
    }

    @Test(
        "refuses an authority that it does not know, and says so; whom an address names counts, not whom the options do",
        arguments: NATSServerProcess.binaries)
    func unknownAuthority(binary: NATSServerBinary) async throws {
        let server = try await NATSServerProcess.start(
            binary, configuration: TestCertificates.configuration(), jetStream: false)
        let stranger = TLSOptions(authorityFile: try TestCertificates.path("stranger.pem"))
        // The system's authorities, and another one alone.
        for options in [nil, stranger] {
            for host in ["localhost", "127.0.0.1"] {
                let words = words(await refusal(server, host: host, options))
                #expect(words.contains("no authority that this computer trusts") && words.contains(host))
            }
        }
        let missing = TLSOptions(authorityFile: "/nowhere/authority.pem")
        guard case .tls(let said) = await refusal(server, missing) else {
            Issue.record("another error")
            return
        }
        #expect(said.hasPrefix("/nowhere/authority.pem, which is to hold the authorities to trust, is missing"))

        func address(_ authority: String) throws -> ServerAddress {
            ServerAddress(
                host: "127.0.0.1", port: server.port, usesTLS: true,
                authorityFile: try TestCertificates.path(authority))
        }
        let connection = try await NATSConnection.connect(to: address("authority.pem"), options: patient(stranger))
        try await connection.flush()
        await connection.close()
        let error = await #expect(throws: NATSError.self) {
            let target = try address("stranger.pem")
            await (try NATSConnection.connect(to: target, options: patient(trusting()))).close()
        }
        #expect(words(error).contains("no authority that this computer trusts"))
    }

    @Test(
        "refuses another name, an expired certificate and one whose time has not come, each in its own words",
        arguments: NATSServerProcess.binaries)
    func distrusted(binary: NATSServerBinary) async throws {
        let table = [
            ("other", "is not for %h but for elsewhere.example"), ("expired", "of %h expired on 20"),
            ("future", "of %h is not valid before 2045-06-07"),
        ]
        for (name, sentence) in table {
            let server = try await NATSServerProcess.start(
                binary, configuration: TestCertificates.configuration(name), jetStream: false)
            for host in ["localhost", "127.0.0.1"] {
                let words = words(await refusal(server, host: host, try trusting()))
                let expected = sentence.split(separator: "%h", omittingEmptySubsequences: false).joined(separator: host)
                #expect(words.contains(expected), "\(name): \(words)")
            }
            guard name == "other" else { continue }
            // The name that a discovered address is to have is another's.
            let address = ServerAddress(
                host: "127.0.0.1", port: server.port, usesTLS: true, certificateName: "elsewhere.example")
            await (try NATSConnection.connect(to: address, options: patient(trusting()))).close()
        }
    }

    @Test("refuses a certificate for the address alone when a name was asked for")
    func addressOnly() async throws {
        let server = try await NATSServerProcess.start(
            configuration: TestCertificates.configuration("address"), jetStream: false)
        #expect(
            words(await refusal(server, host: "localhost", try trusting())) == "the certificate is not for localhost")
        let connection = try await connect(server, host: "127.0.0.1", trusting())
        try await connection.flush()
        await connection.close()
    }

    @Test("a peer that speaks no TLS, or leaves during the handshake", arguments: ["+OK\r\n\r\n", ""])
    func noTLS(answer: String) async throws {
        let peer = try ScriptedPeer { link in
            link.send("INFO {\"server_id\":\"S\",\"tls_required\":true}\r\n")
            // The client's first record ends somewhere; its type and version are enough.
            link.waitFor("\u{16}\u{3}")
            link.send(answer)
        }
        let error = await failure { () async throws(NATSError) in
            _ = try await NATSConnection.connect(
                to: ServerAddress(host: "127.0.0.1", port: peer.port, usesTLS: true),
                options: ConnectOptions(connectTimeout: .seconds(60)))
        }
        if answer.isEmpty {
            switch error {
            case .closedByServer, .connectionLost, .tls: break
            default: Issue.record("\(String(describing: error))")
            }
        } else {
            #expect(words(error) == "127.0.0.1 does not speak TLS at this port")
        }
    }

    @Test("a certificate's file says for whom it is, and whether it vouches for itself")
    func certificateFile() throws {
        let server = try ServerCertificate(pemFile: TestCertificates.path("server.pem"))
        #expect(server.names == ["localhost"] && server.addresses == ["127.0.0.1"] && !server.isSelfSigned)
        #expect(server.isFor("localhost") && server.isFor("127.0.0.1") && !server.isFor("elsewhere.example"))
        let authority = try ServerCertificate(pemFile: TestCertificates.path("authority.pem"))
        #expect(authority.isSelfSigned && authority.names.isEmpty)
        let expired = try ServerCertificate(pemFile: TestCertificates.path("expired.pem"))
        #expect(expired.validUntil < server.validUntil)
        let (certificate, key) = (try TestCertificates.path("server.pem"), try TestCertificates.path("server.key"))
        try ServerCertificate.check(certificateFile: certificate, keyFile: key)
        for path in try [TestCertificates.path("server.key"), "/nowhere/server.pem"] {
            #expect(throws: NATSError.self) { try ServerCertificate(pemFile: path) }
        }
        #expect(throws: NATSError.self) {
            try ServerCertificate.check(certificateFile: certificate, keyFile: certificate)
        }
    }

    @Test("shows its certificate to a server that wants one", arguments: NATSServerProcess.binaries)
    func clientCertificate(binary: NATSServerBinary) async throws {
        let server = try await NATSServerProcess.start(
            binary, configuration: TestCertificates.configuration(more: "verify: true"), jetStream: false)
        var options = try trusting()
        #expect(words(await refusal(server, options)).contains("none is configured; set tlsCertificate"))
        options.certificateFile = try TestCertificates.path("client.pem")
        options.privateKeyFile = try TestCertificates.path("client.key")
        let connection = try await connect(server, options)
        try await connection.flush()
        await connection.close()
    }

    @Test(
        "a server that speaks before TLS is told from one whose certificate does not fit, by who begins with TLS",
        arguments: NATSServerProcess.binaries)
    func speaksBeforeTLS(binary: NATSServerBinary) async throws {
        var options = try trusting()
        options.handshakesFirst = true
        for configuration in ["", try TestCertificates.configuration()] {
            let server = try await NATSServerProcess.start(binary, configuration: configuration, jetStream: false)
            for scheme in ["nats", "tls"] {
                let refused = await refusal(server, scheme: scheme, options)
                #expect(refused == .speaksBeforeTLS("\(scheme)://127.0.0.1:\(server.port)"))
            }
        }
        let peer = try ScriptedPeer { link in
            link.send("INFO {}\r\n")
            link.waitForEnd()
        }
        let connectOptions = patient(options)
        let address = ServerAddress(host: "127.0.0.1", port: peer.port, usesTLS: true)
        await #expect(throws: NATSError.speaksBeforeTLS("\(address)")) {
            try await NATSConnection.connect(to: address, options: connectOptions)
        }
        // The greeting may be lost with a connection that the server ends at once, so it is asked for once more.
        let turns = NIOLockedValueBox(0)
        let hasty = try ScriptedPeer { link in
            let isFirst = turns.withLockedValue { turns in
                turns += 1
                return turns == 1
            }
            if isFirst {
                link.waitFor("\u{16}\u{3}")
                return link.socket.close()
            }
            link.send("INFO {}\r\n")
            link.waitForEnd()
        }
        let there = ServerAddress(host: "127.0.0.1", port: hasty.port, usesTLS: true)
        await #expect(throws: NATSError.speaksBeforeTLS("\(there)")) {
            try await NATSConnection.connect(to: there, options: connectOptions)
        }
        // What is no TLS and no greeting is told as before.
        let silent = try ScriptedPeer { link in
            link.waitFor("\u{16}\u{3}")
            link.socket.close()
        }
        let other = ServerAddress(host: "127.0.0.1", port: silent.port, usesTLS: true)
        do {
            let patient = ConnectOptions(tls: options, connectTimeout: .seconds(60))
            await (try NATSConnection.connect(to: other, options: patient)).close()
            Issue.record("connected")
        } catch {
            if case .speaksBeforeTLS = error { Issue.record("\(error)") }
        }
    }

    @Test(
        "TLS before INFO, as the newest servers can have it",
        .enabled(if: NATSServerProcess.newestBinary.takesTLSFirst, "no nats-server that is tested against does that"))
    func handshakeFirst() async throws {
        let binary = NATSServerProcess.newestBinary
        let server = try await NATSServerProcess.start(
            binary, configuration: TestCertificates.configuration(more: "handshake_first: \"5s\""), jetStream: false)
        var options = try trusting()
        options.handshakesFirst = true
        let connection = try await connect(server, options)
        try await connection.flush()
        #expect(connection.info.version.isEmpty == false)
        await connection.close()
        #expect(await refusal(server, TLSOptions(handshakesFirst: true)).isTLS)
        // After its five seconds the server speaks first, for clients that wait.
        let patient = try await connect(server, trusting())
        try await patient.flush()
        await patient.close()
    }

    @Test(
        "A server that says nothing before TLS is recognised, whatever the address says, and the setting is named",
        .enabled(if: NATSServerProcess.newestBinary.takesTLSFirst, "no nats-server that is tested against does that"))
    func silentBeforeTLS() async throws {
        let binary = NATSServerProcess.newestBinary
        // Silent for much longer than the login may take; then the server speaks first, as its start is waited for.
        let server = try await NATSServerProcess.start(
            binary, configuration: TestCertificates.configuration(more: "handshake_first: \"20s\""), jetStream: false)
        for scheme in ["nats", "tls"] {
            let address = try ServerAddress(parsing: "\(scheme)://127.0.0.1:\(server.port)")
            do {
                var options = ConnectOptions(tls: try trusting(), connectTimeout: .seconds(4))
                options.timeToAnswer = .seconds(60)
                await (try NATSConnection.connect(to: address, options: options)).close()
                Issue.record("connected")
            } catch {
                #expect(error as? NATSError == .tlsFirst("\(address)"))
            }
        }
        // One that is only slow, or speaks something else, is not taken for one.
        let silent = try ScriptedPeer { $0.waitForEnd() }
        let address = ServerAddress(host: "127.0.0.1", port: silent.port)
        await #expect(throws: NATSError.timeout("the server at \(address) did not complete the login")) {
            try await NATSConnection.connect(to: address, options: ConnectOptions(connectTimeout: .seconds(3)))
        }
        try await eventually("the second connection") { silent.accepted == 2 }
        // One that speaks late, or knows what is wrong, is not asked.
        let slow = try ScriptedPeer { link in
            Thread.sleep(forTimeInterval: 1)
            link.logIn()
            link.waitForEnd()
        }
        let late = ServerAddress(host: "127.0.0.1", port: slow.port)
        let patient = ConnectOptions(connectTimeout: .seconds(60))
        await (try NATSConnection.connect(to: late, options: patient)).close()
        #expect(slow.accepted == 1)
    }

    @Test("Certificates and keys are read as people save them: with a byte order mark, or both in one file")
    func savedFiles() async throws {
        let server = try await NATSServerProcess.start(
            NATSServerProcess.newestBinary, configuration: TestCertificates.configuration(more: "verify: true"),
            jetStream: false)
        let folder = try TemporaryDirectory("pem")
        func marked(_ name: String) throws -> String {
            let text = try String(contentsOfFile: TestCertificates.path(name), encoding: .utf8)
            return try folder.write("\u{FEFF}" + text, to: name)
        }
        let key = try String(contentsOfFile: TestCertificates.path("client.key"), encoding: .utf8)
        let certificate = try String(contentsOfFile: TestCertificates.path("client.pem"), encoding: .utf8)
        let authority = try marked("authority.pem")
        let both = try folder.write(key + certificate, to: "both.pem")
        for options in [
            TLSOptions(
                authorityFile: authority, certificateFile: try marked("client.pem"),
                privateKeyFile: try marked("client.key")),
            TLSOptions(authorityFile: authority, certificateFile: both),
        ] {
            try options.check()
            await (try connect(server, options)).close()
        }
    }

    @Test("Files that cannot be used are refused by their names, before anything is dialled")
    func unusableFiles() throws {
        let folder = try TemporaryDirectory("pem")
        let (certificate, key) = (try TestCertificates.path("client.pem"), try TestCertificates.path("client.key"))
        let other = try TestCertificates.path("server.key")
        let empty = try folder.write("", to: "empty.pem")
        let wide = folder.path("wide.pem")
        try Data([0xFF, 0xFE, 0x2D, 0x00]).write(to: URL(filePath: wide))
        let missing = folder.path("none.pem")
        for (options, name, words) in [
            (TLSOptions(authorityFile: missing), missing, "is missing"),
            (TLSOptions(authorityFile: folder.path), folder.path, "is no file"),
            (TLSOptions(authorityFile: empty), empty, "holds no certificate"),
            (TLSOptions(authorityFile: key), key, "holds a private key and no certificate"),
            (TLSOptions(authorityFile: wide), wide, "is UTF-16"),
            (TLSOptions(certificateFile: missing, privateKeyFile: key), missing, "is missing"),
            (TLSOptions(certificateFile: certificate), certificate, "has no key"),
            (TLSOptions(certificateFile: certificate, privateKeyFile: missing), missing, "is missing"),
            (
                TLSOptions(certificateFile: certificate, privateKeyFile: certificate), certificate,
                "holds no private key"
            ),
            (TLSOptions(certificateFile: certificate, privateKeyFile: other), other, "is not the key of"),
            (TLSOptions(privateKeyFile: key), key, "has no certificate"),
        ] {
            #expect {
                try options.check()
            } throws: { error in
                "\(error)".contains(name) && "\(error)".contains(words)
            }
        }
    }
}
