import NATS

/// Hears messages of a topic, or system events (RelayX's listener).
///
/// Any class can be one. The client calls it on threads of its own, so a listener that is not `Sendable` belongs to the
/// client once it was handed over: nothing else can use it.
public protocol MessageListener: AnyObject {
    /// Called for every message, one after the other: with a ``TopicMessage`` for topics, with an array of
    /// ``ResentMessage`` for ``SystemEvent/messageResend``, and with the event's name for the other system events.
    func onMessage(_ message: Any)
}

extension RelayClient {
    /// Has a listener called for a topic, a pattern, or a system event's name. Works before `connect`. While connected
    /// it returns when the server knows of the subscription, so that what is published afterwards is heard.
    ///
    /// - Returns: false when the topic has a listener by this call already; it stays. ``listen(to:listener:)`` takes
    ///   any number.
    /// - Throws: ``RelayError/invalidTopic(_:)``.
    @discardableResult
    public func on(topic: String, listener: sending any MessageListener) async throws(RelayError) -> Bool {
        guard !subscriptions.listeners.hasOnly(topic) else { return false }
        let (_, opened) = try add(OwnedListener(listener: listener), to: topic, isOnly: true)
        await opened?.value()
        return true
    }

    /// Takes away the listener that ``on(topic:listener:)`` gave a topic.
    ///
    /// - Returns: whether there was one.
    @discardableResult
    public func off(topic: String) -> Bool { subscriptions.listeners.removeOnly(topic) }

    /// Has one more listener called for a topic, a pattern, or a system event's name, for as long as the token is kept.
    ///
    /// - Returns: keep it: the listener is called no more once the last reference goes, or with `cancel()`.
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

    /// Tells whoever hears of a system event, and does what it means for the client.
    func deliver(_ event: SystemEvent) {
        post(event)
        tell(event.rawValue, ofEvent: event)
        if event == .connected || event == .reconnected { reportResent() }
        if event == .disconnected { lifecycle.handle(.userDisconnected, for: self) }
    }

    /// Tells the listeners of ``SystemEvent/messageResend``, with an array of ``ResentMessage``, and whoever reads
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
