import NATS
import Relay

extension NetworkDirectory {
    private static let patience = Duration.seconds(10)

    /// Queries a cluster's servers, streams, services and connections. The report names those that do not answer.
    /// - Throws: `NetworkError.connection` if no server can be reached, `.notRunning` if there is none.
    package func report() async throws(NetworkError) -> NetworkReport {
        let identity = try NetworkIdentity.open(in: self)
        let cluster = try cluster()
        let settings = try settings()
        let places = try await places()
        guard !places.isEmpty else { throw .notRunning }
        // Each separately: a server known to the others may be out of reach.
        let found = await inParallel(places) { place in
            do throws(NetworkError) {
                let connection = try await HostRole.keeping.connect(to: [place], identity.issuer)
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
            // Without a user of the system account no one can ask.
            identity.administrator == nil ? nil : try await Self.connected(open, identity)
        }
        // Many streams take many pages, and the last one alone may take the full time.
        async let standings = Self.attempt("The servers do not describe the streams", within: Self.patience * 3) {
            try await HostRole.keeping.withJetStream(at: open, identity.issuer, timeout: Self.patience) {
                try await $0.standings(until: .now + Self.patience)
            }
        }
        async let services = Self.attempt("It is unknown whether services answer") {
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
            report.troubles.append("No services answer: until they do, no one can make a postbox or use an invitation.")
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

    /// Queries all processes of a network's services for this long: their number is unknown.
    static func ask(
        _ addresses: [ServerAddress], _ identity: NetworkIdentity, within limit: Duration
    ) async throws(NetworkError) -> [NetworkReport.Service] {
        let connection = try await HostRole.observing.connect(to: addresses, identity.issuer)
        defer { connection.closeNow() }
        var found: [NetworkReport.Service] = []
        try await connection.askAll("$SRV.STATS.\(ServiceDiscovery.name)", within: limit) { bytes in
            if let service = NetworkReport.Service(bytes) { found.append(service) }
            return found.count >= Self.limit
        }
        return found.sorted { $0.id < $1.id }
    }

    init?(_ answer: [UInt8]) {
        guard let said = try? JSONText.parse(bytes: answer), let id = said["id"]?.stringValue else { return nil }
        self.init(id: id, started: said["started"]?.stringValue ?? "", requests: 0, errors: 0)
        for endpoint in said["endpoints"]?.arrayValue ?? [] {
            requests &+= endpoint.count("num_requests")
            errors &+= endpoint.count("num_errors")
        }
    }
}

extension NetworkReport.Stream {
    /// - Parameter server: who described it; a single server leads all its streams without saying so.
    fileprivate init?(_ entry: MessageValue, toldBy server: String) {
        guard let name = entry["config"]?["name"]?.stringValue else { return nil }
        let group = entry["cluster"]?.mapValue
        let leader = group.map { $0["leader"]?.stringValue ?? "" } ?? server
        let copies = (group?["replicas"]?.arrayValue ?? []).map { copy in
            NetworkReport.Copy(
                server: copy["name"]?.stringValue ?? "", isCurrent: copy["current"]?.boolValue ?? false,
                isOffline: copy["offline"]?.boolValue ?? false, lag: copy.count("lag"))
        }
        let limit = entry["config"]?["max_bytes"]?.intValue ?? 0
        self.init(
            name: name, leader: leader.isEmpty ? nil : leader, copies: copies.sorted { $0.server < $1.server },
            messages: entry["state"]?.count("messages") ?? 0, bytes: entry["state"]?.count("bytes") ?? 0,
            limit: limit > 0 ? limit : nil)
    }
}

extension MessageValue {
    /// A non-negative number; 0 if it is missing or invalid.
    fileprivate func count(_ key: String) -> UInt64 { UInt64(clamping: self[key]?.intValue ?? 0) }
}

struct StreamStandings: Hashable, Sendable {
    var streams: [NetworkReport.Stream] = []
    var postboxes = NetworkReport.Postboxes()
    var missing: [String] = []
    var isClosed = false
    /// The number of further streams that were not described in time.
    var untold = 0

    /// Returns how many streams a page covers.
    fileprivate mutating func take(_ page: MessageValue, from server: String) -> Int {
        let (told, named) = (page["streams"]?.arrayValue ?? [], page["missing"]?.arrayValue ?? [])
        for stream in told.compactMap({ NetworkReport.Stream($0, toldBy: server) }) {
            if isLetters(stream.name) { postboxes.add(stream) } else { streams.append(stream) }
        }
        for name in named.compactMap(\.stringValue) {
            if isLetters(name) { postboxes.add(NetworkReport.Stream(name: name)) } else { missing.append(name) }
        }
        return told.count + named.count
    }

    private func isLetters(_ stream: String) -> Bool { stream.hasPrefix(NetworkNames.postboxStreamPrefix) }
}

extension JetStream {
    /// The state of all streams. Servers ask each stream's leader, and wait some seconds for those that do not answer.
    func standings(until end: ContinuousClock.Instant) async throws(NATSError) -> StreamStandings {
        var found = StreamStandings()
        found.isClosed = try await accountInfo().limits?.storage == NetworkAccount.closedStorage
        var offset = 0
        repeat {
            let page: MessageValue
            do throws(NATSError) { page = try await ask("STREAM.LIST", ["offset": .int(Int64(offset))]) } catch {
                // A partial result is worth reporting.
                guard found.untold > 0, case .timeout = error else { throw error }
                return found
            }
            let count = found.take(page, from: connection.info.serverName ?? "")
            offset += count
            found.untold = count > 0 ? max(offset, Int(page["total"]?.intValue ?? 0)) - offset : 0
        } while found.untold > 0 && ContinuousClock.now < end
        return found
    }
}
