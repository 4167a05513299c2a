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

    @Test("B14 a refused port, and a host or a proxy without an address, are reported and tried again")
    func unreachable() async throws {
        let silent = try SilentPort()
        let proxy = try ProxyAddress(parsing: "http://nowhere.invalid:8080")
        for (url, proxy, words) in [
            (silent.url, nil, "127.0.0.1:\(silent.port)"), ("nats://nowhere.invalid:4333", nil, "nowhere.invalid"),
            ("nats://127.0.0.1:1", proxy, "nowhere.invalid"),
        ] as [(String, ProxyAddress?, String)] {
            let status = try await firstReason(url) { $0.proxy = proxy }
            #expect(status.state == .connecting)
            #expect(status.reason?.words.contains(words) == true, "\(status.words)")
            #expect(RongCloudCode(status)?.rawValue == 30_001)
        }
        withExtendedLifetime(silent) {}
    }

    @Test("A certificate that cannot be trusted is reported in words of its cause")
    func certificate() async throws {
        let server = try await NATSServerProcess.start(
            NATSServerProcess.anyBinary, configuration: TestCertificates.configuration("expired"), jetStream: false)
        let status = try await firstReason("tls://127.0.0.1:\(server.port)") {
            $0.tls = TLSOptions(authorityFile: try TestCertificates.path("authority.pem"))
        }
        guard case .tlsFailure(let words) = status.reason else {
            Issue.record("\(status)")
            return
        }
        #expect(words.contains("expired on"), "\(words)")
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
