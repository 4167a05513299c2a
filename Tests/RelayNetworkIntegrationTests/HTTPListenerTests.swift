import Foundation
import NATS
import TestSupport
import Testing

@testable import RelayNetwork

/// What an app's own server asks of a network's services.
@Suite("Network: the HTTP port of the services", .realProcesses, .certificates)
struct HTTPListenerTests {
    /// What comes back for these bytes, until the other side closes.
    private func answer(_ bytes: String, from listener: HTTPListener) async throws -> String {
        let port = try #require(listener.port)
        let socket = try #require(try await LoopbackSocket.connected(to: port))
        await socket.send(Array(bytes.utf8))
        return String(decoding: await socket.read(64 << 10).bytes, as: UTF8.self)
    }

    private func echo(
        at address: String, certificate: (chain: String, key: String)? = nil
    ) async throws -> HTTPListener {
        try await HTTPListener.start(at: HTTPAddress(parsing: address), certificate: certificate) { question in
            await Task.yield()
            let body = String(decoding: question.body, as: UTF8.self)
            return HTTPAnswer(
                status: 200, body: "\(question.method) \(question.path) \(question.authorization ?? "-") \(body)\n")
        }
    }

    @Test("A question is taken in whole and answered once; what is too long, or no question, is refused")
    func questions() async throws {
        let listener = try await echo(at: "127.0.0.1:0")
        defer { listener.close() }
        let post = "POST /tokens?x=1 HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer s\r\nContent-Length: 2\r\n\r\n{}"
        let said = try await answer(post + post, from: listener)
        #expect(said.hasPrefix("HTTP/1.1 200 ") && said.contains("\r\nCache-Control: no-store\r\n"))
        #expect(said.hasSuffix("\r\n\r\nPOST /tokens Bearer s {}\n"), "\(said)")
        let length = HTTPListener.maximumBody + 1
        let long =
            "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: \(length)\r\n\r\n" + String(repeating: "x", count: length)
        #expect(try await answer(long, from: listener).hasPrefix("HTTP/1.1 413 "))
        #expect(try await answer("GET\r\n\r\n", from: listener).hasPrefix("HTTP/1.1 400 "))
        #expect(try await !answer("HEAD /x HTTP/1.1\r\nHost: a\r\n\r\n", from: listener).contains("HEAD /x"))
    }

    @Test("B58 others than this machine are answered over TLS, by a certificate whose key is its owner's alone")
    func secured() async throws {
        let (chain, key) = (try TestCertificates.path("server.pem"), try TestCertificates.path("server.key"))
        let listener = try await echo(at: "127.0.0.1:0", certificate: (chain, key))
        defer { listener.close() }
        let port = try #require(listener.port)
        let said = try await TestSupport.ChildProcess.run(
            "/usr/bin/env",
            [
                "openssl", "s_client", "-quiet", "-verify_return_error", "-connect", "127.0.0.1:\(port)", "-CAfile",
                try TestCertificates.path("authority.pem"),
            ], input: "GET /x HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(said.output.hasSuffix("GET /x - \n"), "\(said)")
        // In the clear nothing is said.
        #expect(try await answer("GET /x HTTP/1.1\r\nHost: a\r\n\r\n", from: listener).contains("GET /x") == false)

        let folder = try TemporaryDirectory()
        let open = folder.path("open.key")
        try FileManager.default.copyItem(atPath: key, toPath: open)
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: open)
        for files in [(chain, open), (chain, chain), (key, key), (chain, folder.path("missing"))] {
            await #expect(throws: NetworkError.self) { try await echo(at: "127.0.0.1:0", certificate: files) }
        }
        let other = try TestCertificates.path("client.key")
        let error = await #expect(throws: NetworkError.self) {
            try await echo(at: "127.0.0.1:0", certificate: (chain, other))
        }
        #expect(error == .invalidCertificate("The key \(other) is not the key of the certificate \(chain)."))
    }

    @Test("B58 tokens are for whoever has the secret, whole, and for nobody else")
    func secret() throws {
        let text = "0123456789abcdef0123456789abcdef"
        let secret = try SharedSecret(" \(text)\n", from: "the test")
        #expect(secret.isPresented(by: "Bearer \(text)") && secret.isPresented(by: "bearer  \(text)"))
        for wrong in [
            nil, "", "Bearer", text, "Basic \(text)", "Bearer \(text)0", "Bearer \(text.dropLast())",
            "Bearer \(text) x",
            "Bearer \(text.uppercased())",
        ] {
            #expect(!secret.isPresented(by: wrong), "\(wrong ?? "nothing")")
        }
        for unfit in ["", "short", String(text.dropLast()), text + " " + text, text + "ä"] {
            #expect(throws: NetworkError.self, "\(unfit)") { try SharedSecret(unfit, from: "the test") }
        }
        var dumped = "\(secret)"
        dump(secret, to: &dumped)
        #expect(!dumped.contains("0123"))
        let folder = try TemporaryDirectory()
        let path = folder.path("secret")
        #expect(throws: NetworkError.self) { try SharedSecret(file: path) }
        try PrivateFile.write(Array((text + "\n").utf8), to: path)
        #expect(try SharedSecret(file: path).isPresented(by: "Bearer \(text)"))
        try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: path)
        #expect(throws: NetworkError.self) { try SharedSecret(file: path) }
    }

    @Test(
        "An address is one of an interface, with a port",
        arguments: ["example.org:1", "127.0.0.1", ":1", "127.0.0.1:x", "127.0.0.1:65536", "127.x:1"])
    func address(_ text: String) throws {
        #expect(throws: NetworkError.self) { try HTTPAddress(parsing: text) }
        #expect(try HTTPAddress(parsing: "[::1]:9").host == "::1" && HTTPAddress(parsing: "[::1]:9").isLoopback)
        #expect(try HTTPAddress(parsing: "localhost:9").host == "127.0.0.1")
        #expect(try !HTTPAddress(parsing: "0.0.0.0:9").isLoopback && !HTTPAddress(parsing: "[::]:9").isLoopback)
    }
}
