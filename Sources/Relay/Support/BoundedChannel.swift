import DequeModule
import NATS
import NIOConcurrencyHelpers

/// The weight of an element in a ``BoundedChannel``.
package struct ChannelWeight: Hashable, Sendable {
    /// The number of items that it stands for.
    package var count: Int
    package var bytes: Int

    package init(count: Int = 1, bytes: Int = 0) {
        self.count = count
        self.bytes = bytes
    }

    /// A mark, which takes no room.
    static let mark = ChannelWeight(count: 0)
}

/// A queue between writers and one reader. It is limited in number and bytes: writers wait instead of letting it grow.
package final class BoundedChannel<Element: Sendable>: Sendable {
    enum Wakeup: Sendable { case ready, cancelled }

    private struct Slot {
        var element: Element
        var weight: ChannelWeight
    }

    private struct State {
        var queue: Deque<Slot> = []
        /// The number of elements taken so far, and the last waiting element of each key, counted from the first ever.
        var taken = 0
        var open: [String: Int] = [:]
        var waiting = ChannelWeight(count: 0)
        /// Added as soon as there is room.
        var late: Element?
        var reader: Completion<Wakeup>?
        var writers: [Completion<Wakeup>] = []
        var ending: Result<Void, RelayError>?
    }

    private enum Found<Value> {
        case value(Value)
        case ended(Result<Void, RelayError>)
        case nothing(Completion<Wakeup>)
    }

    private let state = NIOLockedValueBox(State())
    private let capacity: Int
    private let byteLimit: Int
    private let weight: @Sendable (Element) -> ChannelWeight
    private let key: (@Sendable (Element) -> String?)?
    private let join: (@Sendable (inout Element, Element) -> Bool)?
    private let wake: (@Sendable () -> Void)?

    /// Creates a channel.
    ///
    /// - Parameters:
    ///   - capacity: The most waiting items, by the elements' weight; a single element may exceed it.
    ///   - bytes: The most waiting bytes; a single element may exceed it.
    ///   - weight: The weight of an element.
    ///   - key: The key of an element; nil for one that no later element may overtake. Elements with different keys may
    ///     be reordered. Without this function all have the same key.
    ///   - join: Merges an element into the last waiting one with its key; false if they stay separate.
    ///   - wake: Called when the first element waits, for a reader that does not wait here.
    package init(
        capacity: Int, bytes: Int = .max, weight: @escaping @Sendable (Element) -> ChannelWeight,
        key: (@Sendable (Element) -> String?)? = nil, join: (@Sendable (inout Element, Element) -> Bool)? = nil,
        wake: (@Sendable () -> Void)? = nil
    ) {
        self.capacity = max(1, capacity)
        byteLimit = max(1, bytes)
        self.weight = weight
        self.key = key
        self.join = join
        self.wake = wake
    }

    /// Whether the reader is gone or the channel was closed.
    package var isClosed: Bool { state.withLockedValue { $0.ending != nil } }

    /// Whether a writer must wait for the reader.
    var isFull: Bool { state.withLockedValue { isFull($0) } }

    package var waiting: ChannelWeight { state.withLockedValue(\.waiting) }

    private func isFull(_ state: State) -> Bool { state.waiting.count >= capacity || state.waiting.bytes >= byteLimit }

    /// Waits until there is room: a single writer may then read something and ``mark(_:isLast:)`` it without waiting.
    ///
    /// - Parameter isPatient: Whether a cancelled task waits too.
    /// - Returns: False if the channel is closed or the task was cancelled.
    package func waitForRoom(isPatient: Bool = false) async -> Bool {
        while true {
            let (isOpen, writer) = state.withLockedValue { state -> (Bool, Completion<Wakeup>?) in
                guard state.ending == nil, isFull(state) else { return (state.ending == nil, nil) }
                let writer = Completion<Wakeup>()
                state.writers.append(writer)
                return (true, writer)
            }
            guard let writer else { return isOpen }
            if isPatient {
                _ = await writer.value()
            } else if await writer.value(onCancel: .cancelled) != .ready {
                state.withLockedValue { state in state.writers.removeAll { $0 === writer } }
                return false
            }
        }
    }

    /// Adds an element, waiting for room. Only the reader then holds it, and may modify it without a copy.
    ///
    /// - Parameter isPatient: Whether a cancelled task waits for room too.
    /// - Returns: False if the channel is closed or the task was cancelled.
    @discardableResult
    package func send(_ element: consuming Element, isPatient: Bool = false) async -> Bool {
        let weight = weight(element)
        var held: Element? = consume element
        while await waitForRoom(isPatient: isPatient) {
            // Another writer may have been quicker.
            if offer(&held, weight) { return held == nil }
        }
        return false
    }

    /// Adds an element if there is room, else returns false. A closed channel drops it.
    package func offer(_ element: consuming Element) -> Bool {
        let weight = weight(element)
        var held: Element? = consume element
        return offer(&held, weight)
    }

    private func offer(_ held: inout Element?, _ weight: ChannelWeight) -> Bool {
        let added = state.withLockedValue { state -> Added? in
            guard state.ending == nil else { return .ended }
            return isFull(state) ? nil : add(&held, weight, &state)
        }
        if let added { tell(added) }
        return added != nil
    }

    /// Adds an element without waiting, even if the channel is full: for rare events, and for a writer that has waited
    /// for room.
    ///
    /// - Parameter isLast: Whether it replaces an element that waits for room.
    package func mark(_ element: consuming Element, isLast: Bool = false) {
        let weight = weight(element)
        var held: Element? = consume element
        tell(
            state.withLockedValue { state in
                guard state.ending == nil else { return .ended }
                // An earlier element comes first.
                if isLast { state.late = nil } else { appendLate(&state) }
                return add(&held, weight, &state)
            })
    }

    /// Adds an element without waiting: at once if there is room, otherwise as soon as the reader makes some, replacing
    /// one that waits for that. It precedes later elements.
    ///
    /// - Returns: Whether nothing else waits.
    @discardableResult
    func markWithRoom(_ element: Element) -> Bool {
        let weight = weight(element)
        var held: Element? = element
        let added = state.withLockedValue { state -> Added in
            guard state.ending == nil else { return .ended }
            guard isFull(state) else { return add(&held, weight, &state) }
            state.late = element
            return .ended
        }
        tell(added)
        return if case .alone = added { true } else { false }
    }

    /// Adds the element that waited for room. No reader is waiting then.
    private func appendLate(_ state: inout State) {
        guard state.late != nil else { return }
        let weight = state.late.map(weight) ?? .mark
        var held = exchange(&state.late, with: nil)
        _ = add(&held, weight, &state)
    }

    /// The result of adding an element, and the reader to wake.
    private enum Added {
        case ended
        case behindOthers(Completion<Wakeup>?)
        case alone(Completion<Wakeup>?)
    }

    private func add(_ held: inout Element?, _ weight: ChannelWeight, _ state: inout State) -> Added {
        guard let element = exchange(&held, with: nil) else { return .ended }
        let reader = exchange(&state.reader, with: nil)
        state.waiting.count += weight.count
        state.waiting.bytes += weight.bytes
        if let join, let place = neighbour(of: element, &state), join(&state.queue[place].element, element) {
            state.queue[place].weight.count += weight.count
            state.queue[place].weight.bytes += weight.bytes
            return .behindOthers(reader)
        }
        if let name = key?(element) { state.open[name] = state.taken + state.queue.count }
        state.queue.append(Slot(element: element, weight: weight))
        return state.queue.count == 1 ? .alone(reader) : .behindOthers(reader)
    }

    /// The index of the waiting element that this one may be merged into.
    private func neighbour(of element: Element, _ state: inout State) -> Int? {
        guard let key else { return state.queue.isEmpty ? nil : state.queue.count - 1 }
        guard let name = key(element) else {
            state.open.removeAll(keepingCapacity: true)
            return nil
        }
        guard let place = state.open[name], place >= state.taken else { return nil }
        return place - state.taken
    }

    private func tell(_ added: Added) {
        switch added {
        case .ended: break
        case .behindOthers(let reader): reader?.fulfil(.ready)
        case .alone(let reader):
            reader?.fulfil(.ready)
            wake?()
        }
    }

    /// The element that has waited longest, if any.
    package func take() -> Element? {
        let (element, writers) = state.withLockedValue { state in
            state.queue.isEmpty ? (nil, []) : taking(&state) { takeFirst(&$0) }
        }
        for writer in writers { writer.fulfil(.ready) }
        return element
    }

    /// The next element; nil at the end or if the task was cancelled.
    nonisolated(nonsending) func next() async throws(RelayError) -> Element? {
        try await waiting { self.takeFirst(&$0) }
    }

    /// All elements at hand, at least one; nil at the end or if the task was cancelled.
    ///
    /// - Parameter limit: Their greatest total count; a single one may exceed it.
    nonisolated(nonsending) func nextBatch(upTo limit: Int = .max) async throws(RelayError) -> [Element]? {
        try await waiting { state in
            guard limit < state.waiting.count else {
                state.waiting = .mark
                state.taken += state.queue.count
                return exchange(&state.queue, with: []).map(\.element)
            }
            let before = state.waiting.count
            var elements = [self.takeFirst(&state)]
            while let next = state.queue.first, before - state.waiting.count + next.weight.count <= limit {
                elements.append(self.takeFirst(&state))
            }
            return elements
        }
    }

    /// Removes the first element, so that the reader may modify it without a copy.
    private func takeFirst(_ state: inout State) -> Element {
        let slot = state.queue.removeFirst()
        state.taken += 1
        state.waiting.count -= slot.weight.count
        state.waiting.bytes -= slot.weight.bytes
        return slot.element
    }

    /// Takes something, and returns the writers to wake: once half is free, so that none is woken for each element.
    private func taking<Value>(
        _ state: inout State, _ take: (inout State) -> Value
    ) -> (Value, writers: [Completion<Wakeup>]) {
        let value = take(&state)
        if !isFull(state) { appendLate(&state) }
        guard state.waiting.count <= capacity / 2, state.waiting.bytes <= byteLimit / 2 else { return (value, []) }
        return (value, exchange(&state.writers, with: []))
    }

    /// Waits for an element, and takes it.
    private nonisolated(nonsending) func waiting<Value>(
        _ take: (inout State) -> Value
    ) async throws(RelayError) -> Value? {
        while true {
            let (found, writers) = state.withLockedValue { state -> (Found<Value>, [Completion<Wakeup>]) in
                guard state.queue.isEmpty else {
                    let (value, writers) = taking(&state, take)
                    return (.value(value), writers)
                }
                if let ending = state.ending { return (.ended(ending), []) }
                let reader = Completion<Wakeup>()
                state.reader = reader
                return (.nothing(reader), [])
            }
            for writer in writers { writer.fulfil(.ready) }
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

    /// No more elements follow; queued ones can still be read.
    package func close(_ ending: Result<Void, RelayError> = .success(())) {
        let (reader, writers) = state.withLockedValue { state in
            if state.ending == nil {
                state.ending = ending
                appendLate(&state)
            }
            return (exchange(&state.reader, with: nil), exchange(&state.writers, with: []))
        }
        reader?.fulfil(.ready)
        for writer in writers { writer.fulfil(.ready) }
    }
}
