import Foundation
import NATS
import TestSupport
import Testing

@testable import RelayNetwork

extension EndToEndTests {
    @Suite("Somebody whom a network does not let in", .certificates)
    struct Strangers {
        /// What `parley join` says to somebody whose invitation names a server.
        private func join(
            _ invitation: Invitation, at server: String, authority: String?, _ network: PrivateNetworkFixture,
            _ name: String
        ) async throws -> ChildProcess.Result {
            let changed = Invitation(
                user: invitation.user, servers: [server], authority: authority, names: invitation.names,
                expires: invitation.expires, credentials: invitation.credentials)
            return try await network.parley(
                "join", "-", "--json", "--profile", name, input: changed.text(),
                environment: [
                    "XDG_DATA_HOME": network.folder.path("\(name)/data"),
                    "XDG_CONFIG_HOME": network.folder.path("\(name)/config"),
                    "XDG_STATE_HOME": network.folder.path("\(name)/state"),
                ])
        }

        @Test(
            "A connection in clear, a wrong certificate, and an invitation that is void get a sentence each, and nothing stays",
            arguments: NATSServerProcess.binaries)
        func sentences(_ binary: NATSServerBinary) async throws {
            let plain = try await NATSServerProcess.start(binary, jetStream: false)
            let elsewhere = try await NATSServerProcess.start(
                binary, configuration: TestCertificates.configuration("other"), jetStream: false)
            let expired = try await NATSServerProcess.start(
                binary, configuration: TestCertificates.configuration("expired"), jetStream: false)
            try await PrivateNetworkFixture.run(binary) { network in
                let port = try LoopbackPort.choose(preferred: nil)
                _ = try await network.objects(
                    "network", "start", "--json", "--listen", "127.0.0.1:\(port)", "--tls-cert",
                    TestCertificates.path("server.pem"), "--tls-key", TestCertificates.path("server.key"), "--tls-ca",
                    TestCertificates.path("authority.pem"))
                let file = network.folder.path("carol.invitation")
                func invite() async throws -> Invitation {
                    _ = try await network.objects("network", "invite", "carol", "--out", file, "--json")
                    return try Invitation(parsing: String(contentsOfFile: file, encoding: .utf8))
                }
                let invitation = try await invite()
                let own = try String(contentsOfFile: TestCertificates.path("authority.pem"), encoding: .utf8)
                let strangers = try String(contentsOfFile: TestCertificates.path("stranger.pem"), encoding: .utf8)
                let secure = "tls://127.0.0.1:\(port)"
                let cases: [(name: String, server: String, authority: String?, words: String)] = [
                    ("no-tls", "tls://127.0.0.1:\(plain.port)", own, "offers no TLS"),
                    ("in-clear", "nats://127.0.0.1:\(port)", nil, "no authority that this computer trusts"),
                    ("stranger", secure, strangers, "authority"),
                    ("wrong-name", "tls://127.0.0.1:\(elsewhere.port)", own, "elsewhere.example"),
                    ("too-old", "tls://127.0.0.1:\(expired.port)", own, "expired"),
                ]
                for (name, server, authority, words) in cases {
                    let result = try await join(invitation, at: server, authority: authority, network, name)
                    #expect(result.exitCode != 0 && result.output.isEmpty, "\(name): \(result)")
                    #expect(result.diagnostics.contains(words), "\(name): \(result)")
                    #expect(result.diagnostics.split(separator: "\n").count == 1, "\(name): \(result)")
                    #expect(
                        !FileManager.default.fileExists(
                            atPath: network.folder.path("\(name)/data/parley/joined/\(name)")))
                }
                // None of that has used it up.
                let joined = try await join(invitation, at: secure, authority: own, network, "carol")
                #expect(joined.exitCode == 0, "\(joined)")
                let again = try await join(invitation, at: secure, authority: own, network, "again")
                #expect(again.exitCode == 77 && again.diagnostics.contains("used already"), "\(again)")
                let second = try await invite()
                let taken = try await network.parley("network", "invite", "carol", "--revoke")
                #expect(taken.exitCode == 0)
                let revoked = try await join(second, at: secure, authority: own, network, "revoked")
                #expect(revoked.exitCode == 77 && revoked.diagnostics.contains("taken back"), "\(revoked)")
                for result in [again, revoked] { #expect(result.diagnostics.split(separator: "\n").count == 1) }
            }
            withExtendedLifetime((plain, elsewhere, expired)) {}
        }
    }
}
