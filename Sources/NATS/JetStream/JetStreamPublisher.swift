import NIOConcurrencyHelpers
import NIOCore

/// Publishes with many messages in flight: it waits for acknowledgements only when the window is full.
public final class JetStreamPublisher: Sendable {
    private struct State {
        var inFlight = 0
        var roomWaiters: [Completion<Result<Void, NATSError>>] = []
        var drainWaiters: [Completion<Result<Void, NATSError>>] = []
    }

    private let jetStream: JetStream
    private let window: Int
    private let state = NIOLockedValueBox(State())

    /// Creates a publisher.
    ///
    /// - Parameters:
    ///   - jetStream: where to.
    ///   - window: most messages in flight, at least 1.
    public init(_ jetStream: JetStream, window: Int = 1_000) {
        self.jetStream = jetStream
        self.window = max(1, window)
    }

    /// Messages that were sent and not answered yet.
    public var inFlight: Int { state.withLockedValue { $0.inFlight } }

    /// Sends a message in order, waiting while the window is full.
    ///
    /// - Parameters:
    ///   - payload: the message.
    ///   - subject: a subject that some stream stores.
    ///   - messageID: makes a repeated publish harmless.
    ///   - headers: further headers.
    ///   - answered: called once, on the connection's event loop, with the acknowledgement or the failure.
    /// - Throws: what keeps the message from being sent; `answered` is then not called.
    public func publish(
        _ payload: ByteBuffer, to subject: String, messageID: String? = nil, headers: NATSHeaders? = nil,
        answered: @escaping @Sendable (Result<PublishAcknowledgement, NATSError>) -> Void
    ) async throws(NATSError) {
        while !enter() { try await waitForRoom() }
        do throws(NATSError) {
            try jetStream.send(payload, to: subject, messageID: messageID, headers: headers) { [self] result in
                answered(result)
                leave()
            }
        } catch {
            leave()
            throw error
        }
    }

    /// Waits until everything sent before has been answered.
    public func drained() async throws(NATSError) {
        let waiter = state.withLockedValue { state -> Completion<Result<Void, NATSError>>? in
            guard state.inFlight > 0 else { return nil }
            let waiter = Completion<Result<Void, NATSError>>()
            state.drainWaiters.append(waiter)
            return waiter
        }
        try await waiter?.result()
    }

    private func enter() -> Bool {
        state.withLockedValue { state in
            guard state.inFlight < window else { return false }
            state.inFlight += 1
            return true
        }
    }

    private func waitForRoom() async throws(NATSError) {
        let waiter = state.withLockedValue { state -> Completion<Result<Void, NATSError>>? in
            // Room may have come since; a full window is left half empty before the sender wakes.
            guard state.inFlight >= window else { return nil }
            let waiter = Completion<Result<Void, NATSError>>()
            state.roomWaiters.append(waiter)
            return waiter
        }
        try await waiter?.result()
    }

    private func leave() {
        let waiters = state.withLockedValue { state -> [Completion<Result<Void, NATSError>>] in
            state.inFlight -= 1
            var woken: [Completion<Result<Void, NATSError>>] = []
            if state.inFlight <= window / 2, !state.roomWaiters.isEmpty {
                woken = state.roomWaiters
                state.roomWaiters = []
            }
            if state.inFlight == 0, !state.drainWaiters.isEmpty {
                woken += state.drainWaiters
                state.drainWaiters = []
            }
            return woken
        }
        for waiter in waiters { waiter.fulfil(.success(())) }
    }
}
