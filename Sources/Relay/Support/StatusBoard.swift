import NIOConcurrencyHelpers
import Synchronization

/// A value that many can watch: each watcher gets the current one first, then every change.
final class StatusBoard<Value: Sendable>: Sendable {
    private struct Watcher {
        weak var channel: BoundedChannel<Value>?
    }

    private struct State {
        var current: Value?
        var watchers: [Watcher] = []
        var isFinished = false

        /// The channels of the remaining watchers.
        mutating func channels() -> [BoundedChannel<Value>] {
            watchers.removeAll { $0.channel == nil }
            return watchers.compactMap(\.channel)
        }
    }

    private let state: NIOLockedValueBox<State>
    private let bufferedValues: Int
    /// Read for each message that is sent, so without the lock.
    private let hasWatchers = Atomic(false)

    /// - Parameters:
    ///   - current: The first value of a watcher; nil for pure events.
    ///   - bufferedValues: How many changes are buffered for a slow watcher, which then misses all but the newest.
    init(_ current: Value?, bufferedValues: Int) {
        state = NIOLockedValueBox(State(current: current))
        self.bufferedValues = bufferedValues
    }

    var current: Value? { state.withLockedValue { $0.current } }

    var isWatched: Bool { hasWatchers.load(ordering: .acquiring) }

    func post(_ value: Value, keepsCurrent: Bool = true) {
        let channels = state.withLockedValue { state in
            if keepsCurrent { state.current = value }
            let channels = state.channels()
            hasWatchers.store(!channels.isEmpty, ordering: .releasing)
            return channels
        }
        for channel in channels { channel.markWithRoom(value) }
    }

    func watch() -> AsyncStream<Value> {
        let channel = BoundedChannel<Value>(capacity: bufferedValues) { _ in ChannelWeight() }
        state.withLockedValue { state in
            if let current = state.current { channel.markWithRoom(current) }
            guard !state.isFinished else { return channel.close() }
            state.watchers.append(Watcher(channel: channel))
            hasWatchers.store(true, ordering: .releasing)
        }
        // Only the stream retains the channel.
        return AsyncStream { try? await channel.next() }
    }

    func finish() {
        let channels = state.withLockedValue { state in
            state.isFinished = true
            hasWatchers.store(false, ordering: .releasing)
            defer { state.watchers = [] }
            return state.channels()
        }
        for channel in channels { channel.close() }
    }
}
