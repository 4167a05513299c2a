import NIOConcurrencyHelpers
import Relay

/// Core news on its way to the thread that owns the screen. It is bounded, in number and in bytes: a sender of more
/// waits until there is room, and what it has not taken yet stays where it is, in the end on the server. Nothing is
/// dropped.
///
/// Messages of one topic that wait together become one event. Otherwise the order is that in which the events came;
/// only messages of different topics, which have nothing to do with each other, may change places.
final class EventQueue: Sendable {
    /// One event, or the messages of one topic.
    private struct Entry {
        var event: ChatEvent?
        var topic = ""
        var messages: [TopicMessage] = []
        var weight = Weight()
    }

    /// What waits, or a part of it.
    private struct Weight {
        var messages = 0
        var bytes = 0

        static func + (left: Weight, right: Weight) -> Weight {
            Weight(messages: left.messages + right.messages, bytes: left.bytes + right.bytes)
        }

        static func - (left: Weight, right: Weight) -> Weight {
            Weight(messages: left.messages - right.messages, bytes: left.bytes - right.bytes)
        }
    }

    private struct State {
        /// Those before `first` are taken.
        var entries: [Entry] = []
        var first = 0
        /// Entries that may still take messages of their topic, by their index.
        var open: [String: Int] = [:]
        var waiting = Weight()
        var waiters: [CheckedContinuation<Void, Never>] = []
        /// Whether an answer that a person waits for has come since this was asked last.
        var hasAnswer = false
        var isClosed = false

        var count: Int { entries.count - first }

        func isFull(_ part: Int = 1) -> Bool {
            count >= EventQueue.capacity / part || waiting.messages >= EventQueue.messageLimit / part
                || waiting.bytes >= EventQueue.byteLimit / part
        }

        mutating func append(_ entry: Entry) {
            entries.append(entry)
            waiting = waiting + entry.weight
        }

        mutating func takeFirst() -> Entry? {
            guard first < entries.count else { return nil }
            let entry = entries[first]
            entries[first] = Entry()
            if open[entry.topic] == first { open[entry.topic] = nil }
            first += 1
            waiting = waiting - entry.weight
            // Given up in large parts, so that it costs next to nothing for each.
            if first == entries.count {
                entries.removeAll(keepingCapacity: true)
                open.removeAll(keepingCapacity: true)
                first = 0
                hasAnswer = false
            } else if first >= EventQueue.capacity {
                let taken = first
                entries.removeFirst(taken)
                open = open.mapValues { $0 - taken }
                first = 0
            }
            return entry
        }
    }

    /// Events that wait at most.
    private static let capacity = 1_024
    /// Messages that wait at most, and the bytes of what waits; one event may exceed them.
    private static let messageLimit = 4_096
    private static let byteLimit = 4 << 20
    /// Messages that one event carries at most, so that the input is looked at between them.
    static let batch = 128

    private let state = NIOLockedValueBox(State())
    private let wake: @Sendable () -> Void

    /// - Parameter wake: called when something waits where nothing did, and with each answer that a person waits for.
    init(wake: @escaping @Sendable () -> Void) { self.wake = wake }

    /// Adds an event; waits while the queue is full.
    func send(_ event: ChatEvent) async {
        while !offer(event) {
            await withCheckedContinuation { continuation in
                let isFree = state.withLockedValue { state in
                    if state.isClosed || !state.isFull() { return true }
                    state.waiters.append(continuation)
                    return false
                }
                if isFree { continuation.resume() }
            }
        }
    }

    /// Adds an event if there is room; false when there is none. Once the queue is closed, it takes and forgets
    /// everything.
    func offer(_ event: ChatEvent) -> Bool {
        let weight = Self.weight(of: event)
        let (isTaken, wakes) = state.withLockedValue { state -> (Bool, Bool) in
            guard !state.isClosed else { return (true, false) }
            guard !state.isFull() else { return (false, false) }
            let isAnswer = event.isAnswer
            if isAnswer { state.hasAnswer = true }
            let wakes = isAnswer || state.count == 0
            guard case .topic(let name, .messages(let messages)) = event else {
                // What comes behind it stays behind it.
                state.open.removeAll(keepingCapacity: true)
                state.append(Entry(event: event, weight: weight))
                return (true, wakes)
            }
            if let index = state.open[name], state.entries[index].messages.count + messages.count <= Self.batch {
                state.entries[index].messages.append(contentsOf: messages)
                state.entries[index].weight = state.entries[index].weight + weight
                state.waiting = state.waiting + weight
                return (true, false)
            }
            state.open[name] = state.entries.count
            state.append(Entry(topic: name, messages: messages, weight: weight))
            return (true, wakes)
        }
        if wakes { wake() }
        return isTaken
    }

    /// Takes the event that waits longest, with how many messages it brings; nil when none waits.
    func take() -> (event: ChatEvent, messages: Int)? {
        let (entry, waiters) = state.withLockedValue { state -> (Entry?, [CheckedContinuation<Void, Never>]) in
            let entry = state.takeFirst()
            // Senders begin anew when half is free, so that they do not take turns with every event.
            if state.waiters.isEmpty || state.isFull(2) { return (entry, []) }
            let waiters = state.waiters
            state.waiters = []
            return (entry, waiters)
        }
        for waiter in waiters { waiter.resume() }
        guard let entry else { return nil }
        return (entry.event ?? .topic(entry.topic, .messages(entry.messages)), max(1, entry.weight.messages))
    }

    /// Whether an answer has come that a person waits for; true once for any number of them.
    func takeAnswerFlag() -> Bool { state.withLockedValue { exchange(&$0.hasAnswer, with: false) } }

    /// How many messages wait.
    var waitingMessages: Int { state.withLockedValue { $0.waiting.messages } }

    /// Events are no longer taken.
    func close() {
        let waiters = state.withLockedValue { state in
            let waiters = state.waiters
            state = State()
            state.isClosed = true
            return waiters
        }
        for waiter in waiters { waiter.resume() }
    }

    // MARK: Weight

    private static func weight(of event: ChatEvent) -> Weight {
        guard case .topic(_, let news) = event else { return Weight(messages: 0, bytes: 256) }
        switch news {
        case .messages(let messages), .keptHistory(let messages, _, _), .history(let messages, _, _, _):
            return weight(of: messages)
        case .kept(let kept), .keptUnread(let kept): return weight(of: kept.messages)
        case .live, .gap, .restarted, .historyFailed, .failed: return Weight(messages: 0, bytes: 256)
        }
    }

    private static func weight(of messages: [TopicMessage]) -> Weight {
        Weight(messages: messages.count, bytes: messages.reduce(0) { $0 + $1.heldBytes })
    }
}
