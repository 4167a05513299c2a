import NATS

extension NetworkDirectory {
    /// How long each of the questions may take.
    private static let patience = Duration.seconds(10)

    /// Asks how a network on a cluster is doing: its servers, streams and services, and who is connected. What does not
    /// answer in time is said in the report.
    /// - Throws: `NetworkError.connection` where no server can be reached, `.notRunning` where there is none, `.file`,
    ///   `.damaged`, `.credentials` or `.cancelled`.
    public func report() async throws(NetworkError) -> NetworkReport {
        let identity = try NetworkIdentity.open(in: self)
        let cluster = try cluster()
        let settings = try settings()
        let places = try await places()
        guard !places.isEmpty else { throw .notRunning }
        let found = await Self.reach(places, identity)
        let open = found.filter { (try? $0.answer.get()) != nil }.map(\.place)
        guard !open.isEmpty else {
            if Task.isCancelled { throw .cancelled }
            for case .failure(let error) in found.map(\.answer) { throw error }
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
            try await ServiceObservation.ask(open, identity, within: .seconds(1))
        }
        var report = NetworkReport(network: identity.names.namespace)
        let (known, streams) = (await people, await standings)
        report.take(found.map { ("\($0.place)", $0.answer) }, told: known.value??.servers)
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

    /// What comes of a question in time, or why nothing does.
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

    /// Connects to every server by itself: one that others know of may be out of reach.
    private static func reach(
        _ places: [ServerAddress], _ identity: NetworkIdentity
    ) async -> [(place: ServerAddress, answer: Result<NetworkReport.Server, NetworkError>)] {
        await withTaskGroup(of: (Int, Result<NetworkReport.Server, NetworkError>).self) { group in
            for (index, place) in places.enumerated() {
                group.addTask {
                    do throws(NetworkError) {
                        let connection = try await HostRole.keeping.connect(
                            to: place, identity.issuer, timeout: .seconds(5))
                        defer { connection.closeNow() }
                        let (name, version) = (connection.info.serverName, connection.info.version)
                        return (
                            index,
                            .success(.init(name: name ?? "\(place)", version: version, connections: nil, answers: true))
                        )
                    } catch {
                        return (index, .failure(error))
                    }
                }
            }
            let found = await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
            return places.enumerated().map { ($1, found[$0] ?? .failure(.cancelled)) }
        }
    }

    /// Who is there, of servers and users.
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
