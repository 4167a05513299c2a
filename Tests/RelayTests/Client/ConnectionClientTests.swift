import NATS
import TestSupport
import Testing

@testable import Relay

@Suite("Client: connections, over a network in memory", .realProcesses)
struct ConnectionClientTests {
    private let network: MemoryNetwork

    init() throws { network = try MemoryNetwork() }

    private static let refusal = NATSError.connectionRefused("memory")

    @Test("B7 B8 a caller that connects when another one's limit is overdue begins a session of its own")
    func overdueLimit() async throws {
        network.server.refuseDials(with: Self.refusal)
        let client = network.client(network.configuration(lifecycle: .immediate))
        let first = Task { try await client.connect(timeLimit: 1) }
        try await client.state(is: .connecting)
        let second = try await client.connect(afterSleepOf: .seconds(2), network.time)
        await #expect {
            try await first.value
        } throws: { error in
            guard case .connection(let reason)? = error as? RelayError else { return false }
            return reason.timeLimit == .seconds(1)
        }
        try await eventually("the wait for the next attempt") { client.status.nextRetryAt != nil }
        network.server.refuseDials(with: nil)
        try await network.attemptNow(client)
        #expect(RelayError(await second.value()) == nil)
        #expect(client.status.state == .connected)
        // The background concerns the session that has begun.
        await client.setAppStateActive(false)
        network.time.advance(by: .seconds(1))
        try await client.state(is: .suspended)
        await client.close()
    }

    @Test("B16 a dial that was called off says nothing about its server")
    func cancelledDial() async throws {
        network.server.setSilent(true)
        var configuration = network.configuration()
        configuration.servers = .fixed([ServerAddress(host: "frozen"), ServerAddress(host: "other")])
        configuration.dialTimeout = .seconds(600)
        let client = network.client(configuration)
        await client.beginConnecting()
        try await eventually("the dial") { network.server.dials == 1 }
        let link = Weak(await client.link)
        await client.setReachable(false)
        try await eventually("the end of the dial") { link.object == nil }
        #expect(await client.knownServers.map(\.host) == ["frozen", "other"])
        await client.close()
        network.server.setSilent(false)
    }

    /// A client that connects to a server to which no network leads.
    private func clientWithoutNetwork() async -> RelayClient {
        network.server.refuseDials(with: Self.refusal)
        var configuration = network.configuration()
        configuration.servers = .fixed([ServerAddress(host: "192.0.2.1")])
        configuration.followsNetwork = true
        let client = network.client(configuration)
        await client.beginConnecting()
        await client.setNetworkAvailable(false)
        return client
    }

    @Test("B19 a client that takes a way to servers of this machine needs no network from then on")
    func otherWayWithoutNetwork() async throws {
        let client = await clientWithoutNetwork()
        try await eventually("the wait for a network") { client.status.reason == .networkUnavailable }
        network.server.refuseDials(with: nil)
        let discovered = RelayConfiguration.Servers.discovered { () throws(RelayError) in
            [ServerAddress(host: "127.0.0.1")]
        }
        await client.take(RelayRoute(servers: discovered))
        try await client.state(is: .connected)
        await client.close()
    }

    @Test("What the background does can be changed while connected, and in the background")
    func lifecyclePolicy() async throws {
        let client = try await network.connected(network.configuration(lifecycle: .ignore))
        await client.setAppStateActive(false)
        #expect(network.time.untilNext == nil)
        await client.setLifecyclePolicy(.suspend(after: .seconds(30)))
        try await eventually("the wait") { network.time.waits == [.seconds(30)] }
        await client.setLifecyclePolicy(.ignore)
        try await eventually("no wait") { network.time.untilNext == nil }
        await client.setLifecyclePolicy(.immediate)
        try await eventually("the grace") { network.time.waits == [.seconds(1)] }
        network.time.advance(by: .seconds(1))
        try await client.state(is: .suspended)
        await client.setAppStateActive(true)
        try await client.state(is: .connected)
    }

    @Test("B10 calls before connect fail at once and never hang")
    func beforeConnect() async throws {
        let client = network.client()
        await #expect(throws: RelayError.notConnected) { try await client.publish(topic: "a", message: 1) }
        await #expect(throws: RelayError.notConnected) { try await client.listMessages() }
        await #expect(throws: RelayError.notConnected) { try await client.ping() }
        await #expect(throws: RelayError.notConnected) {
            try await client.history(topic: "a", before: nil, limit: 1)
        }
    }

    @Test("B1 keys and tokens are presented without the blanks that pasting brings")
    func pasted() throws {
        let pair = NKeyPair.generate(.user)
        let claims = UserClaims(subject: pair.publicKey, name: "alice", grant: UserGrant())
        let jwt = try claims.encode(signedBy: .generate(.account))
        let seed = pair.withSeedText { $0 }
        for (before, after) in [(" ", "\n"), ("\t", "\r\n"), ("\u{FEFF}", "\u{A0}")] {
            let token = try RelayCredentials.accessToken(before + jwt + after)
            let key = try RelayCredentials.apiKey(before + jwt + after, secret: before + seed + after)
            #expect(token.token == jwt && key.token == jwt && token.user == "alice" && key.user == "alice")
            guard case .bearer(jwt) = token.authentication, case .jwt(jwt, _) = key.authentication else {
                Issue.record("other texts are presented")
                return
            }
        }
    }

    @Test("A server that is only named by another one does not get the password of a URL")
    func advertisedServers() async throws {
        network.server.info.connectURLs = ["stranger:4222", "memory:4333", "listed:4333"]
        let claims = UserClaims(subject: NKeyPair.generate(.user).publicKey, name: "alice", grant: UserGrant())
        let token = try RelayCredentials.accessToken(try claims.encode(signedBy: .generate(.account)))
        for hasCredentials in [false, true] {
            var configuration = network.configuration(credentials: hasCredentials ? token : .none)
            configuration.servers = .fixed([
                try ServerAddress(parsing: "nats://alice:hunter2@memory:4222"),
                try ServerAddress(parsing: "nats://alice:hunter2@listed:4222"),
            ])
            let client = try await network.connected(configuration)
            let known = await client.knownServers
            #expect(
                known.filter { $0.authentication != nil }.map { "\($0.host):\($0.port)" }.sorted() == [
                    "listed:4222", "listed:4333", "memory:4222", "memory:4333",
                ])
            // Without another login it would be refused.
            #expect(known.filter { $0.authentication == nil }.map(\.host) == (hasCredentials ? ["stranger"] : []))
            await client.close()
        }
    }

    @Test("A client that takes another way keeps what waits and what it follows, and is on that way alone")
    func otherWay() async throws {
        let client = try await network.connected()
        let heard = try await client.gathered("chat.room")
        let before = client.configuration.route
        network.server.refuseDials(with: Self.refusal)
        await client.take(
            RelayRoute(servers: .fixed([ServerAddress(host: "proxy")]), followsCluster: false), seed: 7)
        #expect(client.status.state == .reconnecting)
        _ = try await client.enqueue(topic: "chat.room", message: .string("on its way"))
        #expect(client.queuedCount == 1)
        network.server.refuseDials(with: nil)
        try await network.letTimePass("the other way") { client.status.state == .connected }
        try await heard.wait(forText: "on its way")
        #expect(await client.knownServers.map(\.host) == ["proxy"] && client.configuration.seed == 7)
        await client.take(before)
        try await network.letTimePass("the way back") {
            client.status.state == .connected && client.status.recoveries == 2
        }
        #expect(await client.knownServers.map(\.host) == ["memory"] && network.stored() == ["on its way"])
        await client.close()
    }

    @Test("A client that takes another way in no session, or at rest, goes it with the next one")
    func otherWayLater() async throws {
        let client = network.client(network.configuration(lifecycle: .immediate))
        await client.take(RelayRoute(servers: .fixed([ServerAddress(host: "proxy")])))
        #expect(client.status.state == .initialized && network.server.dials == 0)
        try await client.connect()
        try await network.takeConnection(of: client)
        await client.take(RelayRoute(servers: .fixed([ServerAddress(host: "third")])))
        #expect(client.status.state == .suspended)
        await client.setReachable(true)
        try await client.state(is: .connected)
        #expect(await client.knownServers.map(\.host) == ["third"])
        await client.close()
    }

    @Test("Equal seeds give equal waits")
    func seeds() async throws {
        func waits(_ seed: UInt64) async throws -> [Duration] {
            let network = try MemoryNetwork()
            network.server.refuseDials(with: Self.refusal)
            var configuration = network.configuration(reconnect: .parley)
            configuration.seed = seed
            let client = network.client(configuration)
            await client.beginConnecting()
            var waits: [Duration] = []
            for dial in 1...5 {
                try await eventually("dial \(dial)") {
                    network.server.dials == dial && client.status.nextRetryAt != nil
                }
                guard let moment = client.status.nextRetryAt else { break }
                waits.append(moment - network.time.now)
                network.time.advance(by: moment - network.time.now)
            }
            await client.close()
            return waits
        }
        let first = try await waits(4_711)
        #expect(try await first == waits(4_711) && first.count == 5)
        #expect(try await first != waits(4_712))
    }

    @Test("B19 the network is judged by the servers of the present session")
    func otherServers() async throws {
        let client = await clientWithoutNetwork()
        await client.disconnect()
        network.server.refuseDials(with: nil)
        let here = ServerAddress(host: "127.0.0.1")
        client.settings.withLockedValue { $0.configuration.servers = .fixed([here]) }
        try await client.connect()
        await client.close()
    }

    @Test("B7 B13 many callers of connect share one connection and hear CONNECTED once")
    func singleFlight() async throws {
        let client = network.client()
        let events = Gathered(client.events)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<20 { group.addTask { try await client.connect() } }
            try await group.waitForAll()
        }
        #expect(client.status.state == .connected)
        try await client.connect()
        #expect(network.server.dials == 1)
        await client.close()
        try await events.wait(for: "the end") { $0.contains(.disconnected) }
        #expect(events.all == [.connected, .disconnected])
    }

    @Test("B16 disconnect while waiting for the next attempt is final")
    func disconnectInBackoff() async throws {
        let slow = ReconnectPolicy(schedule: [.seconds(60)])
        let client = try await network.connected(network.configuration(reconnect: slow))
        let events = Gathered(client.events)
        network.server.disconnectAll()
        try await eventually("the wait for the next attempt") { client.status.nextRetryAt != nil }
        #expect(client.status.state == .reconnecting)
        await client.disconnect()
        #expect(client.status.state == .disconnected)
        #expect(client.status.reason == .closedByUser)
        try await events.wait(for: "the end") { $0.contains(.disconnected) }
        #expect(events.all == [.reconnecting, .disconnected])
        #expect(network.time.untilNext == nil && network.server.dials == 1)
    }

    @Test("B21 B24 the background suspends after its grace, the foreground brings everything back once")
    func lifecycle() async throws {
        let client = try await network.connected(network.configuration(lifecycle: .immediate))
        let heard = Heard(try await client.messages(topic: "chat.room"))
        try await heard.wait(for: "live")
        await client.flicker(100)
        #expect(client.status.state == .connected && network.time.untilNext == nil)
        await client.setAppStateActive(false)
        try await eventually("the grace") { network.time.waits == [.seconds(1)] }
        #expect(client.status.state == .connected)
        network.time.advance(by: .seconds(1))
        try await client.state(is: .suspended)
        try network.store("while away")
        await client.setAppStateActive(true)
        try await client.state(is: .connected)
        try await eventually("what was said meanwhile") { heard.all.contains { $0.hasSuffix("while away") } }
        #expect(heard.all.count { $0.hasSuffix("while away") } == 1 && network.server.dials == 2)
        // A person's own disconnect outlasts a trip to the background.
        await client.setAppStateActive(false)
        await client.disconnect()
        await client.setAppStateActive(true)
        #expect(client.status.state == .disconnected && network.time.untilNext == nil)
    }

    @Test("B61 a server that answers nothing is told of while the client is connected, and so is its return")
    func silent() async throws {
        let client = try await network.connected()
        var states: [ConnectionStatus.State] = []
        var statuses = client.statuses.makeAsyncIterator()
        network.server.setSilent(true)
        let pending = try await client.enqueue(topic: "chat.room", message: "hello")
        while let status = await statuses.next(), status.silentSince == nil { states.append(status.state) }
        let since = try #require(client.status.silentSince)
        #expect(since <= network.time.now && client.status.roundTripTime == nil)
        network.server.setSilent(false)
        while let status = await statuses.next(), status.silentSince != nil { states.append(status.state) }
        #expect(states.allSatisfy { $0 == .connected } && client.status.state == .connected)
        _ = try await pending.receipt(within: .seconds(600))
        try await eventually("another round trip") { client.status.roundTripTime != nil }
        await client.close()
    }

    @Test("B20 a server that freezes is noticed by the pings")
    func frozen() async throws {
        var configuration = network.configuration()
        configuration.pingInterval = .milliseconds(50)
        // The wire's own time, in which a busy machine has to answer while nothing is frozen.
        configuration.pongTimeout = .seconds(3)
        let client = try await network.connected(configuration)
        network.server.setSilent(true)
        try await client.state(is: .reconnecting)
        network.server.setSilent(false)
        try await network.attemptNow(client)
        try await client.state(is: .connected)
        await client.close()
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
        #expect(throws: RelayError.self) { try RelayCredentials.accessToken(" \t\n") }
        #expect(throws: RelayError.self) { try RelayCredentials.file("/nonexistent.creds") }
    }

    @Test("B8 connect gives up at its time limit and stops")
    func timeLimit() async throws {
        network.server.refuseDials(with: Self.refusal)
        // A client that still tried would try often.
        let often = ReconnectPolicy(schedule: [.milliseconds(10)])
        let client = network.client(network.configuration(reconnect: often))
        let connecting = Task { try await client.connect(timeLimit: 1) }
        for attempt in 1...3 {
            try await failed(attempt, client)
            network.time.advance(by: .milliseconds(10))
        }
        try await failed(4, client)
        network.time.advance(by: .milliseconds(970))
        let reason = ConnectionReason.timeLimit(.seconds(1), after: ConnectionReason(Self.refusal))
        await #expect(throws: RelayError.connection(reason)) { try await connecting.value }
        #expect(client.status.state == .disconnected)
        network.server.refuseDials(with: nil)
        // Nothing tries any more, though the server is back and others are on it.
        let other = try await network.connected()
        await other.close()
        #expect(network.time.untilNext == nil && network.server.dials == 5)
        #expect(client.status.state == .disconnected)
        try await client.connect(timeLimit: 60)
        await client.close()
    }

    @Test("B14 RelayX's window ends the session by the clock: RECONN_FAILED, then DISCONNECTED")
    func window() async throws {
        let client = try await network.connected(network.configuration(reconnect: .relayx, outbox: .relayx))
        let events = Gathered(client.events)
        let outcomes = Gathered(client.publishes)
        // A server that stands still stores nothing, so the line is still waiting when the window ends.
        network.server.setSilent(true)
        let id = try await client.enqueue(topic: "chat.room", message: "unsent").id
        network.server.refuseDials(with: Self.refusal)
        network.server.disconnectAll()
        try await eventually("the wait for the next attempt") { client.status.nextRetryAt != nil }
        network.time.advance(by: .seconds(119))
        try await failed(2, client)
        #expect(client.status.state == .reconnecting && client.queuedCount == 1)
        network.time.advance(by: .seconds(1))
        try await client.state(is: .disconnected)
        try await events.wait(for: "the end") { $0.contains(.disconnected) }
        #expect(events.all == [.reconnecting, .reconnectFailed, .disconnected])
        try await outcomes.wait(for: "the discarded line") {
            $0.contains(PublishNews(id: id, state: .discarded(.windowExpired), mayBeStored: true))
        }
    }

    /// Waits until so many attempts have been made in all, and the client waits for the next one.
    private func failed(_ attempts: Int, _ client: RelayClient) async throws {
        try await eventually("the wait behind attempt \(attempts)") {
            network.server.dials == attempts && client.status.nextRetryAt != nil
        }
    }

    @Test("A server in lame duck mode is left before it closes")
    func lameDuck() async throws {
        let client = try await network.connected()
        let statuses = Gathered(client.statuses)
        network.server.sendLameDuck()
        try await statuses.wait(for: "the leaving") { $0.contains { $0.state == .reconnecting } }
        let reason = statuses.all.first { $0.state == .reconnecting }?.reason
        #expect(reason == .connectionLost("the server is shutting down"))
        try await eventually("the client's going") { network.server.connections == 0 }
        await client.disconnect()
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
    fileprivate func connect(
        afterSleepOf duration: Duration, _ time: ManualTime
    ) throws(RelayError) -> Completion<ConnectOutcome> {
        time.advance(by: duration)
        return try startConnecting(within: nil)
    }
}

/// Whether something is still there.
private struct Weak<Object: AnyObject & Sendable>: Sendable {
    weak let object: Object?

    init(_ object: Object?) { self.object = object }
}
