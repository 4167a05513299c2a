import DequeModule
import NATS
import NIOConcurrencyHelpers

/// How much an element counts in a ``BoundedChannel``.
package struct ChannelWeight: Hashable, Sendable {
    /// How many things it stands for.
    package var count: Int
    package var bytes: Int

    package init(count: Int = 1, bytes: Int = 0) {
        self.count = count
        self.bytes = bytes
    }

    /// What is news and takes no room.
    static let mark = ChannelWeight(count: 0)
}

/// A queue between writers and one reader that makes the writers wait instead of growing, in number or in bytes.
package final class BoundedChannel<Element: Sendable>: Sendable {
    enum Wakeup: Sendable { case ready, cancelled }

    private struct Slot {
        var element: Element
        var weight: ChannelWeight
    }

    private struct State {
        var queue: Deque<Slot> = []
        /// How many elements were taken, and which of all waits as the last of its key.
        var taken = 0
        var open: [String: Int] = [:]
        /// What the elements that wait count.
        var waiting = ChannelWeight(count: 0)
        /// What is added as soon as there is room.
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
    ///   - capacity: how many may wait, by what the elements count; one element may count more.
    ///   - bytes: how many bytes they may have; one element may have more.
    ///   - weight: what an element counts.
    ///   - key: what an element is about; nil for one that everything behind it stays behind. Elements of different
    ///     keys may change places. Without this function all are about the same.
    ///   - join: adds an element to the last one of its key that waits; false where they stay apart.
    ///   - wake: called when something waits where nothing did, for a reader that does not wait here.
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

    /// Whether the writer has to wait for the reader.
    var isFull: Bool { state.withLockedValue { isFull($0) } }

    /// What the elements that wait count.
    package var waiting: ChannelWeight { state.withLockedValue(\.waiting) }

    private func isFull(_ state: State) -> Bool {
        state.waiting.count >= capacity || state.waiting.bytes >= byteLimit
    }

    /// Waits until there is room: a single writer may ``mark(_:isLast:)`` then, without a wait between what it reads
    /// and what it adds.
    ///
    /// - Parameter isPatient: whether a cancelled task waits, too.
    /// - Returns: false when the channel is closed or the task was cancelled.
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

    /// Adds an element, waiting for room. Once the reader can have it, it is the reader's alone, who may take it apart
    /// without a copy.
    ///
    /// - Parameter isPatient: whether a cancelled task waits for room, too.
    /// - Returns: false when the channel is closed or the task was cancelled.
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

    /// Adds an element if there is room; false when there is none. A channel that was closed forgets it.
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

    /// Adds an element without waiting, beyond the bound if the channel is full: for rare events, and for a writer that
    /// has waited for room.
    ///
    /// - Parameter isLast: whether it takes the place of what waits for room.
    package func mark(_ element: consuming Element, isLast: Bool = false) {
        let weight = weight(element)
        var held: Element? = consume element
        tell(
            state.withLockedValue { state in
                guard state.ending == nil else { return .ended }
                // What was told before comes before it.
                if isLast { state.late = nil } else { appendLate(&state) }
                return add(&held, weight, &state)
            })
    }

    /// Adds an element without waiting: at once where there is room, and otherwise as soon as the reader has made some,
    /// in place of one that waits for that. It comes before whatever a writer adds later.
    ///
    /// - Returns: whether nothing else waits.
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

    /// Adds what has waited for room. No reader waits then.
    private func appendLate(_ state: inout State) {
        guard state.late != nil else { return }
        let weight = state.late.map(weight) ?? .mark
        var held = exchange(&state.late, with: nil)
        _ = add(&held, weight, &state)
    }

    /// What adding an element has come to, and who is to hear of it.
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

    /// Where an element waits that this one may be joined to.
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

    /// The element that waits longest; nil where none does.
    package func take() -> Element? {
        let (element, writers) = state.withLockedValue { state in
            state.queue.isEmpty ? (nil, []) : taking(&state) { takeFirst(&$0) }
        }
        for writer in writers { writer.fulfil(.ready) }
        return element
    }

    /// The next element; nil at the end or when the task was cancelled.
    nonisolated(nonsending) func next() async throws(RelayError) -> Element? {
        try await waiting { self.takeFirst(&$0) }
    }

    /// All elements that are at hand, at least one; nil at the end or when the task was cancelled.
    ///
    /// - Parameter limit: what they count together at most, but for a single one that counts more.
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

    /// Nothing else holds the element then, so that its reader may take it apart.
    private func takeFirst(_ state: inout State) -> Element {
        let slot = state.queue.removeFirst()
        state.taken += 1
        state.waiting.count -= slot.weight.count
        state.waiting.bytes -= slot.weight.bytes
        return slot.element
    }

    /// Takes something, and finds who may write again: once half is free, so that nobody is woken for each element.
    private func taking<Value>(
        _ state: inout State, _ take: (inout State) -> Value
    ) -> (Value, writers: [Completion<Wakeup>]) {
        let value = take(&state)
        if !isFull(state) { appendLate(&state) }
        guard state.waiting.count <= capacity / 2, state.waiting.bytes <= byteLimit / 2 else { return (value, []) }
        return (value, exchange(&state.writers, with: []))
    }

    /// Waits until something is there, and takes it.
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

    /// No element follows; what is queued can still be read.
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
