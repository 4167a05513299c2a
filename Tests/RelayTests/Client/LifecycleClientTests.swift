import Foundation
import NATS
import NIOConcurrencyHelpers
import TestSupport
import Testing

@testable import Relay

/// A signal that a test gives.
private final class TestSignal: LifecycleSource {
    private struct State {
        var receiver: LifecycleReceiver?
        var found: LifecycleEvent?
        var begins = 0
        var hasEnded = false
    }

    private let state = NIOLockedValueBox(State())

    var begins: Int { state.withLockedValue(\.begins) }
    var hasEnded: Bool { state.withLockedValue(\.hasEnded) }

    func begin(_ receiver: LifecycleReceiver) {
        state.withLockedValue { state in
            state.receiver = receiver
            state.begins += 1
        }
    }

    func look() -> LifecycleEvent? {
        state.withLockedValue { state in
            defer { state.found = nil }
            return state.found
        }
    }

    func end() { state.withLockedValue { $0.hasEnded = true } }

    /// What the next look finds.
    func hide(_ event: LifecycleEvent) { state.withLockedValue { $0.found = event } }

    func tell(_ event: LifecycleEvent) { state.withLockedValue(\.receiver)?.tell(event) }
}

@Suite("Client: the application's life, over a network in memory", .realProcesses)
struct LifecycleClientTests {
    private let network: MemoryNetwork

    init() throws { network = try MemoryNetwork() }

    /// A configuration that is told of the application's life by a signal.
    private func configuration(
        _ signal: any LifecycleSource, _ policy: LifecyclePolicy = .immediate
    ) -> RelayConfiguration {
        var configuration = network.configuration(lifecycle: policy)
        configuration.handleAppLifecycle = true
        configuration.lifecycleSources = { [signal] }
        return configuration
    }

    /// A configuration that says nothing of the background.
    private func plainConfiguration() -> RelayConfiguration {
        RelayConfiguration(
            servers: .fixed([ServerAddress(host: "memory")]), user: MemoryNetwork.user,
            namespace: MemoryNetwork.namespace, followsNetwork: false, dialTimeout: .seconds(60),
            pongTimeout: .seconds(60))
    }

    /// Lets the grace of the background pass.
    private func passGrace() async throws {
        try await eventually("the grace") { network.time.waits.contains(LifecyclePolicy.shortestGrace) }
        network.time.advance(by: LifecyclePolicy.shortestGrace)
    }

    @Test("B21 B26 the application's background disconnects")
    func appBackgroundDisconnects() async throws {
        let center = NotificationCenter()
        let hides = Notification.Name("test.didEnterBackground")
        let client = try await network.connected(
            configuration(NotificationSource(center, [hides: .background])))
        #expect(SupabaseStatus(client.status) == .connected)
        center.post(name: hides, object: nil)
        try await passGrace()
        try await client.state(is: .suspended)
        #expect(SupabaseStatus(client.status) == .disconnected && client.status.reason == .backgrounded)
        try await eventually("the end of the connection") { network.server.connections == 0 }
        await client.close()
    }

    @Test("B21 B26 the application's foreground reconnects, and what was said meanwhile comes once")
    func appForegroundReconnects() async throws {
        let signal = TestSignal()
        var configuration = plainConfiguration()
        configuration.handleAppLifecycle = true
        configuration.lifecycleSources = { [signal] }
        let client = try await network.connected(configuration)
        let heard = Heard(try await client.messages(topic: "chat.room"))
        try await heard.wait(for: "live")
        signal.tell(.background)
        try await passGrace()
        try await client.state(is: .suspended)
        try network.store("while away")
        signal.tell(.foreground)
        try await client.state(is: .connected)
        try await heard.wait(for: "live", times: 2)
        #expect(heard.all.count { $0.hasSuffix("while away") } == 1 && network.server.dials == 2)
        await client.close()
    }

    @Test("B26 without `handleAppLifecycle` no signal is made, and `setAppStateActive` works all the same")
    func notHandled() async throws {
        let made = NIOLockedValueBox(0)
        var configuration = network.configuration(lifecycle: .immediate)
        configuration.lifecycleSources = {
            made.withLockedValue { $0 += 1 }
            return []
        }
        let client = try await network.connected(configuration)
        await client.setAppStateActive(false)
        try await passGrace()
        try await client.state(is: .suspended)
        await client.setAppStateActive(true)
        try await client.state(is: .connected)
        #expect(made.withLockedValue(\.self) == 0 && network.time.untilNext == nil)
        await client.close()
    }

    @Test("B26 `setAppStateActive` and a signal speak of the same foreground: the last word counts")
    func bothWays() async throws {
        let signal = TestSignal()
        let client = try await network.connected(configuration(signal))
        signal.tell(.background)
        try await eventually("the grace") { network.time.waits.contains(LifecyclePolicy.shortestGrace) }
        await client.setAppStateActive(true)
        try await eventually("no grace") { !network.time.waits.contains(LifecyclePolicy.shortestGrace) }
        #expect(client.status.state == .connected && network.server.dials == 1)
        await client.close()
        #expect(signal.begins == 1)
    }

    @Test("B26 a signal keeps no client alive, and ends with it")
    func released() async throws {
        let signal = TestSignal()
        var client: RelayClient? = try await network.connected(configuration(signal))
        #expect(client?.status.state == .connected)
        client = nil
        try await eventually("the end of the signal") { signal.hasEnded }
        signal.tell(.foreground)
        try await eventually("the end of the connection") { network.server.connections == 0 }
    }

    @Test("B26 B28 the article's example rests while nobody uses the program, and follows for a view")
    func example() async throws {
        let idle = IdleSource(after: .seconds(600), clock: network.time)
        var configuration = plainConfiguration()
        restWhenIdle(&configuration, idle)
        let client = try await network.connected(configuration)
        let (view, shows) = AsyncStream.makeStream(of: Bool.self, bufferingPolicy: .bufferingNewest(4))
        let heard = Collected()
        let following = Task {
            try await follow("chat.room", for: view, on: client) { message in heard.add(message.text) }
        }
        try await eventually("the subscription") { network.server.consumers(of: "test_stream").count == 1 }
        try network.store("one")
        try await eventually("the first line") { heard.all == ["one"] }
        shows.yield(false)
        try await eventually("the wait for the view") { network.time.waits.contains(configuration.offScreenGrace) }
        network.time.advance(by: configuration.offScreenGrace)
        try await eventually("the release") { network.server.consumers(of: "test_stream").isEmpty }
        try await network.letTimePass("the rest") { client.status.state == .suspended }
        try network.store("two")
        shows.yield(true)
        idle.noteActivity()
        try await eventually("the second line") { heard.all == ["one", "two"] }
        await stop(client) { #expect(client.status.state == .suspended) }
        try await client.state(is: .connected)
        following.cancel()
        await client.close()
    }

    @Test("B22 a stop during a dial abandons it, and the foreground takes it up")
    func whileConnecting() async throws {
        network.server.setSilent(true)
        let client = network.client(network.configuration(lifecycle: .rongcloud))
        await client.beginConnecting()
        try await eventually("the dial") { network.server.dials == 1 }
        await client.lifecycleChanged(.stopping)
        #expect(client.status.state == .suspended)
        network.server.setSilent(false)
        try await eventually("the end of the dial") { await client.link == nil }
        #expect(client.status.state == .suspended && network.server.dials == 1)
        await client.lifecycleChanged(.foreground)
        try await client.state(is: .connected)
        #expect(network.server.dials == 2)
        await client.close()
    }

    /// A client that waits a minute for its next attempt.
    private func inAnOutage() async throws -> RelayClient {
        let slow = ReconnectPolicy(schedule: [.seconds(60)])
        let client = try await network.connected(network.configuration(reconnect: slow, lifecycle: .rongcloud))
        network.server.refuseDials(with: NATSError.connectionRefused("memory"))
        network.server.disconnectAll()
        try await eventually("the wait for the next attempt") { client.status.nextRetryAt != nil }
        return client
    }

    @Test("B23 a stop during an outage ends the attempts, and the foreground tries at once with the schedule anew")
    func whileReconnecting() async throws {
        let client = try await inAnOutage()
        await client.lifecycleChanged(.stopping)
        try await eventually("no timer") { network.time.untilNext == nil }
        let dials = network.server.dials
        network.time.advance(by: .seconds(3_600))
        #expect(client.status.state == .suspended && network.server.dials == dials)
        network.server.refuseDials(with: nil)
        await client.lifecycleChanged(.foreground)
        try await client.state(is: .connected)
        #expect(network.server.dials == dials + 1 && client.status.recoveries == 1)
        await client.close()
    }

    @Test("B23 a return that is too quick for a look at the connection tries at once as well, in an outage")
    func quickReturnWhileReconnecting() async throws {
        let client = try await inAnOutage()
        // As far as attempts keep apart, and less than the shortest grace.
        network.time.advance(by: .milliseconds(500))
        // Whoever is here already does not return.
        await client.setAppStateActive(true)
        #expect(client.status.nextRetryAt != nil)
        await client.setAppStateActive(false)
        network.server.refuseDials(with: nil)
        await client.setAppStateActive(true)
        try await client.state(is: .connected)
        await client.close()
    }

    @Test("B27 when `lifecycleChanged(.stopping)` returns, the connection has said what it had to say and is closed")
    func stopping() async throws {
        try network.server.createBucket(PresenceEntry.bucket)
        let client = try await network.connected(network.configuration(lifecycle: .rongcloud))
        try await client.appear(in: ["chat.room"])
        func here() -> Bool {
            network.server.messages(in: PresenceEntry.stream).contains { $0.headers["KV-Operation"] == nil }
        }
        try await eventually("the own entry") { here() }
        await client.lifecycleChanged(.stopping)
        #expect(client.status.state == .suspended && !here())
        try await eventually("the server's end") { network.server.connections == 0 }
        await client.lifecycleChanged(.foreground)
        try await client.state(is: .connected)
        try await eventually("the own entry again") { here() }
        await client.close()
    }

    @Test("B25 at a return a short sleep replaces nothing, and one beyond the server's patience the connection at once")
    func sleep() async throws {
        let signal = TestSignal()
        let configuration = self.configuration(signal, .rongcloud)
        let client = try await network.connected(configuration)
        signal.hide(.woke(after: .seconds(30)))
        await client.setAppStateActive(true)
        _ = try await client.ping()
        #expect(network.server.dials == 1 && client.status.state == .connected)
        signal.hide(.woke(after: configuration.serverPatience))
        await client.setAppStateActive(true)
        try await eventually("the new connection") {
            network.server.dials == 2 && client.status.state == .connected && client.status.recoveries == 1
        }
        await client.close()
        try await eventually("no timer") { network.time.untilNext == nil }
    }

    @Test(
        "B25 a clock that jumps by an hour has the connection replaced before another second, asleep as well as stopped",
        arguments: [true, false])
    func clockJump(isAsleep: Bool) async throws {
        let (time, start, awake) = (network.time, network.time.now, SuspendingClock.now)
        var configuration = network.configuration(lifecycle: .rongcloud)
        configuration.handleAppLifecycle = true
        // The clock of a machine stands still while it sleeps, and goes on while a process is stopped.
        configuration.lifecycleSources = {
            let source = SleepSource {
                SleepGauge.Reading(
                    continuous: time.now, suspending: isAsleep ? awake : awake + start.duration(to: time.now))
            }
            return [source]
        }
        let client = try await network.connected(configuration)
        let heard = Heard(try await client.messages(topic: "chat.room"))
        try await heard.wait(for: "live")
        let interval = configuration.pingInterval
        try await eventually("the wait for the next look") { time.waits.contains(interval) }

        // Behind this nobody moves the clock: what waited for another moment of it would not come.
        time.advance(by: .seconds(3_600))
        try network.store("meanwhile")
        try await eventually("the new connection") {
            network.server.dials == 2 && client.status.state == .connected && client.status.recoveries == 1
        }
        try await heard.wait(for: "live", times: 2)
        #expect(heard.all.count { $0.hasSuffix("meanwhile") } == 1)
        // Once: the look that comes next finds nothing more.
        try await eventually("the wait for the next look") { time.waits.contains(interval) }
        time.advance(by: interval)
        _ = try await client.ping()
        #expect(network.server.dials == 2 && client.status.state == .connected)
        await client.close()
    }

    @Test("B25 a look that is late by less than the server's patience replaces nothing")
    func late() async throws {
        var configuration = network.configuration(lifecycle: .rongcloud)
        configuration.handleAppLifecycle = true
        configuration.lifecycleSources = { [SleepSource { nil }] }
        let client = try await network.connected(configuration)
        let (interval, patience) = (configuration.pingInterval, configuration.serverPatience)
        try await eventually("the wait for the next look") { network.time.waits == [interval] }
        network.time.advance(by: interval + patience - .seconds(1))
        try await eventually("the wait behind it") { network.time.waits == [interval] }
        _ = try await client.ping()
        #expect(network.server.dials == 1 && client.status.state == .connected)
        await client.close()
    }

    @Test("B21 suspended means silent: no connection, no timer, nobody shown as here, and what is written waits")
    func silent() async throws {
        try network.server.createBucket(PresenceEntry.bucket)
        let folder = try TemporaryDirectory("silent")
        let signal = TestSignal()
        var configuration = self.configuration(signal, .rongcloud)
        configuration.store = .file(folder.path("alice.sqlite"))
        configuration.idleTimeout = .seconds(50)
        let client = try await network.connected(configuration)
        try await client.appear(in: ["chat.room"])
        let seen = Gathered(try await client.presence(topic: "chat.room"))
        let room = try await client.messages(topic: "chat.room", onScreenOnly: true)
        let heard = Heard(room)
        try await heard.wait(for: "live")
        try await eventually("the own entry") { seen.all.last?.users.map(\.name) == ["alice"] }
        room.setOnScreen(false)
        try await eventually("the wait for the view") { network.time.waits.contains(configuration.offScreenGrace) }
        await client.lifecycleChanged(.stopping)
        let id = try await client.enqueue(topic: "chat.room", message: "from afar").id
        // What was begun comes to its end, and nothing follows.
        try await network.letTimePass("no timer") { network.time.untilNext == nil }
        network.time.advance(by: .seconds(3_600))
        try await network.letTimePass("no timer still") { network.time.untilNext == nil }
        #expect(network.server.dials == 1)
        #expect(client.status.state == .suspended && client.queuedCount == 1)
        try await eventually("nobody here") { seen.all.last?.isKnown == false }
        await client.lifecycleChanged(.foreground)
        try await client.state(is: .connected)
        try await network.letTimePass("what waited") { network.stored() == ["from afar"] }
        #expect(network.server.messages(in: "test_stream").first?.headers["Nats-Msg-Id"] == id)
        room.setOnScreen(true)
        try await eventually("the line in view") { heard.all.contains { $0.hasSuffix("from afar") } }
        await client.close()
        withExtendedLifetime(folder) {}
    }

    @Test("B25 where something suggests that a connection is dead it is found out at once, however rarely it is pinged")
    func suspicion() async throws {
        var configuration = network.configuration(lifecycle: .rongcloud)
        configuration.pingInterval = .seconds(86_400)
        let client = try await network.connected(configuration)
        network.server.setSilent(true)
        await client.lifecycleChanged(.probe)
        // That is the wire's matter, whose time is the real one.
        try await eventually("the end of the connection") { client.status.state != .connected }
        network.server.setSilent(false)
        try await network.letTimePass("the next connection") { client.status.state == .connected }
        #expect(client.status.recoveries == 1)
        await client.close()
    }

    @Test("B22 a stop during the dial of a return takes the return back, and nothing is followed")
    func whileReturning() async throws {
        let client = try await network.connected(network.configuration(lifecycle: .rongcloud))
        let heard = Heard(try await client.messages(topic: "chat.room"))
        try await heard.wait(for: "live")
        await client.lifecycleChanged(.stopping)
        try await eventually("the end of the connection") { network.server.connections == 0 }
        network.server.setSilent(true)
        await client.lifecycleChanged(.foreground)
        try await eventually("the dial") { network.server.dials == 2 }
        await client.lifecycleChanged(.stopping)
        network.server.setSilent(false)
        try await eventually("no timer") { network.time.untilNext == nil }
        #expect(client.status.state == .suspended && heard.all == ["live"])
        await client.lifecycleChanged(.foreground)
        try await heard.wait(for: "live", times: 2)
        #expect(network.server.dials == 3)
        await client.close()
    }

    @Test("B24 a stop during `close` changes nothing, and what was closed stays so in the foreground")
    func whileClosing() async throws {
        let client = try await network.connected(network.configuration(lifecycle: .rongcloud))
        async let closing: Void = client.close()
        await client.lifecycleChanged(.stopping)
        await closing
        await client.lifecycleChanged(.foreground)
        #expect(client.status.state == .disconnected && client.status.reason == .closedByUser)
        let dials = network.server.dials
        #expect(dials == 1 && network.time.untilNext == nil)
    }

    @Test("B25 a connection that stood through a short absence is not touched")
    func stood() async throws {
        let client = try await network.connected(network.configuration(lifecycle: .rongcloud))
        let statuses = Gathered(client.statuses)
        let heard = Heard(try await client.messages(topic: "chat.room"))
        try await heard.wait(for: "live")
        await client.setAppStateActive(false)
        network.time.advance(by: .seconds(60))
        await client.setAppStateActive(true)
        _ = try await client.ping()
        #expect(network.server.dials == 1 && statuses.all.allSatisfy { $0.state == .connected })
        #expect(heard.all == ["live"])
        await client.close()
    }

    @Test("B23 a return within the grace, in the midst of an outage, tries at once")
    func graceWhileReconnecting() async throws {
        let client = try await inAnOutage()
        await client.setAppStateActive(false)
        network.time.advance(by: .seconds(2))
        network.server.refuseDials(with: nil)
        await client.setAppStateActive(true)
        try await client.state(is: .connected)
        await client.close()
    }
}
