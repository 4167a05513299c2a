import NATS
import NIOConcurrencyHelpers
import Platform
import Relay

/// Tells tools such as `nats micro` which services run, by NATS' services protocol (ADR-32): `$SRV.PING`, `$SRV.INFO`
/// and `$SRV.STATS`, each for all services, for those of a name, and for one.
struct ServiceDiscovery: Sendable {
    /// What the services are called.
    static let name = "parley"
    /// Subscriptions with wildcards alone: JetStream hands what a push consumer delivers to literal subjects.
    static let subjects = ["$SRV.*", "$SRV.*.*", "$SRV.*.*.*"]
    /// The version of the services.
    static let version = "1.0.0"

    private let connection: NATSConnection
    private let report: ServiceReport
    private let figures: NIOLockedValueBox<ServiceFigures>
    private let questions: [NATSSubscription]

    /// Subscribes; the questions wait until ``run()``.
    init(
        connection: NATSConnection, id: String, figures: NIOLockedValueBox<ServiceFigures>
    ) throws(NATSError) {
        self.connection = connection
        self.figures = figures
        report = ServiceReport(id: id)
        questions = try Self.subjects.map { subject throws(NATSError) in
            try connection.subscribe(
                to: subject, limits: BufferLimits(messages: 1_024, bytes: 1 << 20, overflow: .dropNewest))
        }
    }

    /// Answers until the connection ends or the task is cancelled.
    func run() async {
        await withTaskGroup(of: Void.self) { group in
            for subscription in questions {
                group.addTask {
                    var iterator = subscription.makeAsyncIterator()
                    while let message = try? await iterator.next(isolation: nil) {
                        // Answers go to whoever observes the network, and to no user who listens to `_INBOX.>`.
                        guard let reply = message.reply, reply.hasPrefix(HostRole.observing.inboxPrefix + "."),
                            let answer = report.answer(to: message.subject, figures.withLockedValue(\.self))
                        else { continue }
                        _ = try? connection.publish(answer, to: reply)
                    }
                }
            }
        }
    }
}

/// What the services of one process say of themselves: a pure value.
struct ServiceReport: Hashable, Sendable {
    /// Names this process among the others.
    let id: String

    /// The answer to a question; nil for one that is not for this process, or that nobody knows.
    func answer(to subject: String, _ figures: ServiceFigures) -> [UInt8]? {
        let tokens = subject.split(separator: ".").map(String.init)
        guard (2...4).contains(tokens.count), tokens[0] == "$SRV" else { return nil }
        if tokens.count > 2, tokens[2] != ServiceDiscovery.name { return nil }
        if tokens.count > 3, tokens[3] != id { return nil }
        let answer: MessageMap
        switch tokens[1] {
        case "PING": answer = message("ping")
        case "INFO":
            var information = message("info")
            information["description"] = "Names, postboxes and invitations of a Parley network"
            information["endpoints"] = .array(
                ServiceEndpoint.allCases.map { endpoint in
                    var map = Self.name(of: endpoint)
                    map["metadata"] = [:]
                    return .map(map)
                })
            answer = information
        case "STATS":
            var statistics = message("stats")
            statistics["started"] = .string(Timestamp(seconds: figures.start).iso8601)
            statistics["endpoints"] = .array(
                ServiceEndpoint.allCases.map { .map(Self.figures(of: $0, figures[$0])) })
            answer = statistics
        default: return nil
        }
        return Array(JSONText.text(.map(answer)).utf8)
    }

    /// What every answer says.
    private func message(_ kind: String) -> MessageMap {
        [
            "type": .string("io.nats.micro.v1.\(kind)_response"), "name": .string(ServiceDiscovery.name),
            "id": .string(id), "version": .string(ServiceDiscovery.version), "metadata": [:],
        ]
    }

    private static func name(of endpoint: ServiceEndpoint) -> MessageMap {
        [
            "name": .string(endpoint.rawValue), "subject": .string(endpoint.subject),
            "queue_group": .string(NetworkServices.queue),
        ]
    }

    private static func figures(of endpoint: ServiceEndpoint, _ own: ServiceFigures.Endpoint) -> MessageMap {
        let time = own.time.wholeNanoseconds
        var map = name(of: endpoint)
        map["num_requests"] = .int(Int64(clamping: own.requests))
        map["num_errors"] = .int(Int64(clamping: own.errors))
        map["last_error"] = ""
        map["processing_time"] = .int(time)
        map["average_processing_time"] = .int(own.requests == 0 ? 0 : time / Int64(clamping: own.requests))
        return map
    }
}
