import NIOConcurrencyHelpers
import Relay
import Synchronization

/// Core news on its way to the thread that owns the screen. It is bounded, in number and in bytes: a sender of more
/// waits until there is room, and what it has not taken yet stays where it is, in the end on the server. Nothing is
/// dropped.
///
/// What one topic tells becomes one event while it waits. Otherwise the order is that in which the events came; only
/// what different topics tell, which have nothing to do with each other, may change places.
final class EventQueue: EventReceiver {
    /// What waits at most: messages, or a fourth as many other events, and their bytes; one event of each sender may
    /// exceed them.
    static let capacity = 4_096
    private static let byteLimit = 4 << 20
    /// So much of one topic is joined at most, so that the input is looked at in between.
    static let batch = 128

    private let channel: BoundedChannel<ChatEvent>
    /// What sees the topics' messages for the lab while that runs.
    let labTap = NIOLockedValueBox<LabTap?>(nil)
    /// Whether an answer that a person waits for has come since this was asked last.
    private let hasAnswer = Atomic(false)
    private let wake: @Sendable () -> Void

    /// - Parameter wake: called when something waits where nothing did, and with each answer that a person waits for.
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

    /// Adds an event if there is room; false when there is none. Once the queue is closed, it takes and forgets
    /// everything.
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

    /// Takes the event that waits longest, with how many messages it counts for; nil when none waits.
    func take() -> (event: ChatEvent, messages: Int)? {
        guard let event = channel.take() else { return nil }
        if case .topic(_, let events) = event { return (event, events.count) }
        return (event, 1)
    }

    /// Whether an answer has come that a person waits for; true once for any number of them.
    func takeAnswerFlag() -> Bool { hasAnswer.exchange(false, ordering: .acquiringAndReleasing) }

    /// How many messages wait.
    var waitingMessages: Int { channel.waiting.count }

    /// Events are no longer taken.
    func close() {
        channel.close()
        while channel.take() != nil {}
    }

    private static let join: @Sendable (inout ChatEvent, ChatEvent) -> Bool = { last, next in
        guard case .topic(let name, let more) = next, case .topic(name, var events) = last,
            events.count + more.count <= batch
        else { return false }
        // Held once, so that nothing is copied.
        last = .log("")
        events += more
        last = .topic(name, events)
        return true
    }
}

extension ChatEvent {
    /// What it counts where what waits is bounded.
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
