import NATS
import NIOConcurrencyHelpers

/// A queue between one writer and one reader that makes the writer wait instead of growing, in elements or in bytes.
final class BoundedChannel<Element: Sendable>: Sendable {
    enum Wakeup: Sendable { case ready, cancelled }

    private struct State {
        var queue: [Element] = []
        var first = 0
        /// Bytes of the elements that wait.
        var bytes = 0
        /// Bytes of the elements that were taken and still lie before the first.
        var passedBytes = 0
        var reader: Completion<Wakeup>?
        var writer: Completion<Wakeup>?
        var ending: Result<Void, RelayError>?

        var count: Int { queue.count - first }

        /// Gives up what was taken.
        mutating func compact() {
            if first == queue.count {
                queue.removeAll(keepingCapacity: true)
            } else {
                queue.removeFirst(first)
            }
            first = 0
            passedBytes = 0
        }
    }

    private let state = NIOLockedValueBox(State())
    private let capacity: Int
    private let byteLimit: Int
    private let cost: @Sendable (Element) -> Int

    /// Creates a channel.
    ///
    /// - Parameters:
    ///   - capacity: how many elements may wait.
    ///   - bytes: how many bytes they may have; one element may have more.
    ///   - cost: an element's bytes.
    init(capacity: Int, bytes: Int = .max, cost: @escaping @Sendable (Element) -> Int = { _ in 0 }) {
        self.capacity = max(1, capacity)
        byteLimit = max(1, bytes)
        self.cost = cost
    }

    /// Whether the reader is gone or the channel was closed.
    var isClosed: Bool { state.withLockedValue { $0.ending != nil } }

    /// Whether the writer has to wait for the reader.
    var isFull: Bool { state.withLockedValue { isFull($0) } }

    /// Bytes of the elements that wait.
    var waitingBytes: Int { state.withLockedValue { $0.bytes } }

    private func isFull(_ state: State) -> Bool { state.count >= capacity || state.bytes >= byteLimit }

    /// Adds an element, waiting for room; false when the channel is closed or the task was cancelled.
    func send(_ element: Element) async -> Bool { await send(contentsOf: [element]) == 1 }

    /// Adds elements in their order, waiting for room for the next of them. The channel may go beyond its bound by as many
    /// as there are.
    ///
    /// - Parameter bytes: the bytes of all of them, where known.
    /// - Returns: how many were added: fewer than there are when the channel is closed or the task was cancelled.
    func send(contentsOf elements: [Element], bytes: Int? = nil) async -> Int {
        let bytes = bytes ?? elements.reduce(0) { $0 + cost($1) }
        while true {
            let (isDone, wait, reader) = state.withLockedValue {
                state -> (Bool?, Completion<Wakeup>?, Completion<Wakeup>?) in
                guard state.ending == nil else { return (false, nil, nil) }
                guard !isFull(state) else {
                    let writer = Completion<Wakeup>()
                    state.writer = writer
                    return (nil, writer, nil)
                }
                state.queue.append(contentsOf: elements)
                state.bytes += bytes
                defer { state.reader = nil }
                return (true, nil, state.reader)
            }
            reader?.fulfil(.ready)
            if let isDone { return isDone ? elements.count : 0 }
            guard let wait, await wait.value(onCancel: .cancelled) == .ready else { return 0 }
        }
    }

    /// Adds an element without waiting, beyond the bound if the channel is full: for rare events.
    func mark(_ element: Element) {
        let reader = state.withLockedValue { state -> Completion<Wakeup>? in
            guard state.ending == nil else { return nil }
            state.queue.append(element)
            defer { state.reader = nil }
            return state.reader
        }
        reader?.fulfil(.ready)
    }

    /// The next element; nil at the end or when the task was cancelled.
    nonisolated(nonsending) func next() async throws(RelayError) -> Element? {
        while true {
            let (element, ending, wait, writer) = state.withLockedValue {
                state -> (Element?, Result<Void, RelayError>?, Completion<Wakeup>?, Completion<Wakeup>?) in
                if state.count > 0 {
                    let element = state.queue[state.first]
                    let bytes = cost(element)
                    state.first += 1
                    state.bytes -= bytes
                    state.passedBytes += bytes
                    if state.first == state.queue.count || state.first >= 1_024 || state.passedBytes >= byteLimit / 4 {
                        state.compact()
                    }
                    guard state.count <= capacity / 2, state.bytes <= byteLimit / 2 else {
                        return (element, nil, nil, nil)
                    }
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
            (state.queue, state.first, state.bytes, state.passedBytes) = ([], 0, 0, 0)
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
