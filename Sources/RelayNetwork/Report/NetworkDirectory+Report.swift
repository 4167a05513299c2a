import NATS
import Relay

extension NetworkDirectory {
    private static let patience = Duration.seconds(10)

    /// Asks how a network on a cluster is doing: its servers, streams and services, and who is connected. What does not
    /// answer in time is said in the report.
    /// - Throws: `NetworkError.connection` where no server can be reached, `.notRunning` where there is none, `.file`,
    ///   `.damaged`, `.credentials` or `.cancelled`.
    package func report() async throws(NetworkError) -> NetworkReport {
        let identity = try NetworkIdentity.open(in: self)
        let cluster = try cluster()
        let settings = try settings()
        let places = try await places()
        guard !places.isEmpty else { throw .notRunning }
        // Each by itself: one that others know of may be out of reach.
        let found = await inParallel(places) { place in
            do throws(NetworkError) {
                let connection = try await HostRole.keeping.connect(to: place, identity.issuer)
                defer { connection.closeNow() }
                let info = connection.info
                return Result<NetworkReport.Server, NetworkError>.success(
                    .init(name: info.serverName ?? "\(place)", version: info.version, answers: true))
            } catch {
                return .failure(error)
            }
        }
        let open = zip(places, found).filter { (try? $0.1.get()) != nil }.map(\.0)
        guard !open.isEmpty else {
            if Task.isCancelled { throw .cancelled }
            for case .failure(let error) in found { throw error }
            throw .notRunning
        }
        let plan = NetworkPlan(names: identity.names, settings: settings, placement: cluster?.placement)
        async let people = Self.attempt("The servers do not say who is connected") {
            // Those who hand over tokens themselves have given nobody here a user who may ask.
            identity.administrator == nil ? nil : try await Self.connected(open, identity)
        }
        // Of many streams there are many pages, of which the last one may take as long as one alone.
        async let standings = Self.attempt("The streams are not told", within: Self.patience * 3) {
            try await HostRole.keeping.withJetStream(at: open, identity.issuer, timeout: Self.patience) {
                try await $0.standings(until: .now + Self.patience)
            }
        }
        async let services = Self.attempt("Whether services answer is not known") {
            try await NetworkReport.Service.ask(open, identity, within: .seconds(1))
        }
        var report = NetworkReport(network: identity.names.namespace)
        let (known, streams) = (await people, await standings)
        report.take(zip(places, found).map { ("\($0)", $1) }, told: known.value??.servers)
        if let streams = streams.value { report.take(streams, planned: plan.streams.map(\.name)) }
        report.services = await services.value
        (report.users, report.clients) = (known.value??.users, known.value??.clients)
        report.troubles += await [streams.trouble, known.trouble, services.trouble].compactMap(\.self)
        if report.services?.isEmpty == true {
            report.troubles.append("No services answer: nobody can make a postbox or use an invitation until they do.")
        }
        if Task.isCancelled { throw .cancelled }
        return report
    }

    private static func attempt<Value: Sendable>(
        _ words: String, within patience: Duration = patience, _ body: @escaping @Sendable () async throws -> Value
    ) async -> (value: Value?, trouble: String?) {
        do throws(NetworkError) {
            let value: Value? = try await untilOneEnds(
                { try await body() },
                {
                    try await Task.sleep(for: patience)
                    return nil
                })
            guard let value else { return (nil, "\(words): no answer came in time.") }
            return (value, nil)
        } catch {
            return (nil, "\(words): \(error)")
        }
    }

    private static func connected(
        _ places: [ServerAddress], _ identity: NetworkIdentity
    ) async throws(NetworkError) -> (servers: [NetworkReport.Server], users: Int, clients: Int) {
        try await places.firstToTake { place in
            let system = try await SystemInterface(at: place, identity: identity)
            defer { system.close() }
            let servers = try await system.servers()
            let connections = try await system.connections(at: servers)
            return (
                servers.map { .init(name: $0.name, version: $0.version, connections: $0.connections, answers: true) },
                Set(connections.map(\.account)).count, connections.count
            )
        }
    }
}

extension NetworkReport.Service {
    private static let limit = 1_024

    /// Asks all processes of a network's services, for as long as that: nobody says how many there will be.
    static func ask(
        _ addresses: [ServerAddress], _ identity: NetworkIdentity, within limit: Duration
    ) async throws(NetworkError) -> [NetworkReport.Service] {
        let connection = try await HostRole.observing.connect(toOneOf: addresses, identity.issuer)
        defer { connection.closeNow() }
        var found: [NetworkReport.Service] = []
        try await connection.askAll("$SRV.STATS.\(ServiceDiscovery.name)", within: limit) { bytes in
            if let service = NetworkReport.Service(bytes) { found.append(service) }
            return found.count >= Self.limit
        }
        return found.sorted { $0.id < $1.id }
    }

    init?(_ answer: [UInt8]) {
        guard let said = Wire.value(ServiceAnswer.self, from: answer) else { return nil }
        let endpoints = said.endpoints ?? []
        self.init(
            id: said.id, started: said.started ?? "", requests: endpoints.reduce(0) { $0 &+ ($1.requests ?? 0) },
            errors: endpoints.reduce(0) { $0 &+ ($1.errors ?? 0) })
    }
}

struct StreamStandings: Hashable, Sendable {
    var streams: [NetworkReport.Stream] = []
    var postboxes = NetworkReport.Postboxes()
    /// Those of which nobody told but that they are there.
    var missing: [String] = []
    var isClosed = false
    /// How many more there are, of which nobody told in time.
    var untold = 0

    fileprivate mutating func take(_ page: StreamPage, from server: String) {
        for entry in page.streams ?? [] {
            let stream = entry.stream(of: server)
            if isLetters(stream.name) { postboxes.add(stream) } else { streams.append(stream) }
        }
        for name in page.missing ?? [] {
            if isLetters(name) { postboxes.add(NetworkReport.Stream(name: name)) } else { missing.append(name) }
        }
    }

    private func isLetters(_ stream: String) -> Bool { stream.hasPrefix(NetworkNames.postboxStreamPrefix) }
}

extension JetStream {
    /// What the servers say of all streams: who leads them, who has copies, and what they hold. Servers ask each
    /// stream's leader and wait some seconds for those who do not answer.
    func standings(until end: ContinuousClock.Instant) async throws(NATSError) -> StreamStandings {
        var found = StreamStandings()
        found.isClosed = try await accountInfo().limits?.storage == NetworkAccount.closedStorage
        var offset = 0
        repeat {
            let page: StreamPage
            do throws(NATSError) { page = try await call("STREAM.LIST", ["offset": offset]) } catch {
                // What is known is worth telling.
                guard found.untold > 0, case .timeout = error else { throw error }
                return found
            }
            found.take(page, from: connection.info.serverName ?? "")
            let count = (page.streams?.count ?? 0) + (page.missing?.count ?? 0)
            offset += count
            found.untold = count > 0 ? max(offset, page.total ?? 0) - offset : 0
        } while found.untold > 0 && ContinuousClock.now < end
        return found
    }
}

private struct StreamPage: Decodable {
    struct Entry: Decodable {
        struct Configuration: Decodable {
            var name: String
            var limit: Int64?

            private enum CodingKeys: String, CodingKey {
                case name
                case limit = "max_bytes"
            }
        }
        struct State: Decodable {
            var messages: ServerNumber
            var bytes: ServerNumber
        }
        struct Copy: Decodable {
            var name: String
            var current: Bool
            var offline: Bool?
            var lag: ServerNumber?
        }
        struct Group: Decodable {
            var leader: String?
            var replicas: [Copy]?
        }
        var config: Configuration
        var state: State
        var cluster: Group?

        /// - Parameter server: who told it; alone it leads all that it has, and does not say so.
        func stream(of server: String) -> NetworkReport.Stream {
            let leader = cluster.map { $0.leader.flatMap { $0.isEmpty ? nil : $0 } } ?? server
            let copies = (cluster?.replicas ?? []).map {
                NetworkReport.Copy(
                    server: $0.name, isCurrent: $0.current, isOffline: $0.offline ?? false, lag: $0.lag?.value ?? 0)
            }
            return NetworkReport.Stream(
                name: config.name, leader: leader, copies: copies.sorted { $0.server < $1.server },
                messages: state.messages.value, bytes: state.bytes.value,
                limit: config.limit.flatMap { $0 > 0 ? $0 : nil })
        }
    }

    var total: Int?
    var streams: [Entry]?
    var missing: [String]?
}
