import Foundation
import NIOCore
import TestSupport
import Testing

@testable import NATS
@testable import Relay

@Suite("Connections over a real server", .realProcesses)
struct ConnectionTests {
    @Test("B7 B13 many callers of connect share one connection and hear CONNECTED once")
    func singleFlight() async throws {
        let fixture = try await ClientFixture.start()
        let client = RelayClient(configuration: try fixture.configuration())
        let events = Collector<SystemEvent>()
        await events.start(client.events)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<20 { group.addTask { try await client.connect(timeLimit: 60) } }
            try await group.waitForAll()
        }
        #expect(client.status.state == .connected)
        try await client.connect()
        await client.close()
        try await events.wait(for: "the end") { $0.contains(.disconnected) }
        #expect(await events.elements == [.connected, .disconnected])
    }

    @Test("B8 connect gives up at its time limit and stops")
    func timeLimit() async throws {
        let fixture = try await ClientFixture.start()
        // Whoever still tried would try often.
        let configuration = try fixture.configuration(reconnect: ReconnectPolicy(schedule: [.milliseconds(10)]))
        try await fixture.server.stop()
        let client = RelayClient(configuration: configuration)
        await #expect(throws: RelayError.connection(.timeLimit(.seconds(1)))) {
            try await client.connect(timeLimit: 1)
        }
        #expect(client.status.state == .disconnected)
        try await fixture.server.restart()
        // Nothing tries any more, though the server is back and others are on it.
        await (try await fixture.client()).close()
        #expect(client.status.state == .disconnected)
        try await client.connect(timeLimit: 60)
        await client.close()
    }

    @Test("B7 B8 whoever connects when another caller's limit is overdue begins a session of its own")
    func overdueLimit() async throws {
        let fixture = try await ClientFixture.start()
        let configuration = try fixture.configuration(lifecycle: .immediate)
        try await fixture.server.stop()
        let client = RelayClient(configuration: configuration)
        let first = Task { try await client.connect(timeLimit: 1) }
        try await client.state(is: .connecting)
        let second = try await client.connectAfterSleep(.seconds(2))
        await #expect(throws: RelayError.connection(.timeLimit(.seconds(1)))) { try await first.value }
        try await fixture.server.restart()
        #expect(await second.value() == nil)
        #expect(client.status.state == .connected)
        // The background concerns the session that has begun.
        await client.setAppStateActive(false)
        try await client.state(is: .suspended)
        await client.close()
    }

    @Test("B16 a dial that was called off says nothing about its server")
    func cancelledDial() async throws {
        let frozen = try await NATSServerProcess.start()
        let fixture = try await ClientFixture.start()
        try await frozen.pause()
        var configuration = try fixture.configuration()
        configuration.servers = .fixed(try RelayConfiguration.addresses([frozen.url, fixture.server.url]))
        configuration.dialTimeout = .seconds(600)
        configuration.followsNetwork = false
        let client = RelayClient(configuration: configuration)
        await client.beginConnecting()
        try await eventually("the dial") { await client.knownServers.count == 2 }
        let link = Weak(await client.link)
        await client.setReachable(false)
        try await eventually("the end of the dial") { link.object == nil }
        #expect(await client.knownServers.first?.port == frozen.port)
        await client.close()
        frozen.resume()
    }

    @Test("B19 the network is judged by the servers of the present session")
    func otherServers() async throws {
        let fixture = try await ClientFixture.start()
        var configuration = try fixture.configuration()
        configuration.servers = .fixed([ServerAddress(host: "192.0.2.1")])
        let client = RelayClient(configuration: configuration)
        await client.beginConnecting()
        // As where no network leads to the first server.
        await client.setNetworkAvailable(false)
        await client.disconnect()
        let addresses = try RelayConfiguration.addresses([fixture.server.url])
        client.settings.withLockedValue { $0.configuration.servers = .fixed(addresses) }
        try await client.connect(timeLimit: 60)
        await client.close()
    }

    @Test("B16 disconnect while waiting for the next attempt is final")
    func disconnectInBackoff() async throws {
        let fixture = try await ClientFixture.start()
        let slow = ReconnectPolicy(schedule: [.seconds(60)])
        let client = try await fixture.client(reconnect: slow)
        let events = Collector<SystemEvent>()
        await events.start(client.events)
        try await fixture.server.kill9()
        try await client.state(is: .reconnecting)
        await client.disconnect()
        #expect(client.status.state == .disconnected)
        #expect(client.status.reason == .closedByUser)
        try await events.wait(for: "the end") { $0.contains(.disconnected) }
        #expect(await events.elements == [.reconnecting, .disconnected])
    }

    @Test("B14 RelayX's window ends the session by the clock: RECONN_FAILED, then DISCONNECTED")
    func window() async throws {
        let fixture = try await ClientFixture.start()
        var policy = ReconnectPolicy.relayx
        policy.window = .seconds(1)
        let client = try await fixture.client(reconnect: policy, outbox: .relayx)
        let events = Collector<SystemEvent>()
        await events.start(client.events)
        let outcomes = Collector<PublishNews>()
        await outcomes.start(client.publishes)
        let statuses = Collector<ConnectionStatus>()
        await statuses.start(client.statuses)
        // A server that stands still stores nothing, so the line is still waiting when the window ends.
        try await fixture.server.pause()
        let id = try client.enqueue(topic: "chat.room", message: "unsent")
        try await fixture.server.kill9()
        try await statuses.wait(for: "the end of the session") { statuses in
            statuses.contains { $0.state == .reconnecting } && statuses.contains { $0.state == .disconnected }
        }
        try await events.wait(for: "the end") { $0.contains(.disconnected) }
        #expect(await events.elements == [.reconnecting, .reconnectFailed, .disconnected])
        try await outcomes.wait(for: "the discarded line") {
            $0.contains(PublishNews(id: id, state: .discarded(.windowExpired)))
        }
    }

    @Test("B21 B24 the background suspends after its grace, the foreground brings everything back once")
    func lifecycle() async throws {
        let fixture = try await ClientFixture.start()
        let client = try await fixture.client(lifecycle: .immediate)
        let received = Collector<TopicEvent>()
        await received.start(try await client.messages(topic: "chat.room"))
        try await received.wait(for: "the live subscription") { $0.contains(.live) }
        await client.flicker(100)
        #expect(client.status.state == .connected)
        await client.setAppStateActive(false)
        try await client.state(is: .suspended)
        let other = try await fixture.client()
        _ = try await other.publish(topic: "chat.room", message: "while away")
        await client.setAppStateActive(true)
        try await client.state(is: .connected)
        try await received.wait(for: "what was said meanwhile") { events in
            events.contains { if case .message = $0 { true } else { false } }
        }
        #expect(await received.texts == ["while away"])
        // A person's own disconnect outlasts a trip to the background.
        await client.setAppStateActive(false)
        await client.disconnect()
        await client.setAppStateActive(true)
        #expect(client.status.state == .disconnected)
        await other.close()
    }

    @Test("B20 a server that freezes is noticed by the pings")
    func frozen() async throws {
        let fixture = try await ClientFixture.start()
        var configuration = try fixture.configuration()
        configuration.pingInterval = .milliseconds(100)
        configuration.dialTimeout = .seconds(5)
        let client = RelayClient(configuration: configuration)
        try await client.connect(timeLimit: 60)
        try await fixture.server.pause()
        try await client.state(is: .reconnecting)
        fixture.server.resume()
        try await client.state(is: .connected)
        await client.close()
    }

    @Test("B10 calls before connect fail at once and never hang")
    func beforeConnect() async throws {
        let fixture = try await ClientFixture.start()
        let client = RelayClient(configuration: try fixture.configuration())
        await #expect(throws: RelayError.notConnected) { try await client.publish(topic: "a", message: 1) }
        await #expect(throws: RelayError.notConnected) { try await client.listMessages() }
        await #expect(throws: RelayError.notConnected) { try await client.ping() }
        await #expect(throws: RelayError.notConnected) {
            try await client.history(topic: "a", start: Timestamp(milliseconds: 0))
        }
    }

    @Test("B1 B2 credentials are checked before any I/O and never shown")
    func credentials() throws {
        let seed = NKeyPair.generate(.user).withSeedText { $0 }
        for (key, secret) in [("", ""), ("", seed), ("key", ""), ("key", "SUNOTASEED"), ("notajwt", seed)] {
            #expect {
                _ = try RelayCredentials.apiKey(key, secret: secret)
            } throws: { error in
                guard case .invalidCredentials(let text) = error as? RelayError else { return false }
                return secret.isEmpty || !text.contains(secret)
            }
        }
        #expect(throws: RelayError.self) { try RelayCredentials.accessToken("") }
        #expect(throws: RelayError.self) { try RelayCredentials.file("/nonexistent.creds") }
    }

    @Test("B55 a client that is let go closes its socket")
    func release() async throws {
        let fixture = try await ClientFixture.start()
        weak var weakClient: RelayClient?
        let channel: any Channel
        do {
            let client = try await fixture.client()
            weakClient = client
            channel = try #require(await client.link?.connection?.core.channel)
            let events = try await client.messages(topic: "chat.room")
            _ = try await client.publish(topic: "chat.room", message: "x")
            #expect(channel.isActive)
            withExtendedLifetime(events) {}
        }
        try await eventually("the client's end") { weakClient == nil }
        try await eventually("the socket's end") { !channel.isActive }
    }
}

extension RelayClient {
    /// Leaves the foreground and comes back so many times, with no time between the two.
    fileprivate func flicker(_ count: Int) {
        for _ in 0..<count {
            setAppStateActive(false)
            setAppStateActive(true)
        }
    }

    /// Connects after a time in which none of the client's timers could fire, as after a laptop's sleep.
    fileprivate func connectAfterSleep(_ duration: Duration) throws -> Completion<RelayError?> {
        Thread.sleep(forTimeInterval: Double(duration.components.seconds))
        return try startConnecting(timeLimit: 0).waiter
    }
}

/// Whether something is still there.
private struct Weak<Object: AnyObject & Sendable>: Sendable {
    weak let object: Object?

    init(_ object: Object?) { self.object = object }
}
