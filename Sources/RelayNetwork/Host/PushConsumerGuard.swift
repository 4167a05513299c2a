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

    /// Deletes what was made while nobody watched, and then watches until the connection ends or the task is cancelled.
    func run() async throws(NATSError) {
        do throws(NATSError) { try await sweep() } catch  where !jetStream.connection.isOpen { throw error } catch {
            // What cannot be listed at this moment is looked at again at the next start.
        }
        var iterator = reports.makeAsyncIterator()
        while let report = try await iterator.next(isolation: nil) {
            guard let found = Self.offender(in: report.bytes) else { continue }
            // A consumer that is already gone needs no deletion.
            try? await jetStream.deleteConsumer(found.consumer, in: found.stream)
        }
    }

    /// Looks through the consumers that there are. Reports of new ones are kept meanwhile.
    private func sweep() async throws(NATSError) {
        for stream in try await jetStream.streamNames(taking: ">") {
            // A stream may have been deleted since.
            guard let consumers = try? await jetStream.consumers(in: stream) else { continue }
            for consumer in consumers where Self.isOffender(consumer) {
                try? await jetStream.deleteConsumer(consumer.name, in: stream)
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
