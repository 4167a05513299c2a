import NATS
import NIOConcurrencyHelpers

/// Lets one task pass while it is open; while it is closed, the task waits without a timer.
final class RestGate: Sendable {
    private struct State {
        var isOpen = true
        var waiter: Completion<Void>?
    }

    private let state = NIOLockedValueBox(State())

    /// Opens or closes the gate; a waiting task passes at once.
    func set(isOpen: Bool) {
        let waiter = state.withLockedValue { state -> Completion<Void>? in
            state.isOpen = isOpen
            return isOpen ? exchange(&state.waiter, with: nil) : nil
        }
        waiter?.fulfil(())
    }

    /// Returns once the gate is open or the task is cancelled. For one task at a time.
    func pass() async {
        let waiter = state.withLockedValue { state -> Completion<Void>? in
            guard !state.isOpen else { return nil }
            let waiter = Completion<Void>()
            state.waiter = waiter
            return waiter
        }
        await waiter?.value(onCancel: ())
    }
}
