import Foundation
import NATS
import TestSupport
import Testing

@testable import RelayNetwork

@Suite("Network: listening for others", .realProcesses, .certificates)
struct ListenerTests {
    /// What a network listens at, with a certificate of the tests' authority.
    private func listener(_ certificate: String, authority: String = "authority.pem") throws -> NetworkListener {
        try NetworkListener(
            listen: "127.0.0.1:\(LoopbackPort.choose(preferred: nil))",
            tls: .init(
                certificateFile: TestCertificates.path("\(certificate).pem"),
                keyFile: TestCertificates.path("\(certificate).key"),
                authorityFile: TestCertificates.path(authority)))
    }

    @Test(
        "The host, users and the administrator reach it by TLS, whatever name its certificate has, and no stranger does",
        arguments: TestServers.all, ["server", "other"])
    func secured(server: String, certificate: String) async throws {
        let folder = try TemporaryFolder()
        let listener = try listener(certificate)
        try folder.network.prepare()
        try folder.network.keep(listener)
        try await TestNetwork.run(server: server, in: folder) { network in
            #expect(network.description.url == "tls://127.0.0.1:\(listener.port)")
            #expect(network.description.listens == "tls://127.0.0.1:\(listener.port)")
            let alice = try await network.connect(as: "alice")
            #expect(alice.info.requiresTLS == true)
            _ = try await alice.ask(to: "accounts.user.get_namespace")
            let administrator = NetworkAdministrator(directory: network.directory)
            #expect(try await administrator.users(named: "alice").first?.devices?.count == 1)
            #expect(try await administrator.kick(user: "alice") == 1)
            _ = await alice.waitUntilClosed()
            #expect(try await network.directory.running()?.listens == network.description.listens)
            // A stranger who does not know its authority is refused, and is not spoken to in clear.
            let credentials = try network.directory.credentials(for: "alice")
            for usesTLS in [true, false] where certificate == "server" {
                let address = ServerAddress(host: "127.0.0.1", port: listener.port, usesTLS: usesTLS)
                let error = await #expect(throws: NATSError.self) {
                    let options = ConnectOptions(authentication: .init(credentials), connectTimeout: .seconds(60))
                    await (try NATSConnection.connect(to: address, options: options)).close()
                }
                #expect("\(error.map { "\($0)" } ?? "")".contains("no authority that this computer trusts"))
            }
            // It runs, so it cannot begin to listen elsewhere.
            await #expect(throws: NetworkError.self) {
                try await NetworkControl.start(
                    directory: network.directory, listener: NetworkListener(listen: "127.0.0.1:7000"), hostCommand: [])
            }
            #expect(try network.directory.listener() == listener)
        }
    }

    @Test("Files that the server could not use are refused by their names, before anything is started")
    func unusableFiles() throws {
        let folder = try TemporaryDirectory("pem")
        func marked(_ name: String) throws -> String {
            let text = try String(contentsOfFile: TestCertificates.path(name), encoding: .utf8)
            return try folder.write("\u{FEFF}" + text, to: name)
        }
        let (certificate, key) = (try TestCertificates.path("server.pem"), try TestCertificates.path("server.key"))
        let (expired, other) = (try TestCertificates.path("expired.pem"), try TestCertificates.path("client.key"))
        let (markedCertificate, markedKey) = (try marked("server.pem"), try marked("server.key"))
        let missing = folder.path("none.pem")
        let nobodys = try TestCertificates.path("authority.pem")
        for (chain, secret, authority, name, words) in [
            (missing, key, nil, missing, "is missing"), (certificate, missing, nil, missing, "is missing"),
            (key, key, nil, key, "holds a private key and no certificate"),
            (certificate, certificate, nil, certificate, "holds no private key"),
            (certificate, other, nil, other, "is not the key of"),
            (markedCertificate, key, nil, markedCertificate, "byte order mark"),
            (certificate, markedKey, nil, markedKey, "byte order mark"),
            (certificate, key, missing, missing, "is missing"),
            (expired, try TestCertificates.path("expired.key"), nil, expired, "has expired"),
            (nobodys, try TestCertificates.path("authority.key"), nil, nobodys, "is for no host name"),
        ] as [(String, String, String?, String, String)] {
            let error = #expect(throws: NetworkError.self) {
                try NetworkListener(
                    listen: "127.0.0.1:7000",
                    tls: .init(certificateFile: chain, keyFile: secret, authorityFile: authority))
            }
            guard case .invalidCertificate(let said) = error else {
                Issue.record("\(words): \(String(describing: error))")
                continue
            }
            #expect(said.contains(name) && said.contains(words), "\(said)")
        }
        // Clients skip the mark of an authority that they are handed.
        _ = try NetworkListener(
            listen: "127.0.0.1:7000",
            tls: .init(certificateFile: certificate, keyFile: key, authorityFile: marked("authority.pem")))
    }

    @Test("It is invited to under a name or an address that its certificate is for, and nowhere else")
    func publicAddress() throws {
        let named = try listener("other")
        #expect(try named.publicAddress()?.host == "elsewhere.example")
        #expect(try named.localAddress().certificateName == "elsewhere.example")
        let local = try listener("server")
        #expect(try local.publicAddress() == ServerAddress(host: "127.0.0.1", port: local.port, usesTLS: true))
        #expect(try local.localAddress().certificateName == nil)
        #expect(try local.authority()?.contains("BEGIN CERTIFICATE") == true)
        #expect(throws: NetworkError.self) { try listener("expired") }
        let tls = try #require(local.tls)
        let everywhere = try NetworkListener(listen: "0.0.0.0:7000", tls: tls)
        // The certificate is for this machine alone, so that nothing says where others find it.
        #expect(try everywhere.publicAddress() == nil && everywhere.localAddress().host == "127.0.0.1")
        // Whoever issued it vouches for it, and whoever was not named is not handed out.
        let unnamed = NetworkListener.TLS(certificateFile: tls.certificateFile, keyFile: tls.keyFile)
        #expect(try NetworkListener(listen: "127.0.0.1:7000", tls: unnamed).authority() == nil)
    }
}
