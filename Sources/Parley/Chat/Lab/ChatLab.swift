import NIOConcurrencyHelpers
import Relay
import RelayFaults
import RelayLab

/// The chat's lab: a fault proxy between the chat's own client and its server, and the run that records what is done
/// and typed meanwhile. The client keeps its identity, outbox and subscriptions.
actor ChatLab {
    private let core: FeedCore
    private let client: RelayClient
    private let topics: TopicsFeed
    private let tap: LabTap
    /// The route without the lab.
    private let route: RelayRoute
    private let proxy: FaultProxy
    private let session: LabSession
    /// The acts that are unavailable here, and why.
    nonisolated let hindrances: [LabAct.Name: LabHindrance]
    /// Wakes the task that reports to the screen; nil while there is none.
    private nonisolated let news: NIOLockedValueBox<AsyncStream<Void>.Continuation?>
    private var telling: Task<Void, Never>?
    private var ticking: Task<Void, Never>?
    private var ping: Task<Void, Never>?
    private var hastening: Task<Void, Never>?
    private let witness: LabWitness
    /// Finds the place from which each followed topic counts.
    private var witnessing: Task<[String: UInt64], Never>?
    private let sessions: SessionPolicy
    private let returning: ReturningServer?

    private static let title = "rehearsed in the chat"
    /// The longest time between two reports to the screen, and the shortest.
    private static let tick = Duration.seconds(1)
    private static let pause = Duration.milliseconds(100)
    /// How long to wait for the connection through the proxy before the run begins without it.
    private static let patience = Duration.seconds(10)
    /// How long to wait at the end for messages in flight.
    private static let endPatience = Duration.seconds(15)

    /// Routes the chat's client through the proxy, and begins.
    ///
    /// - Throws: `RelayError` if the server's address is unknown; `FaultError` if no port is free.
    init(_ core: FeedCore, _ topics: TopicsFeed, policy: NIOLockedValueBox<LifecyclePolicy>) async throws {
        let (client, connector) = (core.client, core.connector)
        (self.core, self.client, self.topics) = (core, client, topics)
        route = client.configuration.route
        let target = try await Self.target(of: client, route)
        let seed = UInt64.random(in: 1...999_999)
        let site = connector.labSite
        proxy = try await FaultProxy.start(target: target, others: site.others(than: target), seed: seed)
        await client.take(Self.route(through: proxy, instead: route), seed: seed)
        await Self.waitForConnection(client)
        let version = await client.serverVersion.map { ", nats-server \($0)" } ?? ""
        sessions = connector.configuration.sessions
        hindrances = site.hindrances(isShared: sessions == .shared)
        witness = LabWitness(connector.configuration, route)
        returning = site.server(of: client, user: connector.user).map { ReturningServer($0, client) }
        let news = NIOLockedValueBox<AsyncStream<Void>.Continuation?>(nil)
        self.news = news
        session = LabSession(
            subject: ChatSubject(client, route, policy), link: ProxyLink(proxy), server: returning, writer: "you",
            heading: LabHeading(
                title: Self.title, seed: seed, policy: connector.reconnectName, server: "\(target)\(version)",
                time: WallClock.now.iso8601)
        ) { _ in news.withLockedValue { _ = $0?.yield() } }
        tap = LabTap(session)
        returning?.session.withLockedValue { [session] in $0 = session }
        await session.begin(connects: false)
        await session.record()
        core.queue.labTap.withLockedValue { [tap] in $0 = tap }
        // Messages that others store on these topics count from now on.
        let followed = await topics.followedTopics
        witnessing = Task { [witness] in await witness.ends(of: followed) }
    }

    // MARK: The route through the proxy

    /// The server that the client is connected to or would try next; with a configured proxy, that proxy.
    private static func target(of client: RelayClient, _ route: RelayRoute) async throws(RelayError) -> ServerAddress {
        if let proxy = route.proxy { return ServerAddress(host: proxy.host, port: proxy.port) }
        if let known = await client.knownServers.first { return known }
        let servers: [ServerAddress]
        switch route.servers {
        case .fixed(let fixed): servers = fixed
        case .discovered(let discover): servers = try await discover()
        }
        guard let first = servers.first else { throw .connection(.unreachable("no server is known")) }
        return first
    }

    private static func route(through proxy: FaultProxy, instead route: RelayRoute) -> RelayRoute {
        var new = route
        if var way = route.proxy {
            (way.host, way.port) = (proxy.address.host, proxy.address.port)
            new.proxy = way
            return new
        }
        // The cluster's other addresses would bypass the proxy.
        new.followsCluster = false
        let address = proxy.address
        switch route.servers {
        case .fixed: new.servers = .fixed([address])
        case .discovered(let discover):
            // Discovery may start the network on demand, perhaps on another port than before.
            new.servers = .discovered { () async throws(RelayError) in
                let found = try await discover()
                if let first = found.first { await proxy.forward(to: first, others: Array(found.dropFirst())) }
                return [address]
            }
        }
        return new
    }

    private static func waitForConnection(_ client: RelayClient) async {
        _ = await within(patience) { [statuses = client.statuses] in
            for await status in statuses where status.state == .connected || status.state == .disconnected { return }
        }
    }

    // MARK: Acting

    func perform(_ deed: LabDeed) async throws {
        try await session.perform(deed.act, lasting: deed.lasting)
        guard deed.act.name == .restore else { return }
        for opposite in await session.opposites { try await session.perform(LabAct(opposite)) }
        hasten()
    }

    /// Retries at once after a restore, since the user is waiting. Any key starts an attempt, but the one that this key
    /// started may have been too early.
    private func hasten() {
        hastening?.cancel()
        hastening = Task { [client] in
            for await status in client.statuses {
                guard status.state == .reconnecting || status.state == .connecting else { return }
                if status.nextRetryAt != nil { return await client.nudge() }
            }
        }
    }

    /// The recorded acts as a scenario file; nil if there are none.
    func scenario() async -> String? {
        let heading = await session.run.heading
        var settings = LabClientSettings()
        if let policy = heading?.policy { settings.reconnect = policy }
        if case .exclusive(let kick) = sessions { settings.session = kick.rawValue }
        guard let recording = await session.recording, !recording.isEmpty else { return nil }
        // As going to the background does here.
        if recording.has(.background) { settings.suspendAfter = .zero }
        return recording.scenario(title: Self.title, seed: heading?.seed, client: settings).text
    }

    // MARK: Reporting

    /// Starts or stops reporting to the screen. With each tick the round trip is measured, for the curve.
    func watch(_ isWatched: Bool) {
        telling?.cancel()
        ticking?.cancel()
        (telling, ticking) = (nil, nil)
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        news.withLockedValue { $0 = isWatched ? continuation : nil }
        guard isWatched else { return }
        telling = Task {
            for await _ in stream {
                await session.countQueued()
                await core.send(.lab(.glance(await session.report)))
                guard (try? await Task.sleep(for: Self.pause)) != nil else { return }
            }
        }
        ticking = Task {
            repeat {
                continuation.yield()
                measure()
            } while (try? await Task.sleep(for: Self.tick)) != nil
        }
    }

    private func measure() {
        guard ping == nil, client.status.state == .connected else { return }
        ping = Task {
            _ = try? await client.ping()
            ping = nil
        }
    }

    // MARK: The end

    /// Ends the run once messages in flight have arrived, and routes the client directly to the server again.
    func end() async -> LabReport {
        let topics = Set(await topics.followedTopics)
        let wasShutOut = client.status.state == .disconnected && client.status.reason != .closedByUser
        let run = await session.end(patience: Self.endPatience, waits: false) { [self] in await settle(topics) }
        stopTelling()
        // The run's seed no longer applies.
        await client.take(route, seed: .random(in: .min ... .max))
        returning?.session.withLockedValue { $0 = nil }
        // A client that the rehearsal shut out reconnects; one that went offline stays offline.
        if wasShutOut { await client.beginConnecting() }
        await proxy.close()
        core.queue.labTap.withLockedValue { $0 = nil }
        return LabReport(run)
    }

    /// Waits until every message that others stored has arrived. Those still outstanding at the time limit are missing.
    private func settle(_ topics: Set<String>) async {
        guard let places = await witnessing?.value.filter({ topics.contains($0.key) }), !places.isEmpty else { return }
        let stored = await witness.messages(since: places).filter { tap.counts($0) }
        let limit = ContinuousClock.now + Self.endPatience
        var missing = stored
        while !missing.isEmpty {
            let ledger = await session.run.ledger
            missing = stored.filter { !ledger.hasArrived(topic: $0.topic, sequence: $0.sequence) }
            // A session that has ended delivers nothing more; the next one recovers the rest.
            guard client.status.state != .disconnected, ContinuousClock.now < limit else { break }
            guard (try? await Task.sleep(for: .milliseconds(20))) != nil else { break }
        }
        guard client.status.state == .connected else { return }
        for (topic, lost) in Dictionary(grouping: missing, by: \.topic) {
            await session.add(.missed(topic: topic, count: lost.count))
        }
    }

    /// Removes every fault as the chat ends. The client sends what it still has through the proxy, which ends with the
    /// process.
    func leave() async {
        core.queue.labTap.withLockedValue { $0 = nil }
        stopTelling()
        _ = await session.end(patience: .zero, waits: false)
        returning?.session.withLockedValue { $0 = nil }
    }

    private func stopTelling() {
        watch(false)
        ping?.cancel()
        hastening?.cancel()
    }
}

extension RelayConfiguration {
    /// A configuration for another client, without faults and without a store.
    func besideLab(_ route: RelayRoute) -> RelayConfiguration {
        var other = self
        other.route = route
        other.store = .nowhere
        other.handleAppLifecycle = false
        other.clientID = RelayConfiguration(servers: .fixed([])).clientID
        return other
    }
}

/// The chat's client as a client under test. The chat itself sends and reads, and reports that to the run.
private struct ChatSubject: LabSubject {
    private let client: RelayClient
    private let route: RelayRoute
    /// The user's background policy, including changes during the rehearsal.
    private let policy: NIOLockedValueBox<LifecyclePolicy>
    private let devices = NIOLockedValueBox<[RelayClient]>([])

    init(_ client: RelayClient, _ route: RelayRoute, _ policy: NIOLockedValueBox<LifecyclePolicy>) {
        (self.client, self.route, self.policy) = (client, route, policy)
    }

    var statuses: AsyncStream<ConnectionStatus> { client.statuses }
    var queuedCount: Int { client.queuedCount }
    func connect() async { await client.reconnect() }

    /// Closes the other devices; the chat goes on.
    func close() async {
        for other in devices.withLockedValue({ exchange(&$0, with: []) }) { await other.close() }
    }

    /// Suspends at once in the background, whatever the policy: the rehearsal is about what follows.
    func lifecycleChanged(_ event: LifecycleEvent) async {
        switch event {
        case .background:
            await client.setLifecyclePolicy(.immediate)
            await client.setAppStateActive(false)
        case .foreground:
            await client.setAppStateActive(true)
            await client.setLifecyclePolicy(policy.withLockedValue(\.self))
        default: await client.lifecycleChanged(event)
        }
    }

    func signIn(on device: String) async throws {
        var configuration = client.configuration.besideLab(route)
        configuration.device = device
        let other = RelayClient(configuration: configuration)
        devices.withLockedValue { $0.append(other) }
        try await other.connect(timeLimit: 10)
    }

    func read(topic: String) async throws -> LabReader? { nil }

    func send(_ number: LabNumber, topic: String) throws -> @Sendable () async -> LabOutcome {
        throw RelayError.invalidArgument("The chat's lines are sent by its user")
    }
}

/// A network's server side that also reconnects the chat once nothing keeps it out: a client whose session was ended by
/// a ban does not return on its own.
private struct ReturningServer: LabServerSide {
    private let server: any LabServerSide
    private let client: RelayClient
    /// The session that records the reconnect; set while the lab lasts.
    let session = NIOLockedValueBox<LabSession?>(nil)

    init(_ server: any LabServerSide, _ client: RelayClient) { (self.server, self.client) = (server, client) }

    func perform(_ act: LabAct) async throws {
        try await server.perform(act)
        switch act.name {
        case .unban, .readmit, .extend, .unblock:
            // A client that went offline stays offline.
            guard client.status.state == .disconnected, client.status.reason != .closedByUser else { return }
            await session.withLockedValue { $0 }?.reconnected()
            await client.beginConnecting()
        default: break
        }
    }
}
