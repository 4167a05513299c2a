import NATS
import NIOConcurrencyHelpers
import Platform
import Relay

/// Tells tools such as `nats micro` which services run, by NATS' services protocol (ADR-32): `$SRV.PING`, `$SRV.INFO`
/// and `$SRV.STATS`, each for all services, for those of a name, and for one.
struct ServiceDiscovery: Sendable {
    static let name = "parley"
    /// Subscriptions with wildcards alone: JetStream hands what a push consumer delivers to literal subjects.
    static let subjects = ["$SRV.*", "$SRV.*.*", "$SRV.*.*.*"]

    private let connection: NATSConnection
    private let id: String
    private let figures: NIOLockedValueBox<ServiceFigures>
    private let questions: [NATSSubscription]

    init(connection: NATSConnection, id: String, figures: NIOLockedValueBox<ServiceFigures>) throws(NATSError) {
        (self.connection, self.id, self.figures) = (connection, id, figures)
        questions = try Self.subjects.map { subject throws(NATSError) in
            try connection.subscribe(
                to: subject, limits: BufferLimits(messages: 1_024, bytes: 1 << 20, overflow: .dropNewest))
        }
    }

    func run() async {
        await withDiscardingTaskGroup { group in
            for subscription in questions {
                group.addTask {
                    var iterator = subscription.makeAsyncIterator()
                    while let message = try? await iterator.next(isolation: nil) {
                        // Answers go to whoever observes the network, and to no user who listens to `_INBOX.>`.
                        guard let reply = message.reply, reply.hasPrefix(HostRole.observing.inboxPrefix + "."),
                            let answer = ServiceAnswer(to: message.subject, id, figures.withLockedValue(\.self))
                        else { continue }
                        _ = try? connection.publish(Wire.json(answer), to: reply)
                    }
                }
            }
        }
    }
}

struct ServiceAnswer: Codable, Hashable, Sendable {
    struct Endpoint: Codable, Hashable, Sendable {
        var name: String
        var subject: String
        var queue = NetworkServices.queue
        var metadata: [String: String]?
        var requests: UInt64?
        var errors: UInt64?
        var lastError: String?
        /// In nanoseconds.
        var time: Int64?
        var averageTime: Int64?

        private enum CodingKeys: String, CodingKey {
            case name, subject, metadata
            case queue = "queue_group"
            case requests = "num_requests"
            case errors = "num_errors"
            case lastError = "last_error"
            case time = "processing_time"
            case averageTime = "average_processing_time"
        }
    }

    var type: String
    var name = ServiceDiscovery.name
    var id: String
    var version = "1.0.0"
    var metadata: [String: String] = [:]
    var description: String?
    var started: String?
    var endpoints: [Endpoint]?

    init?(to subject: String, _ id: String, _ figures: ServiceFigures) {
        let tokens = subject.split(separator: ".").map(String.init)
        guard (2...4).contains(tokens.count), tokens[0] == "$SRV", tokens.count < 3 || tokens[2] == name,
            tokens.count < 4 || tokens[3] == id
        else { return nil }
        self.id = id
        type = "io.nats.micro.v1.\(tokens[1].lowercased())_response"
        switch tokens[1] {
        case "PING": break
        case "INFO":
            description = "Names, postboxes and invitations of a Parley network"
            endpoints = ServiceEndpoint.allCases.map { .init(name: $0.rawValue, subject: $0.subject, metadata: [:]) }
        case "STATS":
            started = Timestamp(seconds: figures.start).iso8601
            endpoints = ServiceEndpoint.allCases.map { endpoint in
                let own = figures[endpoint]
                let time = own.time.wholeNanoseconds
                return .init(
                    name: endpoint.rawValue, subject: endpoint.subject, requests: own.requests, errors: own.errors,
                    lastError: "", time: time,
                    averageTime: own.requests == 0 ? 0 : time / Int64(clamping: own.requests))
            }
        default: return nil
        }
    }
}
