import NATS

/// The processes of a network's services, as they tell an observer of themselves.
enum ServiceObservation {
    /// How many answers are taken in.
    static let limit = 1_024

    /// Asks all processes that there are.
    /// - Parameter limit: how long answers are waited for; nobody says how many there will be.
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
}

extension NetworkReport.Service {
    private struct Statistics: Decodable {
        struct Endpoint: Decodable {
            var requests: UInt64?
            var errors: UInt64?

            private enum CodingKeys: String, CodingKey {
                case requests = "num_requests"
                case errors = "num_errors"
            }
        }
        var id: String
        var started: String?
        var endpoints: [Endpoint]?
    }

    /// Reads an answer; nil for what is none.
    init?(_ answer: [UInt8]) {
        guard let said = Wire.value(Statistics.self, from: answer) else { return nil }
        func sum(_ part: (Statistics.Endpoint) -> UInt64?) -> UInt64 {
            (said.endpoints ?? []).reduce(0) { $0 &+ (part($1) ?? 0) }
        }
        self.init(id: said.id, started: said.started ?? "", requests: sum(\.requests), errors: sum(\.errors))
    }
}
