/// Hears messages of a topic, or system events (RelayX's listener).
public protocol MessageListener: AnyObject, Sendable {
    /// Called for every message, one after the other: with a ``TopicMessage`` for topics, with an array of
    /// ``ResentMessage`` for ``SystemEvent/messageResend``, and with the event's name for the other system events.
    func onMessage(_ message: Any)
}

/// A listener with the task that feeds it; system events need none.
struct ListenerEntry: Sendable {
    let listener: any MessageListener
    let task: Task<Void, Never>?
}

extension RelayClient {
    /// Has a listener called for a topic, a pattern, or a system event's name. Works before `connect`. While connected it
    /// returns when the server knows of the subscription, so that what is published afterwards is heard.
    ///
    /// - Returns: false when the topic has a listener already; it stays.
    /// - Throws: ``RelayError/invalidTopic(_:)``.
    @discardableResult
    public func on(topic: String, listener: any MessageListener) async throws(RelayError) -> Bool {
        guard listeners[topic] == nil else { return false }
        if SystemEvent(rawValue: topic) != nil {
            listeners[topic] = ListenerEntry(listener: listener, task: nil)
            return true
        }
        let (events, opened) = try subscribe(topic: topic, from: .new)
        let task = Task { [weak self] in
            do throws(RelayError) {
                var iterator = events.makeAsyncIterator()
                while let event = try await iterator.next() {
                    if case .message(let message) = event { listener.onMessage(message) }
                }
            } catch {
                await self?.forgetListener(topic)
            }
        }
        listeners[topic] = ListenerEntry(listener: listener, task: task)
        _ = await opened?.value
        return true
    }

    /// Takes a topic's listener away.
    ///
    /// - Returns: whether there was one.
    @discardableResult
    public func off(topic: String) -> Bool {
        guard let entry = listeners.removeValue(forKey: topic) else { return false }
        entry.task?.cancel()
        return true
    }

    private func forgetListener(_ topic: String) { listeners[topic] = nil }
}
