import NIOConcurrencyHelpers
import NIOCore

/// How many bytes the readers of one client request from a server at once.
///
/// A server cuts off a client once more than its `max_pending` waits for it. It does not tell that limit, only that it
/// is at least the largest message that it accepts. What it is writing counts until that write ends, even if this side
/// has read it and requested more: up to two and a half pulls count at once, so each gets a third. Several readers of
/// one connection may still request too much together: after such a cut, each requests half as much for some minutes.
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

    /// The connection was cut off while the server had more for a reader.
    package func wasCut(at now: NIODeadline = .now()) {
        state.withLockedValue { state in
            state.halvings = min(state.halvings + 1, 6)
            state.cutAt = now
        }
    }
}

extension JetStream {
    var pullBytes: Int { pullLimit.bytes(maximumPayload: connection.maximumPayload) }

    /// A reader for which the server had more has ended: notes whether the server cut off the connection.
    func readerEnded() {
        switch connection.core.endReason {
        case .closedByServer, .connectionLost: if connection.core.claimCut() { pullLimit.wasCut() }
        default: break
        }
    }
}
