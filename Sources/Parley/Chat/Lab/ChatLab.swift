import NIOConcurrencyHelpers
import Relay
import RelayFaults
import RelayLab

/// The lab of the chat: a proxy with faults between the chat's own client and its server, and the run that is made of
/// what is done and typed meanwhile. The client keeps its identity, its outbox and its subscriptions.
actor ChatLab {
    private let core: FeedCore
    private let client: RelayClient
    private let topics: TopicsFeed
    private let tap: LabTap
    /// The way without the lab.
    private let route: RelayRoute
    private let proxy: FaultProxy
    private let session: LabSession
    /// Why some acts cannot be done here.
    nonisolated let hindrances: [LabAct.Name: LabHindrance]
    /// Wakes whoever tells the screen how it goes; nil while nobody does.
    private nonisolated let news: NIOLockedValueBox<AsyncStream<Void>.Continuation?>
    private var telling: Task<Void, Never>?
    private var ticking: Task<Void, Never>?
    private var ping: Task<Void, Never>?
    private var hastening: Task<Void, Never>?
    private let witness: LabWitness
    /// Finds from which place on each followed topic counts.
    private var witnessing: Task<[String: UInt64], Never>?
    private let sessions: SessionPolicy
    private let returning: ReturningServer?

    private static let title = "rehearsed in the chat"
    /// How often a screen hears of the run at least, and at most.
    private static let tick = Duration.seconds(1)
    private static let pause = Duration.milliseconds(100)
    /// How long the connection may take to come back through the proxy before the run begins without it.
    private static let patience = Duration.seconds(10)
    /// How long is waited for what is on its way at the end.
    private static let endPatience = Duration.seconds(15)

    /// Puts the chat's client behind the proxy, and begins.
    ///
    /// - Throws: `RelayError`, where it is not known where the server is; `FaultError`, where no port can be had.
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
        // What others store on these topics counts from now on.
        let followed = await topics.followedTopics
        witnessing = Task { [witness] in await witness.ends(of: followed) }
    }

    // MARK: The way through the proxy

    /// The server that the client goes to now, or would go to next; with a proxy on the way, that proxy.
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
        // What a server tells of others leads around the proxy.
        new.followsCluster = false
        let address = proxy.address
        switch route.servers {
        case .fixed: new.servers = .fixed([address])
        case .discovered(let discover):
            // Asking starts a network that is started on demand, perhaps at another port than before.
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

    /// Whoever restores by a key waits for it: the next attempt comes at once, as with any key, but behind the one that
    /// the key itself has begun, which may have been too early.
    private func hasten() {
        hastening?.cancel()
        hastening = Task { [client] in
            for await status in client.statuses {
                guard status.state == .reconnecting || status.state == .connecting else { return }
                if status.nextRetryAt != nil { return await client.nudge() }
            }
        }
    }

    /// What was done, as a scenario's file.
    func scenario() async -> String? {
        let heading = await session.run.heading
        var settings = LabClientSettings()
        if let policy = heading?.policy { settings.reconnect = policy }
        if case .exclusive(let kick) = sessions { settings.session = kick.rawValue }
        guard let recording = await session.recording, !recording.isEmpty else { return nil }
        // As the rehearsal of the background is here.
        if recording.has(.background) { settings.suspendAfter = .zero }
        return recording.scenario(title: Self.title, seed: heading?.seed, client: settings).text
    }

    // MARK: Telling

    /// Tells the screen how it goes, or does no more. While it does, the round trip is measured each time, for the
    /// curve.
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

    /// Ends the run and has the client go to the server itself again, as soon as what is on its way has come.
    ///
    /// - Returns: what the run came to.
    func end() async -> LabReport {
        let topics = Set(await topics.followedTopics)
        let wasShutOut = client.status.state == .disconnected && client.status.reason != .closedByUser
        let run = await session.end(patience: Self.endPatience, waits: false) { [self] in await settle(topics) }
        stopTelling()
        // What is left to chance is nothing that was shown or saved any more.
        await client.take(route, seed: .random(in: .min ... .max))
        returning?.session.withLockedValue { $0 = nil }
        // Whom the rehearsal has shut out is let in again; who went offline stays so.
        if wasShutOut { await client.beginConnecting() }
        await proxy.close()
        core.queue.labTap.withLockedValue { $0 = nil }
        return LabReport(run)
    }

    /// Waits until every message that others stored has arrived. Those that have not when the time is up are missing.
    private func settle(_ topics: Set<String>) async {
        guard let places = await witnessing?.value.filter({ topics.contains($0.key) }), !places.isEmpty else { return }
        let stored = await witness.messages(since: places).filter { tap.counts($0) }
        let limit = ContinuousClock.now + Self.endPatience
        var missing = stored
        while !missing.isEmpty {
            let ledger = await session.run.ledger
            missing = stored.filter { !ledger.hasArrived(topic: $0.topic, sequence: $0.sequence) }
            // A session that is over delivers nothing more; the next one recovers the rest.
            guard client.status.state != .disconnected, ContinuousClock.now < limit else { break }
            guard (try? await Task.sleep(for: .milliseconds(20))) != nil else { break }
        }
        guard client.status.state == .connected else { return }
        for (topic, lost) in Dictionary(grouping: missing, by: \.topic) {
            await session.add(.missed(topic: topic, count: lost.count))
        }
    }

    /// The chat ends: every fault is taken away. What the client still has leaves through the proxy, which ends with
    /// the process.
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
    /// The same for another client, whose link has no faults, and which keeps nothing.
    func besideLab(_ route: RelayRoute) -> RelayConfiguration {
        var other = self
        other.route = route
        other.store = .nowhere
        other.handleAppLifecycle = false
        other.clientID = RelayConfiguration(servers: .fixed([])).clientID
        return other
    }
}

/// The chat's client as a client under test. What is sent and read is the chat's, which tells the run of it.
private struct ChatSubject: LabSubject {
    private let client: RelayClient
    private let route: RelayRoute
    /// What the person wants in the background, also where that was said during the rehearsal.
    private let policy: NIOLockedValueBox<LifecyclePolicy>
    private let devices = NIOLockedValueBox<[RelayClient]>([])

    init(_ client: RelayClient, _ route: RelayRoute, _ policy: NIOLockedValueBox<LifecyclePolicy>) {
        (self.client, self.route, self.policy) = (client, route, policy)
    }

    var statuses: AsyncStream<ConnectionStatus> { client.statuses }
    var queuedCount: Int { client.queuedCount }
    func connect() async { await client.reconnect() }

    /// The chat goes on; other devices end.
    func close() async {
        for other in devices.withLockedValue({ exchange(&$0, with: []) }) { await other.close() }
    }

    /// The chat may keep its connection in the background for long, or for good; a rehearsal of that is about what
    /// follows.
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
        throw RelayError.invalidArgument("The chat's lines are sent by its person")
    }
}

/// A network's server side which has the chat come back when nothing keeps it out any more: a ban that is over is not
/// over for a client whose session it has ended.
private struct ReturningServer: LabServerSide {
    private let server: any LabServerSide
    private let client: RelayClient
    /// Who keeps what was done; set for as long as the lab lasts.
    let session = NIOLockedValueBox<LabSession?>(nil)

    init(_ server: any LabServerSide, _ client: RelayClient) { (self.server, self.client) = (server, client) }

    func perform(_ act: LabAct) async throws {
        try await server.perform(act)
        switch act.name {
        case .unban, .readmit, .extend, .unblock:
            // Who went offline stays so.
            guard client.status.state == .disconnected, client.status.reason != .closedByUser else { return }
            await session.withLockedValue { $0 }?.reconnected()
            await client.beginConnecting()
        default: break
        }
    }
}
