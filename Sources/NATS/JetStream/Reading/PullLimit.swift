import NIOConcurrencyHelpers
import NIOCore

/// How many bytes the readers of one client ask a server for at once.
///
/// A server cuts off a client for which more waits than its `max_pending`. It does not tell that limit, only that it is
/// at least the largest message that it takes. What it is writing counts until that write has ended, even if this side
/// has read it and asked for more: up to two and a half pulls count at once, so that one has a third. Several readers
/// of one connection may still ask for too much between them: each asks for half as much after such a cut, for some
/// minutes.
package final class PullLimit: Sendable {
    private struct State {
        var halvings = 0
        var cutAt: NIODeadline?
    }

    private static let least = 64 << 10
    private static let memory = TimeAmount.minutes(10)
    private let state = NIOLockedValueBox(State())

    package init() {}

    package func bytes(maximumPayload: Int, at now: NIODeadline = .now()) -> Int {
        let halvings = state.withLockedValue { state in
            if let cutAt = state.cutAt, now - cutAt > Self.memory { state = State() }
            return state.halvings
        }
        return max(Self.least, min(PullBudget.usualBytes, maximumPayload / 3) >> halvings)
    }

    /// A connection was cut off while the server had more for a reader.
    package func wasCut(at now: NIODeadline = .now()) {
        state.withLockedValue { state in
            state.halvings = min(state.halvings + 1, 6)
            state.cutAt = now
        }
    }
}

extension JetStream {
    var pullBytes: Int { pullLimit.bytes(maximumPayload: connection.maximumPayload) }

    /// A reader for whom the server had more ends: takes in where that is because the server cut off the connection.
    func readerEnded() {
        switch connection.core.endReason {
        case .closedByServer, .connectionLost: if connection.core.claimCut() { pullLimit.wasCut() }
        default: break
        }
    }
}
