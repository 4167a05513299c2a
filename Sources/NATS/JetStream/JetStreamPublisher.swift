import NIOConcurrencyHelpers
import NIOCore

/// Publishes with many messages in flight: it waits for acknowledgements only while the window is full.
public final class JetStreamPublisher: Sendable {
    private struct State {
        var inFlight = 0
        /// Senders that wait until at most `most` messages are in flight.
        var waiters: [(most: Int, completion: Completion<Result<Void, NATSError>>)] = []
    }

    private let jetStream: JetStream
    private let window: Int
    private let state = NIOLockedValueBox(State())

    /// Creates a publisher with at most `window` messages in flight, at least 1.
    public init(_ jetStream: JetStream, window: Int = 1_000) {
        self.jetStream = jetStream
        self.window = max(1, window)
    }

    /// The number of messages sent but not answered yet.
    public var inFlight: Int { state.withLockedValue { $0.inFlight } }

    /// Sends a message, in order, to a subject that a stream stores, waiting while the window is full. An id makes a
    /// repeated publish harmless. `answered` is called once, on the connection's event loop.
    ///
    /// - Throws: The reason why the message was not sent; `answered` is then not called.
    public func publish(
        _ payload: ByteBuffer, to subject: String, messageID: String? = nil, headers: NATSHeaders? = nil,
        answered: @escaping @Sendable (Result<PublishAcknowledgement, NATSError>) -> Void
    ) async throws(NATSError) {
        // A full window is emptied to half before the sender wakes.
        while !enter() { try await wait(for: window / 2, unless: window - 1) }
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
    public func drained() async throws(NATSError) { try await wait(for: 0, unless: 0) }

    private func enter() -> Bool {
        state.withLockedValue { state in
            guard state.inFlight < window else { return false }
            state.inFlight += 1
            return true
        }
    }

    /// Waits until at most `most` are in flight, unless at most `few` are already.
    private func wait(for most: Int, unless few: Int) async throws(NATSError) {
        let waiter = state.withLockedValue { state -> Completion<Result<Void, NATSError>>? in
            guard state.inFlight > few else { return nil }
            let waiter = Completion<Result<Void, NATSError>>()
            state.waiters.append((most, waiter))
            return waiter
        }
        try await waiter?.result()
    }

    private func leave() {
        let woken = state.withLockedValue { state in
            state.inFlight -= 1
            guard !state.waiters.isEmpty else { return state.waiters }
            let woken = state.waiters.filter { $0.most >= state.inFlight }
            if !woken.isEmpty { state.waiters.removeAll { $0.most >= state.inFlight } }
            return woken
        }
        for waiter in woken { waiter.completion.fulfil(.success(())) }
    }
}
