import NATS
import NIOConcurrencyHelpers

/// The last snapshot and those who want to hear of the next.
final class NetworkPathWatch: Sendable {
    private struct State {
        /// nil when the system does not say, which counts as available.
        var path: NetworkPath?
        var streams: [UInt64: AsyncStream<NetworkPath.Change>.Continuation] = [:]
        var nextStream: UInt64 = 0
        var hasEnded = false
    }

    private let servers: [ServerAddress]
    private let state: NIOLockedValueBox<State>

    init(servers: [ServerAddress], first: NetworkPath?) {
        self.servers = servers
        state = NIOLockedValueBox(State(path: first))
    }

    func changes() -> AsyncStream<NetworkPath.Change> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: NetworkPath.Change.self, bufferingPolicy: .bufferingNewest(16))
        let key = state.withLockedValue { state -> UInt64? in
            // Under the lock, so that no later change comes before it.
            continuation.yield(state.path?.isUsable(for: servers) ?? true ? .available : .unavailable)
            guard !state.hasEnded else { return nil }
            defer { state.nextStream += 1 }
            state.streams[state.nextStream] = continuation
            return state.nextStream
        }
        guard let key else {
            continuation.finish()
            return stream
        }
        continuation.onTermination = { [weak self] _ in
            _ = self?.state.withLockedValue { $0.streams.removeValue(forKey: key) }
        }
        return stream
    }

    /// A new snapshot; one that the system refuses changes nothing.
    func update(_ newer: NetworkPath?) {
        guard let newer else { return }
        state.withLockedValue { state in
            let older = state.path
            state.path = newer
            let change: NetworkPath.Change?
            if let older {
                change = newer.change(since: older, for: servers)
            } else {
                change = newer.isUsable(for: servers) ? nil : .unavailable
            }
            guard let change else { return }
            for stream in state.streams.values { stream.yield(change) }
        }
    }

    func end() {
        let streams = state.withLockedValue { state in
            state.hasEnded = true
            defer { state.streams = [:] }
            return Array(state.streams.values)
        }
        for stream in streams { stream.finish() }
    }
}
