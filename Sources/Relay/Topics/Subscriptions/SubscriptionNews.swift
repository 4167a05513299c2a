import NATS

/// The news of a subscription as events of its reader's own type.
struct SubscriptionWords<Event: Sendable>: Sendable {
    /// The reading, as a refusal names it.
    var operation: String
    /// A stored message, with its payload's bytes; with it comes the stream's incarnation, and whether the message was
    /// missed at first. With the event comes what the message has in common with its own repetition alone, if known.
    var message:
        @Sendable (
            StoredMessage, _ payload: UnsafeRawBufferPointer, _ incarnation: UInt64, _ isRecovered: Bool
        ) -> (Event, repetition: Int?)
    /// How many bytes an event takes where it is held, if they may be more than its message had.
    var heldBytes: (@Sendable (Event) -> Int)?
    /// Everything stored so far has been delivered.
    var live: Event
    /// So many messages are gone; nil where that is in the order of things.
    var lost: (@Sendable (UInt64) -> Event)?
    /// The stream was made anew.
    var restarted: Event?
    /// The subscription is interrupted for now; `passes` says whether that passes by itself.
    var interrupted: @Sendable (RelayError, _ passes: Bool) -> Event
    /// The stream lost its newest messages, and their sequences come again; nil where that is in the order of things.
    var rewound: Event?
    /// What the reader hears of the connection, and whether its loss ends the subscription; nil where it hears nothing.
    var standing: (policy: SubscriptionPolicy, told: @Sendable (PlatformSubscriptionStatus) -> Event)?
    /// Adds to messages that came together what has to be asked for; they wait for it.
    var completed: (@Sendable ([Event]) async -> [Event])?

    /// What has become of the stream, as far as the reader hears of it.
    func events(_ untold: StreamProgress.Untold) -> [Event] {
        [
            untold.isRestarted ? restarted : nil, untold.isRewound ? rewound : nil,
            untold.lost > 0 ? lost?(untold.lost) : nil,
        ].compactMap(\.self)
    }
}

/// What a subscription hands to its reader, and what it says of itself.
package enum SubscriptionNews<Event: Sendable>: Sendable {
    /// What the reader is to hear, in order, with how much it counts where bytes are limited. Messages that came
    /// together stay together on their way to the reader, so that none is copied.
    case events([Event], bytes: Int)
    /// What follows was stored before the present connection, until `live`.
    case catchingUp
    /// Everything up to this sequence has been delivered, whether or not the subscription takes it; what follows is
    /// new.
    case live(through: UInt64)

    /// One event.
    package static func event(_ event: Event, bytes: Int = 0) -> Self { .events([event], bytes: bytes) }

    /// How much it counts where a number is limited, and where bytes are.
    var weight: ChannelWeight {
        if case .events(let events, let bytes) = self {
            ChannelWeight(count: events.count, bytes: bytes)
        } else {
            .mark
        }
    }
}

/// A queue of the caller's own that takes the events of subscriptions as they come.
package protocol EventReceiver<Event>: Sendable {
    associatedtype Event: Sendable
    /// Waits until there is room for some hundred events; false when nothing is taken any more, or the task was
    /// cancelled.
    func waitForRoom() async -> Bool
    /// Takes events of a subscription that have come together, room or not.
    func receive(_ events: [Event], of subscription: String) async
    /// Takes an event of a subscription if there is room for it; false when there is none.
    func offer(_ event: Event, of subscription: String) -> Bool
}
