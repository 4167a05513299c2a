import DequeModule
import NATS
import NIOConcurrencyHelpers

/// How much an element counts in a ``BoundedChannel``.
struct ChannelWeight: Hashable, Sendable {
    /// How many things it stands for.
    var count = 1
    /// How many bytes they have.
    var bytes = 0

    /// What is news and takes no room.
    static let mark = ChannelWeight(count: 0)
}

/// A queue between one writer and one reader that makes the writer wait instead of growing, in number or in bytes.
final class BoundedChannel<Element: Sendable>: Sendable {
    enum Wakeup: Sendable { case ready, cancelled }

    private struct State {
        var queue: Deque<Element> = []
        /// What the elements that wait count.
        var waiting = ChannelWeight(count: 0)
        /// What is added as soon as there is room.
        var late: Element?
        var reader: Completion<Wakeup>?
        var writer: Completion<Wakeup>?
        var ending: Result<Void, RelayError>?
    }

    /// What a reader finds.
    private enum Found<Value> {
        case value(Value)
        case ended(Result<Void, RelayError>)
        case nothing(Completion<Wakeup>)
    }

    private let state = NIOLockedValueBox(State())
    private let capacity: Int
    private let byteLimit: Int
    private let weight: @Sendable (Element) -> ChannelWeight

    /// Creates a channel.
    ///
    /// - Parameters:
    ///   - capacity: how many may wait, by what the elements count; one element may count more.
    ///   - bytes: how many bytes they may have; one element may have more.
    ///   - weight: what an element counts.
    init(capacity: Int, bytes: Int = .max, weight: @escaping @Sendable (Element) -> ChannelWeight) {
        self.capacity = max(1, capacity)
        byteLimit = max(1, bytes)
        self.weight = weight
    }

    /// Whether the reader is gone or the channel was closed.
    var isClosed: Bool { state.withLockedValue { $0.ending != nil } }

    /// Whether the writer has to wait for the reader.
    var isFull: Bool { state.withLockedValue { isFull($0) } }

    /// Bytes of the elements that wait.
    var waitingBytes: Int { state.withLockedValue { $0.waiting.bytes } }

    private func isFull(_ state: State) -> Bool {
        state.waiting.count >= capacity || state.waiting.bytes >= byteLimit
    }

    /// Adds an element, waiting for room; false when the channel is closed or the task was cancelled.
    func send(_ element: consuming Element) async -> Bool {
        if case nil = await hand(consume element) { true } else { false }
    }

    /// Adds an element, waiting for room. Once the reader can have it, it is the reader's alone, who may take it apart
    /// without a copy.
    ///
    /// - Returns: the element, where the channel is closed or the task was cancelled.
    func hand(_ element: consuming Element) async -> Element? {
        let weight = weight(element)
        var held: Element? = consume element
        while true {
            let (isEnded, wait, reader) = state.withLockedValue {
                state -> (Bool, Completion<Wakeup>?, Completion<Wakeup>?) in
                guard state.ending == nil else { return (true, nil, nil) }
                guard !isFull(state) else {
                    let writer = Completion<Wakeup>()
                    state.writer = writer
                    return (false, writer, nil)
                }
                if let element = exchange(&held, with: nil) { append(element, weight, &state) }
                defer { state.reader = nil }
                return (false, nil, state.reader)
            }
            if isEnded { return held }
            reader?.fulfil(.ready)
            guard let wait else { return nil }
            guard await wait.value(onCancel: .cancelled) == .ready else { return held }
        }
    }

    /// Adds an element without waiting, beyond the bound if the channel is full: for rare events.
    ///
    /// - Parameter isLast: whether it takes the place of what waits for room.
    func mark(_ element: Element, isLast: Bool = false) {
        let weight = weight(element)
        let reader = state.withLockedValue { state -> Completion<Wakeup>? in
            guard state.ending == nil else { return nil }
            // What was told before comes before it.
            if isLast { state.late = nil } else { appendLate(&state) }
            append(element, weight, &state)
            defer { state.reader = nil }
            return state.reader
        }
        reader?.fulfil(.ready)
    }

    /// Adds an element without waiting: at once where there is room, and otherwise as soon as the reader has made some,
    /// in place of one that waits for that. It comes before whatever a writer adds later.
    func markWithRoom(_ element: Element) {
        let weight = weight(element)
        let reader = state.withLockedValue { state -> Completion<Wakeup>? in
            guard state.ending == nil else { return nil }
            guard !isFull(state) else {
                state.late = element
                return nil
            }
            append(element, weight, &state)
            defer { state.reader = nil }
            return state.reader
        }
        reader?.fulfil(.ready)
    }

    /// Adds what has waited for room.
    private func appendLate(_ state: inout State) {
        guard let late = exchange(&state.late, with: nil) else { return }
        append(late, weight(late), &state)
    }

    private func append(_ element: Element, _ weight: ChannelWeight, _ state: inout State) {
        state.queue.append(element)
        state.waiting.count += weight.count
        state.waiting.bytes += weight.bytes
    }

    /// The next element; nil at the end or when the task was cancelled.
    nonisolated(nonsending) func next() async throws(RelayError) -> Element? {
        try await taking { state in
            // Nothing else holds it then, so that its reader may take it apart.
            let element = state.queue.removeFirst()
            let weight = weight(element)
            state.waiting.count -= weight.count
            state.waiting.bytes -= weight.bytes
            return element
        }
    }

    /// All elements that are at hand, at least one; nil at the end or when the task was cancelled.
    nonisolated(nonsending) func nextBatch() async throws(RelayError) -> [Element]? {
        try await taking { state in
            state.waiting = ChannelWeight(count: 0)
            return Array(exchange(&state.queue, with: []))
        }
    }

    /// Waits until something is there, and takes it.
    private nonisolated(nonsending) func taking<Value>(
        _ take: (inout State) -> Value
    ) async throws(RelayError) -> Value? {
        while true {
            let (found, writer) = state.withLockedValue { state -> (Found<Value>, Completion<Wakeup>?) in
                if !state.queue.isEmpty {
                    let value = take(&state)
                    if !isFull(state) { appendLate(&state) }
                    guard state.waiting.count <= capacity / 2, state.waiting.bytes <= byteLimit / 2 else {
                        return (.value(value), nil)
                    }
                    defer { state.writer = nil }
                    return (.value(value), state.writer)
                }
                if let ending = state.ending { return (.ended(ending), nil) }
                let reader = Completion<Wakeup>()
                state.reader = reader
                return (.nothing(reader), nil)
            }
            writer?.fulfil(.ready)
            switch found {
            case .value(let value): return value
            case .ended(let ending):
                try ending.get()
                return nil
            case .nothing(let wait):
                guard await wait.value(onCancel: .cancelled) == .ready else { return nil }
            }
        }
    }

    /// No element follows; what is queued can still be read.
    func close(_ ending: Result<Void, RelayError> = .success(())) {
        let (reader, writer) = state.withLockedValue { state in
            if state.ending == nil {
                state.ending = ending
                appendLate(&state)
            }
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
