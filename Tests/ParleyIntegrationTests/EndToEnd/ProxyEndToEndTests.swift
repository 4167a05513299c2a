import Foundation
import RelayNetwork
import TestSupport
import Testing

extension EndToEndTests {
    @Suite("Through a proxy")
    struct Proxies {
        /// A network with a user's credentials file, as far away as the proxy makes it: this machine knows no such
        /// host.
        private func network(_ body: (PrivateNetworkFixture, TestProxy, String, String) async throws -> Void)
            async throws
        {
            try await PrivateNetworkFixture.run { network in
                let proxy = try await TestProxy.start(.http, .init(names: ["chat.invalid": "127.0.0.1"]))
                defer { withExtendedLifetime(proxy) {} }
                let url = try await network.started()
                let port = try #require(url.split(separator: ":").last)
                let creds = network.folder.path("dora.creds")
                _ = try await network.objects("network", "user", "add", "dora", "--out", creds, "--json")
                try await body(network, proxy, "nats://chat.invalid:\(port)", creds)
            }
        }

        @Test("Flag, profile and environment name the proxy that the servers are reached through")
        func way() async throws {
            try await network { network, proxy, server, creds in
                let target = ["chat.lobby", "--server", server, "--creds", creds]
                let flag = try await network.run(
                    ["send"] + target + ["--proxy", "http://127.0.0.1:\(proxy.address.port)", "by flag"])
                #expect(flag.exitCode == 0, "\(flag)")
                let withPassword = "http://me:word@127.0.0.1:\(proxy.address.port)"
                let environment = try await network.run(
                    ["send"] + target + ["by environment"], environment: ["ALL_PROXY": withPassword])
                #expect(environment.exitCode == 0, "\(environment)")
                let file = try network.configuration(
                    "servers: ['\(server)'], creds: '\(creds)', proxy: '\(withPassword)'")
                let profile = try await network.run(["send", "chat.lobby", "by profile", "--config", file])
                #expect(profile.exitCode == 0, "\(profile)")
                #expect(
                    try await network.texts(on: "chat.lobby") == ["by flag", "by environment", "by profile"])
                let host = String(server.dropFirst("nats://".count))
                let plain = TestProxy.Request(target: host)
                let authorized = TestProxy.Request(target: host, authorization: "Basic bWU6d29yZA==")
                #expect(proxy.requests == [plain, authorized, authorized])

                let excepted = try await network.run(
                    ["send"] + target + ["x", "--timeout", "5"],
                    environment: ["ALL_PROXY": withPassword, "NO_PROXY": "invalid"])
                #expect(excepted.exitCode == 69 && proxy.requests.count == 3, "\(excepted)")
                // The private network is not asked for through it.
                let own = try await network.run(
                    ["send", "--as", "bob", "chat.lobby", "y"], environment: ["ALL_PROXY": withPassword])
                #expect(own.exitCode == 0 && proxy.requests.count == 3, "\(own)")
            }
        }

        @Test("B2 A proxy that does not work is reported by commands and doctor, and no password is shown")
        func mistakes() async throws {
            try await network { network, proxy, server, creds in
                let target = ["--server", server, "--creds", creds]
                let way = ["--proxy", "http://127.0.0.1:\(proxy.address.port)"]
                let well = try await network.run(["doctor", "--json"] + target + way)
                let findings = try well.lines.map { try JSONLine($0) }
                #expect(well.exitCode == 0 && findings.allSatisfy { $0["ok"].bool == true }, "\(well)")
                let checks = findings.map { $0["check"].string }
                #expect(checks.contains("proxy http://127.0.0.1:\(proxy.address.port)"), "\(checks)")
                #expect(
                    findings.first { $0["check"].string == "server \(server)" }?["detail"].string
                        .hasPrefix("proxy, login: ") == true, "\(well)")

                let silent = try SilentPort()
                let dead = silent.url.replacing("nats://", with: "http://me:hush@")
                let refused = try await network.run(
                    ["send", "chat.lobby", "x", "--timeout", "10"] + target, environment: ["ALL_PROXY": dead])
                #expect(refused.exitCode == 69 && refused.diagnostics.contains("The proxy does not work"), "\(refused)")
                let sick = try await network.run(["doctor"] + target, environment: ["ALL_PROXY": dead])
                #expect(sick.exitCode == 69 && sick.output.contains("✗ proxy "), "\(sick)")
                let secret = try await network.run(["send", "chat.lobby", "x", "--proxy", dead] + target)
                #expect(secret.exitCode == 64 && secret.diagnostics.contains("ALL_PROXY"), "\(secret)")
                for result in [refused, sick, secret] {
                    #expect(!(result.output + result.diagnostics).contains("hush"), "\(result)")
                }
            }
        }
    }
}
