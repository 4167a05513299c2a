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
        let reached = await Self.reach(places, identity)
        let open = reached.filter { (try? $0.answer.get()) != nil }.map(\.place)
        guard !open.isEmpty else {
            if Task.isCancelled { throw .cancelled }
            throw reached.compactMap { place in
                if case .failure(let error) = place.answer { error } else { nil }
            }.first ?? .notRunning
        }
        let plan = NetworkPlan(names: identity.names, settings: settings, placement: cluster?.placement)
        // Those who hand over tokens themselves have given nobody here a user who may ask.
        let mayAsk = identity.administrator != nil
        async let told = Self.attempt("The servers do not say who is connected") { () throws(NetworkError) in
            mayAsk ? try await Self.connected(open, identity) : nil
        }
        // Of many streams there are many pages, of which the last one may take as long as one alone.
        async let standings = Self.attempt("The streams are not told", within: Self.patience * 3) {
            () throws(NetworkError) in
            try await Self.standings(open, identity)
        }
        async let services = Self.attempt("Whether services answer is not known") { () throws(NetworkError) in
            try await ServiceObservation.ask(open, identity, within: .seconds(1))
        }
        var report = NetworkReport(network: identity.names.namespace)
        let people = await told
        let known = people.value ?? nil
        report.take(reached.map { ("\($0.place)", $0.answer) }, told: known?.servers)
        switch await standings {
        case (let found?, _): report.take(found, planned: plan.streams.map(\.name))
        case (nil, let trouble): report.troubles += trouble
        }
        let answering = await services
        report.services = answering.value?.map {
            .init(id: $0.id, started: $0.started, requests: $0.requests, errors: $0.errors)
        }
        (report.users, report.clients) = (known?.users, known?.clients)
        report.troubles += people.troubles + answering.troubles
        if report.services?.isEmpty == true {
            report.troubles.append("No services answer: nobody can make a postbox or use an invitation until they do.")
        }
        if Task.isCancelled { throw .cancelled }
        return report
    }

    private static func attempt<Value: Sendable>(
        _ words: String, within patience: Duration = patience,
        _ body: @escaping @Sendable () async throws(NetworkError) -> Value
    ) async -> (value: Value?, troubles: [String]) {
        let outcome: Result<Value, NetworkError>? = await withTaskGroup(of: Result<Value, NetworkError>?.self) {
            group in
            group.addTask {
                do throws(NetworkError) { return .success(try await body()) } catch { return .failure(error) }
            }
            group.addTask {
                try? await Task.sleep(for: patience)
                return nil
            }
            let first = await group.next() ?? nil
            group.cancelAll()
            return first
        }
        switch outcome {
        case .success(let value): return (value, [])
        case .failure(let error): return (nil, ["\(words): \(error)"])
        case nil: return (nil, ["\(words): no answer came in time."])
        }
    }

    /// Connects to every server by itself: one that others know of may be out of reach.
    private static func reach(
        _ places: [ServerAddress], _ identity: NetworkIdentity
    ) async -> [(place: ServerAddress, answer: Result<NetworkReport.Server, NetworkError>)] {
        typealias Answer = Result<NetworkReport.Server, NetworkError>
        return await withTaskGroup(of: (Int, Answer).self) { group in
            for (index, place) in places.enumerated() {
                group.addTask {
                    do throws(NetworkError) {
                        let connection = try await HostRole.keeping.connect(
                            to: place, identity.issuer, timeout: .seconds(5))
                        defer { connection.closeNow() }
                        return (
                            index,
                            .success(
                                .init(
                                    name: connection.info.serverName ?? "\(place)", version: connection.info.version,
                                    connections: nil, answers: true))
                        )
                    } catch {
                        return (index, .failure(error))
                    }
                }
            }
            var found: [Int: Answer] = [:]
            for await (index, answer) in group { found[index] = answer }
            return places.enumerated().map { ($1, found[$0] ?? .failure(.cancelled)) }
        }
    }

    private static func standings(
        _ places: [ServerAddress], _ identity: NetworkIdentity
    ) async throws(NetworkError) -> StreamStandings {
        let connection = try await HostRole.keeping.connect(toOneOf: places, identity.issuer)
        defer { connection.closeNow() }
        do throws(NATSError) {
            return try await JetStream(connection, timeout: patience).standings(until: .now + patience)
        } catch {
            throw .connection(error)
        }
    }

    /// Who is there, of servers and users.
    private struct Connected: Sendable {
        var servers: [NetworkReport.Server]
        var users: Int
        var clients: Int
    }

    private static func connected(
        _ places: [ServerAddress], _ identity: NetworkIdentity
    ) async throws(NetworkError) -> Connected {
        var failure = NetworkError.notRunning
        for place in places {
            do throws(NetworkError) {
                let system = try await SystemInterface(at: place, identity: identity)
                defer { system.close() }
                let servers = try await system.servers()
                let connections = try await system.connections(at: servers)
                return Connected(
                    servers: servers.map {
                        .init(name: $0.name, version: $0.version, connections: $0.connections, answers: true)
                    },
                    users: Set(connections.map(\.account)).count, clients: connections.count)
            } catch {
                failure = error
            }
            if Task.isCancelled { throw .cancelled }
        }
        throw failure
    }
}
