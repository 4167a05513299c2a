import NATS
import NIOConcurrencyHelpers

/// A submitted publish, for a caller that waits for its end.
public final class PendingPublish: Sendable {
    /// The message's identifier.
    public let id: String

    private struct State {
        var outcome: PublishNews.State?
        /// The caller, if it began to wait before the end.
        var waiter: Completion<PublishNews.State?>?
    }

    private let state = NIOLockedValueBox(State())
    private let clock: DeliveryClock

    /// - Parameter clock: Times out the waiting caller.
    init(id: String, _ clock: DeliveryClock) {
        self.id = id
        self.clock = clock
    }

    /// The message has ended, mostly before a caller waits for it.
    func end(_ outcome: PublishNews.State) {
        let waiter = state.withLockedValue { state in
            state.outcome = outcome
            return state.waiter
        }
        waiter?.fulfil(outcome)
    }

    private nonisolated(nonsending) func outcome(within limit: Duration) async -> PublishNews.State? {
        let (outcome, waiter) = state.withLockedValue {
            state -> (PublishNews.State?, Completion<PublishNews.State?>?) in
            if let outcome = state.outcome { return (outcome, nil) }
            let waiter = Completion<PublishNews.State?>()
            state.waiter = waiter
            return (nil, waiter)
        }
        guard let waiter else { return outcome }
        let name = DeliveryClock.Name.caller(ObjectIdentifier(waiter))
        clock.set(name, at: clock.now + max(.zero, limit)) { waiter.fulfil(nil) }
        // The name is unique only while the waiter exists.
        defer { withExtendedLifetime(waiter) { clock.remove(name) } }
        return await waiter.value(onCancel: .failed(.cancelled))
    }

    /// Waits until the server has stored the message. Call it once.
    ///
    /// - Parameter timeout: The time limit; when it passes, the message stays in the outbox.
    /// - Throws: ``RelayError/timeout(_:)``, ``RelayError/cancelled``, or the reason why the message will not be
    ///   stored.
    public nonisolated(nonsending) func receipt(within timeout: Duration) async throws(RelayError) -> PublishReceipt {
        try receipt(of: await outcome(within: timeout))
    }

    /// The receipt of a message that has ended, without waiting; nil if it has not.
    ///
    /// - Throws: The reason why the message will not be stored.
    package func receiptNow() throws(RelayError) -> PublishReceipt? {
        guard let outcome = state.withLockedValue({ $0.outcome }) else { return nil }
        return try receipt(of: outcome)
    }

    private func receipt(of outcome: PublishNews.State?) throws(RelayError) -> PublishReceipt {
        switch outcome {
        case .acknowledged(let sequence, let duplicate):
            return PublishReceipt(id: id, sequence: sequence, isDuplicate: duplicate)
        case .failed(let error): throw error
        case .discarded(let reason): throw .connection(reason)
        case .uncertain: throw .uncertain(id)
        case .queued, .sending, nil: throw .timeout("Publishing \(id)")
        }
    }
}

/// Proof that a publish was stored.
public struct PublishReceipt: Hashable, Sendable {
    /// The message's identifier.
    public var id: String
    /// Its sequence in the network's stream.
    public var sequence: UInt64
    /// Whether an earlier attempt had stored it.
    public var isDuplicate: Bool
}
