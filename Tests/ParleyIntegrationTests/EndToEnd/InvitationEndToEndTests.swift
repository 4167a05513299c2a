import Foundation
import TestSupport
import Testing

@testable import RelayNetwork

extension EndToEndTests {
    @Suite("Invitations", .certificates)
    struct Invitations {
        @Test(
            "Somebody is invited, joins, and writes from a machine of their own; the invitation serves nobody again",
            arguments: NATSServerProcess.binaries)
        func join(_ binary: NATSServerBinary) async throws {
            try await PrivateNetworkFixture.run(binary) { network in
                let port = try LoopbackPort.choose(preferred: nil)
                let started = try await network.objects(
                    "network", "start", "--json", "--listen", "127.0.0.1:\(port)", "--tls-cert",
                    TestCertificates.path("server.pem"), "--tls-key", TestCertificates.path("server.key"), "--tls-ca",
                    TestCertificates.path("authority.pem"))
                #expect(started.first?["listens"].string == "tls://127.0.0.1:\(port)")
                // Programs of the network's own machine use it as before.
                #expect(try await network.parley("send", "chat.lobby", "hello", "--as", "bob").status.isSuccess)

                let file = network.folder.path("carol.invitation")
                let made = try await network.objects(
                    "network", "invite", "carol", "--out", file, "--expires", "1h", "--json")
                #expect(made.first?.keys == ["user", "file", "expires"] && made.first?["file"].string == file)
                let mode = try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int
                #expect(mode == 0o600)

                // As on another machine, with folders of its own.
                let elsewhere = [
                    "XDG_DATA_HOME": network.folder.path("carol/data"),
                    "XDG_CONFIG_HOME": network.folder.path("carol/config"),
                    "XDG_STATE_HOME": network.folder.path("carol/state"),
                ]
                let joined = try await network.parley("join", file, "--json", environment: elsewhere)
                #expect(joined.exitCode == 0, "\(joined)")
                #expect(try JSONLine(joined.output)["profile"].string == "127.0.0.1")
                let sent = try await network.parley(
                    "send", "chat.lobby", "hi", "--profile", "127.0.0.1", environment: elsewhere)
                #expect(sent.exitCode == 0, "\(sent)")
                #expect(try await network.texts(on: "chat.lobby") == ["hello", "hi"])

                let text = try String(contentsOfFile: file, encoding: .utf8)
                let again = try await network.parley(
                    "join", "-", "--profile", "again", input: text, environment: elsewhere)
                #expect(again.exitCode == 77 && again.diagnostics.contains("used already"), "\(again)")
                // Nothing is left of it.
                let profiles = try await network.parley("config", "check", "--json", environment: elsewhere)
                #expect(try JSONLine(profiles.output)["profiles"].array.map(\.string) == ["127.0.0.1"], "\(profiles)")
                #expect(!FileManager.default.fileExists(atPath: network.folder.path("carol/data/parley/joined/again")))
                let none = try await network.parley("join", "-", input: "hello", environment: elsewhere)
                #expect(none.exitCode == 65 && none.diagnostics.contains("no invitation"), "\(none)")
            }
        }

        @Test("In the foreground the network runs until a signal ends it, and is for this machine alone then")
        func foreground() async throws {
            try await PrivateNetworkFixture.run { network in
                let port = try LoopbackPort.choose(preferred: nil)
                let service = try network.start("network", "start", "--foreground", "--listen", "127.0.0.1:\(port)")
                try await eventually("a network that listens", deadline: .seconds(60)) {
                    let status = try await network.objects("network", "status", "--json")
                    return status.first?["listens"].string == "nats://127.0.0.1:\(port)"
                }
                let description = try #require(network.description)
                service.signal(SIGTERM)
                #expect(try await service.waitForExit(deadline: .seconds(60)).exitCode == 0)
                #expect(!PrivateNetworkFixture.isRunning(description.serverPid))
                let started = try await network.objects("network", "start", "--json")
                #expect(started.first?["running"].bool == true && started.first?["listens"].isNull == true)
            }
        }

        @Test("Nobody is invited to a network that nobody else reaches")
        func unreachable() async throws {
            try await PrivateNetworkFixture.run { network in
                let refused = try await network.parley(
                    "network", "invite", "carol", "--out", network.folder.path("carol.invitation"))
                #expect(refused.exitCode == 64 && refused.diagnostics.contains("--listen"), "\(refused)")
                #expect(!FileManager.default.fileExists(atPath: network.folder.path("carol.invitation")))
            }
        }
    }
}
