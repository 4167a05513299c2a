import NIOConcurrencyHelpers

/// A value that many can watch: each watcher gets the current one first, then every change.
final class StatusBoard<Value: Sendable>: Sendable {
    private struct State {
        var current: Value?
        var watchers: [UInt64: AsyncStream<Value>.Continuation] = [:]
        var nextWatcher: UInt64 = 0
        var isFinished = false
    }

    private let state: NIOLockedValueBox<State>
    private let bufferedValues: Int

    /// - Parameters:
    ///   - current: what a watcher gets first; nil for pure events.
    ///   - bufferedValues: how many changes are held for a slow watcher; the oldest give way.
    init(_ current: Value?, bufferedValues: Int) {
        state = NIOLockedValueBox(State(current: current))
        self.bufferedValues = bufferedValues
    }

    var current: Value? { state.withLockedValue { $0.current } }

    /// Whether anybody hears what is posted.
    var isWatched: Bool { state.withLockedValue { !$0.watchers.isEmpty } }

    func post(_ value: Value, keepsCurrent: Bool = true) {
        let watchers = state.withLockedValue { state in
            if keepsCurrent { state.current = value }
            return Array(state.watchers.values)
        }
        for watcher in watchers { watcher.yield(value) }
    }

    func watch() -> AsyncStream<Value> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: Value.self, bufferingPolicy: .bufferingNewest(bufferedValues))
        state.withLockedValue { state in
            if let current = state.current { continuation.yield(current) }
            guard !state.isFinished else { return continuation.finish() }
            let key = state.nextWatcher
            state.nextWatcher += 1
            state.watchers[key] = continuation
            continuation.onTermination = { [weak self] _ in self?.drop(key) }
        }
        return stream
    }

    private func drop(_ key: UInt64) {
        _ = state.withLockedValue { $0.watchers.removeValue(forKey: key) }
    }

    func finish() {
        let watchers = state.withLockedValue { state in
            state.isFinished = true
            defer { state.watchers = [:] }
            return Array(state.watchers.values)
        }
        for watcher in watchers { watcher.finish() }
    }
}
