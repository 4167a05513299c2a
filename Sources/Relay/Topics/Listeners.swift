/// Holds a subscription: cancelling it, or letting the last reference go, ends the subscription.
public final class SubscriptionToken: Sendable {
    private let onCancel: @Sendable () -> Void

    init(onCancel: @escaping @Sendable () -> Void) { self.onCancel = onCancel }

    deinit { onCancel() }

    /// Ends the subscription.
    public func cancel() { onCancel() }
}

/// A listener that was handed over to the client.
///
/// Unchecked, because `on` and `listen` take it as `sending`: one that is not `Sendable` can be handed over once, and
/// is reached from nowhere else. The client calls it from one place, its topic's task or the actor.
struct OwnedListener: @unchecked Sendable {
    let listener: any MessageListener
}

/// The listeners that are called back.
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
    /// The one listener of a topic that came by `on`.
    private var only: [String: UInt64] = [:]
    private var next: UInt64 = 1
    private var tokens: [WeakToken] = []

    /// Adds a listener.
    ///
    /// - Parameter isOnly: whether it is the one that `on` and `off` know by its topic.
    mutating func add(_ entry: Entry, isOnly: Bool) -> UInt64 {
        defer { next += 1 }
        entries[next] = entry
        if isOnly { only[entry.topic] = next }
        return next
    }

    /// Whether `on` has given this topic a listener.
    func hasOnly(_ topic: String) -> Bool { only[topic] != nil }

    /// Takes away what `on` gave a topic; false when there was nothing.
    mutating func removeOnly(_ topic: String) -> Bool {
        guard let key = only[topic] else { return false }
        remove(key)
        return true
    }

    /// Takes a listener away.
    mutating func remove(_ key: UInt64) {
        guard let entry = entries.removeValue(forKey: key) else { return }
        if only[entry.topic] == key { only[entry.topic] = nil }
        entry.task?.cancel()
    }

    /// Those who hear a system event, in the order in which they came.
    func listeners(of event: SystemEvent) -> [any MessageListener] {
        entries.filter { $0.value.topic == event.topic }.sorted { $0.key < $1.key }.map(\.value.owned.listener)
    }

    /// Takes away all that listen to topics.
    mutating func endTopics() {
        for (key, entry) in entries where entry.task != nil { remove(key) }
    }

    /// Remembers a token for ``cancelTokens()``, as long as its owner keeps it.
    mutating func keep(_ token: SubscriptionToken) {
        tokens.removeAll { $0.token == nil }
        tokens.append(WeakToken(token: token))
    }

    /// Ends what the remembered tokens hold.
    mutating func cancelTokens() {
        for entry in tokens { entry.token?.cancel() }
        tokens = []
    }
}
