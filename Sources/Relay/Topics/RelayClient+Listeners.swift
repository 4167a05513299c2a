import NATS

/// Receives messages of a topic, or system events (RelayX's listener).
///
/// Any class can be one. The client calls it on its own threads, so a listener that is not `Sendable` belongs to the
/// client once it was passed: nothing else can use it.
public protocol MessageListener: AnyObject {
    /// Called for each message, one at a time: with a ``TopicMessage`` for topics, with an array of ``ResentMessage``
    /// for ``SystemEvent/messageResend``, and with the event's name for the other system events.
    func onMessage(_ message: Any)
}

extension RelayClient {
    /// Registers a listener for a topic, a pattern, or a system event's name. Works before `connect`. While connected
    /// it returns once the server has the subscription, so that later messages are received.
    ///
    /// - Returns: False if the topic already has a listener of this call, which stays. ``listen(to:listener:)`` accepts
    ///   any number.
    /// - Throws: ``RelayError/invalidTopic(_:)``.
    @discardableResult
    public func on(topic: String, listener: sending any MessageListener) async throws(RelayError) -> Bool {
        guard !subscriptions.listeners.hasOnly(topic) else { return false }
        let (_, opened) = try add(OwnedListener(listener: listener), to: topic, isOnly: true)
        await opened?.value()
        return true
    }

    /// Removes the listener that ``on(topic:listener:)`` registered.
    ///
    /// - Returns: Whether there was one.
    @discardableResult
    public func off(topic: String) -> Bool { subscriptions.listeners.removeOnly(topic) }

    /// Registers another listener for a topic, a pattern, or a system event's name, for as long as the token is
    /// retained.
    ///
    /// - Returns: A token to retain: the listener is removed with the last reference, or with `cancel()`.
    /// - Throws: ``RelayError/invalidTopic(_:)``.
    public func listen(
        to topic: String, listener: sending any MessageListener
    ) async throws(RelayError) -> SubscriptionToken {
        let (key, opened) = try add(OwnedListener(listener: listener), to: topic, isOnly: false)
        await opened?.value()
        return SubscriptionToken { [weak self] in
            Task { await self?.run { $0.subscriptions.listeners.remove(key) } }
        }
    }

    private func add(
        _ owned: OwnedListener, to topic: String, isOnly: Bool
    ) throws(RelayError) -> (key: UInt64, opened: Completion<Void>?) {
        if SystemEvent(rawValue: topic) != nil {
            return (subscriptions.listeners.add(.init(topic: topic, owned: owned, task: nil), isOnly: isOnly), nil)
        }
        let (events, opened) = try subscribe(topic: topic, from: .new)
        let task = Task {
            var iterator = events.makeAsyncIterator()
            while let batch = try? await iterator.nextBatch() {
                for case .message(let message) in batch where !Task.isCancelled { owned.listener.onMessage(message) }
            }
        }
        return (subscriptions.listeners.add(.init(topic: topic, owned: owned, task: task), isOnly: isOnly), opened)
    }

    // MARK: System events

    /// Reports a system event, and applies its meaning for the client.
    func deliver(_ event: SystemEvent) {
        post(event)
        tell(event.rawValue, ofEvent: event)
        if event == .connected || event == .reconnected { reportResent() }
        if event == .disconnected { lifecycle.handle(.userDisconnected, for: self) }
    }

    /// Reports ``SystemEvent/messageResend`` to its listeners, with an array of ``ResentMessage``, and to readers of
    /// ``events``.
    private func reportResent() {
        let messages = publisher.takeResent()
        guard !messages.isEmpty else { return }
        post(.messageResend)
        tell(messages, ofEvent: .messageResend)
    }

    /// Calls the listeners of a system event.
    private func tell(_ message: Any, ofEvent event: SystemEvent) {
        for listener in subscriptions.listeners.listeners(of: event) { listener.onMessage(message) }
    }
}
