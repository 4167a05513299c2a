/// Holds a subscription: cancelling it, or releasing the last reference, ends the subscription.
public final class SubscriptionToken: Sendable {
    private let onCancel: @Sendable () -> Void

    init(onCancel: @escaping @Sendable () -> Void) { self.onCancel = onCancel }

    deinit { onCancel() }

    /// Ends the subscription.
    public func cancel() { onCancel() }
}

/// A listener that was passed to the client.
///
/// Unchecked, because `on` and `listen` take it as `sending`: a listener that is not `Sendable` can be passed once, and
/// is then unreachable from elsewhere. The client calls it from one place, its topic's task or the actor.
struct OwnedListener: @unchecked Sendable {
    let listener: any MessageListener
}

struct Listeners: Sendable {
    /// A listener with the task that feeds it; system events need none.
    struct Entry: Sendable {
        let topic: String
        let owned: OwnedListener
        let task: Task<Void, Never>?
    }

    private struct WeakToken: Sendable {
        weak let token: SubscriptionToken?
    }

    private var entries: [UInt64: Entry] = [:]
    /// The listener that `on` gave to each topic.
    private var only: [String: UInt64] = [:]
    private var next: UInt64 = 1
    private var tokens: [WeakToken] = []

    /// Adds a listener.
    ///
    /// - Parameter isOnly: Whether `on` added it, so that `off` can remove it.
    mutating func add(_ entry: Entry, isOnly: Bool) -> UInt64 {
        defer { next += 1 }
        entries[next] = entry
        if isOnly { only[entry.topic] = next }
        return next
    }

    /// Whether `on` has given this topic a listener.
    func hasOnly(_ topic: String) -> Bool { only[topic] != nil }

    /// Removes the listener that `on` gave to a topic; false if there is none.
    mutating func removeOnly(_ topic: String) -> Bool {
        guard let key = only[topic] else { return false }
        remove(key)
        return true
    }

    mutating func remove(_ key: UInt64) {
        guard let entry = entries.removeValue(forKey: key) else { return }
        if only[entry.topic] == key { only[entry.topic] = nil }
        entry.task?.cancel()
    }

    /// The listeners of a system event, in the order of registration.
    func listeners(of event: SystemEvent) -> [any MessageListener] {
        entries.filter { $0.value.topic == event.topic }.sorted { $0.key < $1.key }.map(\.value.owned.listener)
    }

    mutating func endTopics() {
        for (key, entry) in entries where entry.task != nil { remove(key) }
    }

    /// Remembers a token, weakly, for ``cancelTokens()``.
    mutating func keep(_ token: SubscriptionToken) {
        tokens.removeAll { $0.token == nil }
        tokens.append(WeakToken(token: token))
    }

    mutating func cancelTokens() {
        for entry in tokens { entry.token?.cancel() }
        tokens = []
    }
}
