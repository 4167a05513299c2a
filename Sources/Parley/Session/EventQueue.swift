import NIOConcurrencyHelpers
import Relay
import Terminal

/// Core news on its way to the thread that owns the screen. It is bounded: a sender of more waits until there is room.
final class EventQueue: Sendable {
    private struct State {
        var events: [ChatEvent] = []
        var waiters: [CheckedContinuation<Void, Never>] = []
        var isClosed = false
    }

    private static let capacity = 1_024
    /// Messages that one event carries at most, so that the screen is drawn between them.
    private static let batch = 256
    private let state = NIOLockedValueBox(State())
    private let waker: Waker

    init(waker: Waker) { self.waker = waker }

    /// Adds an event; waits while the queue is full.
    func send(_ event: ChatEvent) async {
        while !offer(event) {
            await withCheckedContinuation { continuation in
                let isFree = state.withLockedValue { state in
                    if state.isClosed || state.events.count < Self.capacity { return true }
                    state.waiters.append(continuation)
                    return false
                }
                if isFree { continuation.resume() }
            }
        }
    }

    private func offer(_ event: ChatEvent) -> Bool {
        let (isTaken, wakes) = state.withLockedValue { state -> (Bool, Bool) in
            guard !state.isClosed else { return (true, false) }
            if case .topic(let name, .messages(let more)) = event, let last = state.events.last,
                case .topic(name, .messages(let messages)) = last, messages.count + more.count <= Self.batch
            {
                state.events[state.events.count - 1] = .topic(name, .messages(messages + more))
                return (true, false)
            }
            guard state.events.count < Self.capacity else { return (false, false) }
            state.events.append(event)
            return (true, state.events.count == 1)
        }
        if wakes { waker.wake() }
        return isTaken
    }

    /// Takes everything that waits.
    func drain() -> [ChatEvent] {
        let (events, waiters) = state.withLockedValue { state in
            defer {
                state.events = []
                state.waiters = []
            }
            return (state.events, state.waiters)
        }
        for waiter in waiters { waiter.resume() }
        return events
    }

    /// Events are no longer taken.
    func close() {
        state.withLockedValue { $0.isClosed = true }
        _ = drain()
    }
}
