import NATS
import NIOCore
import Platform

/// The processes of a network's services, as they tell an observer of themselves.
enum ServiceObservation {
    /// What a process says of itself.
    struct Service: Hashable, Sendable {
        /// Names the process among the others.
        var id: String
        /// When it began, as it writes that itself.
        var started: String
        /// How many requests it has worked on.
        var requests: UInt64
        /// How many of them were left without an answer.
        var errors: UInt64
    }

    /// How many answers are taken in.
    static let limit = 1_024

    /// Asks all processes that there are.
    /// - Parameter limit: how long answers are waited for; nobody says how many there will be.
    static func ask(
        _ addresses: [ServerAddress], _ identity: NetworkIdentity, within limit: Duration
    ) async throws(NetworkError) -> [Service] {
        let credentials = try ServiceDiscovery.observer(identity.issuer)
        let connection = try await connect(addresses, credentials)
        defer { connection.closeNow() }
        var found: [Service] = []
        do throws(NATSError) {
            let inbox = connection.newInbox()
            let subscription = try connection.subscribe(
                to: inbox, limits: BufferLimits(messages: Self.limit, bytes: 4 << 20, overflow: .dropNewest))
            try connection.publish(ByteBuffer(), to: "$SRV.STATS.\(ServiceDiscovery.name)", reply: inbox)
            let alarm = Task {
                try await Task.sleep(for: limit)
                subscription.unsubscribe()
            }
            defer { alarm.cancel() }
            var iterator = subscription.makeAsyncIterator()
            while found.count < Self.limit, let answer = try await iterator.next(isolation: nil) {
                if answer.status == 503 { break }
                if let service = Service(answer.bytes) { found.append(service) }
            }
        } catch {
            throw .connection(error)
        }
        if Task.isCancelled { throw .cancelled }
        return found.sorted { $0.id < $1.id }
    }

    private static func connect(
        _ addresses: [ServerAddress], _ credentials: Credentials
    ) async throws(NetworkError) -> NATSConnection {
        var failure = NetworkError.notRunning
        for address in addresses {
            let options = ConnectOptions(
                name: "parley observer", authentication: .init(credentials),
                inboxPrefix: ServiceDiscovery.inboxPrefix, connectTimeout: .seconds(5))
            do throws(NATSError) { return try await NATSConnection.connect(to: address, options: options) } catch {
                failure = .connection(error)
            }
            if Task.isCancelled { throw .cancelled }
        }
        throw failure
    }
}

extension ServiceObservation.Service {
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
        guard let said = try? JSONDecoder().decode(Statistics.self, from: Data(answer)) else { return nil }
        func sum(_ part: (Statistics.Endpoint) -> UInt64?) -> UInt64 {
            (said.endpoints ?? []).reduce(0) { $0.addingReportingOverflow(part($1) ?? 0).partialValue }
        }
        self.init(id: said.id, started: said.started ?? "", requests: sum(\.requests), errors: sum(\.errors))
    }
}
