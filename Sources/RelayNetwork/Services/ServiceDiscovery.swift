import NATS
import NIOConcurrencyHelpers
import Relay

/// Tells tools such as `nats micro` which services are running, by NATS' services protocol (ADR-32): `$SRV.PING`,
/// `$SRV.INFO` and `$SRV.STATS`, each for all services, for those of a name, or for one.
struct ServiceDiscovery: Sendable {
    static let name = "parley"
    /// Only subscriptions with wildcards: JetStream delivers a push consumer's messages to literal ones.
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
                        // Only observers of the network are answered, and no user who listens to `_INBOX.>`.
                        guard let reply = message.reply, reply.hasPrefix(HostRole.observing.inboxPrefix + "."),
                            let answer = Self.answer(to: message.subject, id, figures.withLockedValue(\.self))
                        else { continue }
                        _ = try? connection.publish(Array(JSONText.text(answer).utf8), to: reply)
                    }
                }
            }
        }
    }

    static func answer(to subject: String, _ id: String, _ figures: ServiceFigures) -> MessageValue? {
        let tokens = subject.split(separator: ".").map(String.init)
        guard (2...4).contains(tokens.count), tokens[0] == "$SRV", tokens.count < 3 || tokens[2] == name,
            tokens.count < 4 || tokens[3] == id
        else { return nil }
        func endpoints(_ add: (inout MessageMap, ServiceEndpoint) -> Void) -> MessageValue {
            .array(
                ServiceEndpoint.allCases.map { endpoint in
                    var entry: MessageMap = [
                        "name": .string(endpoint.rawValue), "subject": .string(endpoint.subject),
                        "queue_group": .string(NetworkServices.queue),
                    ]
                    add(&entry, endpoint)
                    return .map(entry)
                })
        }
        var answer: MessageMap = [
            "type": .string("io.nats.micro.v1.\(tokens[1].lowercased())_response"), "name": .string(name),
            "id": .string(id), "version": "1.0.0", "metadata": [:],
        ]
        switch tokens[1] {
        case "PING": break
        case "INFO":
            answer["description"] = "Names, postboxes and invitations of a Parley network"
            answer["endpoints"] = endpoints { entry, _ in entry["metadata"] = [:] }
        case "STATS":
            answer["started"] = .string(Timestamp(seconds: figures.start).iso8601)
            answer["endpoints"] = endpoints { entry, endpoint in
                let own = figures[endpoint]
                let time = own.time.wholeNanoseconds
                (entry["num_requests"], entry["num_errors"]) = (.integer(own.requests), .integer(own.errors))
                (entry["last_error"], entry["processing_time"]) = ("", .int(time))
                entry["average_processing_time"] = .int(own.requests == 0 ? 0 : time / Int64(clamping: own.requests))
            }
        default: return nil
        }
        return .map(answer)
    }
}
