import NATS
import Relay

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Deletes consumers that would have JetStream write to subjects of their maker's choice, and those that push letters.
///
/// The delivery subject of a push consumer is part of the request's body, which no permission covers. The server hands
/// such deliveries to literal subscriptions only, and the network has none; this is a second safeguard. Letters are for
/// their owner alone, and what is pushed to an inbox reaches everybody who listens to all inboxes.
struct PushConsumerGuard: Sendable {
    /// Where the server reports each call that changes something.
    static let subject = "$JS.EVENT.ADVISORY.API"
    /// Where push consumers may deliver what is in topics and buckets: to the inboxes of clients.
    private static let inboxes = "_INBOX."

    private let jetStream: JetStream
    private let reports: NATSSubscription

    /// Listens from now on.
    init(jetStream: JetStream) throws(NATSError) {
        self.jetStream = jetStream
        let limits = BufferLimits(messages: 65_536, bytes: 64 << 20, overflow: .dropOldest)
        reports = try jetStream.connection.subscribe(to: Self.subject, limits: limits)
    }

    /// Deletes what was made while nobody watched, and watches until the connection ends or the task is cancelled.
    func run() async throws(NATSError) {
        // Reports are taken in meanwhile, however many consumers there are to look through.
        async let earlier: Void = deleteEarlier()
        var iterator = reports.makeAsyncIterator()
        while let report = try await iterator.next(isolation: nil) {
            guard let found = Self.offender(in: report.bytes) else { continue }
            // A consumer that is already gone needs no deletion.
            try? await jetStream.deleteConsumer(found.consumer, in: found.stream)
        }
        await earlier
    }

    /// Looks through the consumers that there are, and begins again where the server does not answer.
    private func deleteEarlier() async {
        while !Task.isCancelled {
            do throws(NATSError) { return try await sweep() } catch { try? await Task.sleep(for: .seconds(1)) }
        }
    }

    private func sweep() async throws(NATSError) {
        for stream in try await jetStream.streamNames() {
            do throws(NATSError) {
                for consumer in try await jetStream.consumers(in: stream) where Self.isOffender(consumer) {
                    // One that is already gone needs no deletion.
                    try? await jetStream.deleteConsumer(consumer.name, in: stream)
                }
            } catch .jetStream(let failure) where failure.errorCode == JetStreamFailure.streamNotFound {
                // Its user was removed meanwhile.
            }
        }
    }

    /// Whether a consumer delivers where it must not.
    private static func isOffender(_ consumer: ConsumerInfo) -> Bool {
        guard let target = consumer.deliverSubject, !target.isEmpty else { return false }
        return !target.hasPrefix(inboxes) || consumer.stream.hasPrefix(NetworkNames.postboxStreamPrefix)
    }

    /// The consumer that a report is about, if it delivers where it must not. The server's own account of the consumer
    /// counts, not the request.
    static func offender(in report: [UInt8]) -> (stream: String, consumer: String)? {
        guard let report = try? JSONDecoder().decode(Report.self, from: Data(report)),
            report.subject.hasPrefix("$JS.API.CONSUMER."), let response = report.response,
            let made = try? JSONDecoder().decode(ConsumerInfo.self, from: Data(response.utf8)), isOffender(made)
        else { return nil }
        return (made.stream, made.name)
    }

    private struct Report: Decodable {
        var subject: String
        var response: String?
    }
}
