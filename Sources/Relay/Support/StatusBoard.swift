import NIOConcurrencyHelpers
import Synchronization

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
    /// Asked for each message that is sent, so without the lock.
    private let hasWatchers = Atomic(false)

    /// - Parameters:
    ///   - current: what a watcher gets first; nil for pure events.
    ///   - bufferedValues: how many changes are held for a slow watcher; the oldest are dropped.
    init(_ current: Value?, bufferedValues: Int) {
        state = NIOLockedValueBox(State(current: current))
        self.bufferedValues = bufferedValues
    }

    var current: Value? { state.withLockedValue { $0.current } }

    /// Whether anybody hears what is posted.
    var isWatched: Bool { hasWatchers.load(ordering: .acquiring) }

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
            hasWatchers.store(true, ordering: .releasing)
            continuation.onTermination = { [weak self] _ in self?.drop(key) }
        }
        return stream
    }

    private func drop(_ key: UInt64) {
        state.withLockedValue { state in
            state.watchers[key] = nil
            hasWatchers.store(!state.watchers.isEmpty, ordering: .releasing)
        }
    }

    func finish() {
        let watchers = state.withLockedValue { state in
            state.isFinished = true
            hasWatchers.store(false, ordering: .releasing)
            defer { state.watchers = [:] }
            return Array(state.watchers.values)
        }
        for watcher in watchers { watcher.finish() }
    }
}
