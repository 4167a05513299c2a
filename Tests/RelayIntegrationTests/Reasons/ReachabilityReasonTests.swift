import NATS
import Relay
import TestSupport
import Testing

/// Why a server cannot be reached, each cause made for real.
@Suite("Reasons: reaching the server", .realProcesses, .certificates)
struct ReachabilityReasonTests {
    /// The first status with a reason of a client that dials this server.
    private func firstReason(
        _ url: String, _ change: (inout RelayConfiguration) throws -> Void = { _ in }
    ) async throws -> ConnectionStatus {
        var configuration = RelayConfiguration(
            servers: .fixed(try RelayConfiguration.addresses([url])), namespace: ClientFixture.namespace,
            reconnect: .rongcloud)
        configuration.followsNetwork = false
        // As long as the system, and a busy machine, take to find out.
        configuration.dialTimeout = .seconds(60)
        try change(&configuration)
        let client = RelayClient(configuration: configuration)
        let statuses = client.statuses
        await client.beginConnecting()
        defer { Task { await client.disconnect() } }
        for await status in statuses where status.reason != nil { return status }
        return .initialized
    }

    @Test("B14 a refused port is reported and tried again")
    func refused() async throws {
        let silent = try SilentPort()
        let status = try await firstReason(silent.url)
        #expect(status.state == .connecting)
        #expect(status.reason?.words.contains("127.0.0.1:\(silent.port)") == true, "\(status.words)")
        #expect(RongCloudCode(status)?.rawValue == 30_001)
    }

    @Test("B14 a host without an address is reported and tried again")
    func unresolvable() async throws {
        let status = try await firstReason("nats://nowhere.invalid:4333")
        #expect(status.state == .connecting)
        #expect(status.reason?.words.contains("nowhere.invalid") == true, "\(status.words)")
        #expect(RongCloudCode(status)?.rawValue == 30_001)
    }

    @Test(
        "A certificate that cannot be trusted is reported, each cause in its own words",
        arguments: [
            ("server", "stranger.pem", "127.0.0.1"), ("other", "authority.pem", "127.0.0.1"),
            ("address", "authority.pem", "localhost"), ("expired", "authority.pem", "127.0.0.1"),
        ])
    func certificates(name: String, authority: String, host: String) async throws {
        let server = try await NATSServerProcess.start(
            NATSServerProcess.anyBinary, configuration: TestCertificates.configuration(name), jetStream: false)
        let status = try await firstReason("tls://\(host):\(server.port)") {
            $0.tls = TLSOptions(authorityFile: try TestCertificates.path(authority))
        }
        guard case .tlsFailure(let words) = status.reason else {
            Issue.record("\(status)")
            return
        }
        let expected = [
            "server": "trust", "other": "not for 127.0.0.1", "address": "not for localhost", "expired": "expired on",
        ]
        #expect(words.contains(expected[name] ?? "?"), "\(words)")
        #expect(RongCloudCode(status)?.rawValue == 30_021)
        #expect(NexconnConnectionStatus(status).rawValue == 13, "Suspended until the next attempt")
    }

    @Test(
        "B17 a proxy that cannot be used ends the session",
        arguments: ["http://127.0.0.1:PORT", "socks5://127.0.0.1:PORT"])
    func proxies(url: String) async throws {
        let silent = try SilentPort()
        let proxy = try ProxyAddress(parsing: url.replacing("PORT", with: "\(silent.port)"))
        let status = try await firstReason("nats://127.0.0.1:1") { $0.proxy = proxy }
        #expect(status.state == .disconnected)
        withExtendedLifetime(silent) {}
        guard case .proxyUnavailable(let words) = status.reason else {
            Issue.record("\(status)")
            return
        }
        #expect(!words.isEmpty)
        #expect(NexconnConnectionStatus(status).rawValue == 17)
        #expect(RongCloudCode(status)?.rawValue == 31_028)
    }

    @Test("B14 a proxy's host without an address is reported and tried again")
    func unresolvableProxy() async throws {
        let proxy = try ProxyAddress(parsing: "http://nowhere.invalid:8080")
        let status = try await firstReason("nats://127.0.0.1:1") { $0.proxy = proxy }
        #expect(status.state == .connecting)
        #expect(status.reason?.words.contains("nowhere.invalid") == true, "\(status.words)")
        #expect(RongCloudCode(status)?.rawValue == 30_001)
    }

    @Test("A server that ends while connected is a reset")
    func reset() async throws {
        let fixture = try await ClientFixture.start()
        let client = try await fixture.client(reconnect: .rongcloud)
        let statuses = Collector<ConnectionStatus>()
        await statuses.start(client.statuses)
        try await fixture.server.kill9()
        try await statuses.wait(for: "the loss") { $0.contains { $0.state == .reconnecting && $0.reason != nil } }
        let lost = try #require(await statuses.elements.first { $0.state == .reconnecting && $0.reason != nil })
        #expect(RongCloudCode(lost)?.rawValue == 32_054)
        #expect(SystemEvent(lost) == .reconnecting && SupabaseStatus(lost) == .connecting)
        #expect(PlatformSubscriptionStatus(lost) == .connecting)
        await client.close()
    }
}
