import NATS
import NIOConcurrencyHelpers

/// A queue between one writer and one reader that makes the writer wait instead of growing.
final class BoundedChannel<Element: Sendable>: Sendable {
    enum Wakeup: Sendable { case ready, cancelled }

    private struct State {
        var queue: [Element] = []
        var first = 0
        var reader: Completion<Wakeup>?
        var writer: Completion<Wakeup>?
        var ending: Result<Void, RelayError>?

        var count: Int { queue.count - first }
    }

    private let state = NIOLockedValueBox(State())
    private let capacity: Int

    init(capacity: Int) { self.capacity = max(1, capacity) }

    /// Whether the reader is gone or the channel was closed.
    var isClosed: Bool { state.withLockedValue { $0.ending != nil } }

    /// Whether the writer has to wait for the reader.
    var isFull: Bool { state.withLockedValue { $0.count >= capacity } }

    /// Adds an element, waiting for room; false when the channel is closed or the task was cancelled.
    func send(_ element: Element) async -> Bool { await send(contentsOf: [element]) == 1 }

    /// Adds elements in their order, waiting for room for the next of them; the last may come to stand beyond the bound by
    /// as many as there are.
    ///
    /// - Returns: how many were added: fewer than there are when the channel is closed or the task was cancelled.
    func send(contentsOf elements: [Element]) async -> Int {
        while true {
            let (isDone, wait, reader) = state.withLockedValue {
                state -> (Bool?, Completion<Wakeup>?, Completion<Wakeup>?) in
                guard state.ending == nil else { return (false, nil, nil) }
                guard state.count < capacity else {
                    let writer = Completion<Wakeup>()
                    state.writer = writer
                    return (nil, writer, nil)
                }
                state.queue.append(contentsOf: elements)
                defer { state.reader = nil }
                return (true, nil, state.reader)
            }
            reader?.fulfil(.ready)
            if let isDone { return isDone ? elements.count : 0 }
            guard let wait, await wait.value(onCancel: .cancelled) == .ready else { return 0 }
        }
    }

    /// The next element; nil at the end or when the task was cancelled.
    nonisolated(nonsending) func next() async throws(RelayError) -> Element? {
        while true {
            let (element, ending, wait, writer) = state.withLockedValue {
                state -> (Element?, Result<Void, RelayError>?, Completion<Wakeup>?, Completion<Wakeup>?) in
                if state.count > 0 {
                    let element = state.queue[state.first]
                    state.first += 1
                    if state.first == state.queue.count {
                        state.queue.removeAll(keepingCapacity: true)
                        state.first = 0
                    } else if state.first >= 1_024 {
                        state.queue.removeFirst(state.first)
                        state.first = 0
                    }
                    guard state.count <= capacity / 2 else { return (element, nil, nil, nil) }
                    defer { state.writer = nil }
                    return (element, nil, nil, state.writer)
                }
                if let ending = state.ending { return (nil, ending, nil, nil) }
                let reader = Completion<Wakeup>()
                state.reader = reader
                return (nil, nil, reader, nil)
            }
            writer?.fulfil(.ready)
            if let element { return element }
            if let ending {
                try ending.get()
                return nil
            }
            guard let wait, await wait.value(onCancel: .cancelled) == .ready else { return nil }
        }
    }

    /// All elements that are at hand, at least one; nil at the end or when the task was cancelled.
    nonisolated(nonsending) func nextBatch() async throws(RelayError) -> [Element]? {
        guard let first = try await next() else { return nil }
        let (rest, writer) = state.withLockedValue { state -> (ArraySlice<Element>, Completion<Wakeup>?) in
            let rest = state.queue[state.first...]
            (state.queue, state.first) = ([], 0)
            defer { state.writer = nil }
            return (rest, state.writer)
        }
        writer?.fulfil(.ready)
        return [first] + rest
    }

    /// No element follows; what is queued can still be read.
    func close(_ ending: Result<Void, RelayError> = .success(())) {
        let (reader, writer) = state.withLockedValue { state in
            if state.ending == nil { state.ending = ending }
            defer {
                state.reader = nil
                state.writer = nil
            }
            return (state.reader, state.writer)
        }
        reader?.fulfil(.ready)
        writer?.fulfil(.ready)
    }
}
