import NIOConcurrencyHelpers
import Relay
import Synchronization

/// Core news on its way to the thread that owns the screen. It is bounded, in number and in bytes: a sender of more
/// waits until there is room, and whatever it has not read yet stays where it is, ultimately on the server. Nothing is
/// dropped.
///
/// A topic's events are joined into one while they wait. Otherwise events stay in order of arrival; only those of
/// different topics, which are unrelated, may change places.
final class EventQueue: EventReceiver {
    /// The most that may wait: messages, or a quarter as many other events, and their bytes. One event of each sender
    /// may exceed both.
    static let capacity = 4_096
    private static let byteLimit = 4 << 20
    /// The most events of a topic that are joined, so that the input is looked at in between.
    static let batch = 128

    private let channel: BoundedChannel<ChatEvent>
    /// Sees the topics' messages for the lab while it runs.
    let labTap = NIOLockedValueBox<LabTap?>(nil)
    /// Whether an answer that the user is waiting for has arrived since `takeAnswerFlag` was last called.
    private let hasAnswer = Atomic(false)
    private let wake: @Sendable () -> Void

    /// - Parameter wake: called when the queue stops being empty, and for each answer that the user is waiting for.
    init(wake: @escaping @Sendable () -> Void) {
        self.wake = wake
        channel = BoundedChannel(
            capacity: Self.capacity, bytes: Self.byteLimit, weight: \.weight,
            key: { if case .topic(let name, _) = $0 { name } else { nil } }, join: Self.join, wake: wake)
    }

    /// Adds an event; waits while the queue is full.
    func send(_ event: ChatEvent) async {
        let isAnswer = event.isAnswer
        await channel.send(event, isPatient: true)
        if isAnswer { tellAnswer() }
    }

    /// Adds an event if there is room; returns false if not. A closed queue accepts and discards everything.
    func offer(_ event: ChatEvent) -> Bool {
        let isAnswer = event.isAnswer
        guard channel.offer(event) else { return false }
        if isAnswer { tellAnswer() }
        return true
    }

    // What topics tell, in batches.

    func waitForRoom() async -> Bool { await channel.waitForRoom() }
    func offer(_ event: TopicEvent, of topic: String) -> Bool { offer(.topic(topic, [event])) }

    func receive(_ events: [TopicEvent], of topic: String) async {
        channel.mark(.topic(topic, events))
        await labTap.withLockedValue(\.self)?.take(events, of: topic)
    }

    private func tellAnswer() {
        hasAnswer.store(true, ordering: .releasing)
        wake()
    }

    /// Takes the event that has waited longest and the number of messages it counts for; nil if none is waiting.
    func take() -> (event: ChatEvent, messages: Int)? {
        guard let event = channel.take() else { return nil }
        if case .topic(_, let events) = event { return (event, events.count) }
        return (event, 1)
    }

    /// Whether answers that the user is waiting for have arrived; true once for any number of them.
    func takeAnswerFlag() -> Bool { hasAnswer.exchange(false, ordering: .acquiringAndReleasing) }

    var waitingMessages: Int { channel.waiting.count }

    /// Stops accepting events, and discards those that wait.
    func close() {
        channel.close()
        while channel.take() != nil {}
    }

    private static let join: @Sendable (inout ChatEvent, ChatEvent) -> Bool = { last, next in
        guard case .topic(let name, let more) = next, case .topic(name, var events) = last,
            events.count + more.count <= batch
        else { return false }
        // Drops the other reference to the array, so that appending copies nothing.
        last = .log("")
        events += more
        last = .topic(name, events)
        return true
    }
}

extension ChatEvent {
    fileprivate var weight: ChannelWeight {
        switch self {
        case .topic(_, let events):
            ChannelWeight(count: events.count, bytes: events.reduce(0) { $0 + $1.heldBytes })
        case .past(_, let news):
            switch news {
            case .keptHistory(let messages, _, _, _), .history(let messages, _, _, _): Self.weight(of: messages)
            case .kept(let kept), .keptUnread(let kept): Self.weight(of: kept.messages)
            case .historyFailed: Self.other
            }
        default: Self.other
        }
    }

    private static let other = ChannelWeight(count: 4, bytes: 256)

    private static func weight(of messages: [TopicMessage]) -> ChannelWeight {
        ChannelWeight(count: max(4, messages.count), bytes: messages.reduce(256) { $0 + $1.heldBytes })
    }
}

extension TopicEvent {
    fileprivate var heldBytes: Int { if case .message(let message) = self { message.heldBytes } else { 256 } }
}
