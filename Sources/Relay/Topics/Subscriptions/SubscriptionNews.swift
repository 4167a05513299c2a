import NATS

/// Maps the news of a subscription to its reader's event type.
struct SubscriptionWords<Event: Sendable>: Sendable {
    var operation: String
    /// The event for a stored message, from its payload, the stream's incarnation, and whether the message was missed
    /// at first; and a hash that only the message and its repetitions share, if known.
    var message:
        @Sendable (
            StoredMessage, _ payload: UnsafeRawBufferPointer, _ incarnation: UInt64, _ isRecovered: Bool
        ) -> (Event, repetition: Int?)
    /// The memory that an event takes, if it may be more than its message's bytes.
    var heldBytes: (@Sendable (Event) -> Int)?
    /// Everything stored so far has been delivered.
    var live: Event
    /// This many messages are lost; nil if that is normal.
    var lost: (@Sendable (UInt64) -> Event)?
    var restarted: Event?
    /// The subscription is interrupted for now; `passes` says that this should end without help.
    var interrupted: @Sendable (RelayError, _ passes: Bool) -> Event
    /// The stream lost its newest messages, whose sequences are assigned again; nil if that is normal.
    var rewound: Event?
    /// The events for the connection's status, and whether its loss ends the subscription; nil for none.
    var standing: (policy: SubscriptionPolicy, told: @Sendable (PlatformSubscriptionStatus) -> Event)?
    /// Completes a batch of messages with data that has to be requested first.
    var completed: (@Sendable ([Event]) async -> [Event])?

    func events(_ untold: StreamProgress.Untold) -> [Event] {
        [
            untold.isRestarted ? restarted : nil, untold.isRewound ? rewound : nil,
            untold.lost > 0 ? lost?(untold.lost) : nil,
        ].compactMap(\.self)
    }
}

/// News of a subscription for its reader.
package enum SubscriptionNews<Event: Sendable>: Sendable {
    /// Events in order, with their total size in bytes. A batch stays together on its way to the reader, so that none
    /// is copied.
    case events([Event], bytes: Int)
    /// The following messages were stored before the present connection, until `live`.
    case catchingUp
    /// Everything up to this sequence has been delivered, whether or not it is for the subscription; what follows is
    /// new.
    case live(through: UInt64)

    package static func event(_ event: Event, bytes: Int = 0) -> Self { .events([event], bytes: bytes) }

    /// Its weight against limits of number and bytes.
    var weight: ChannelWeight {
        if case .events(let events, let bytes) = self {
            ChannelWeight(count: events.count, bytes: bytes)
        } else {
            .mark
        }
    }
}

/// A queue of the caller's for the events of subscriptions.
package protocol EventReceiver<Event>: Sendable {
    associatedtype Event: Sendable
    /// Waits until there is room for a few hundred events; false if no more are accepted, or the task was cancelled.
    func waitForRoom() async -> Bool
    /// Accepts a batch of a subscription's events, with or without room.
    func receive(_ events: [Event], of subscription: String) async
    /// Accepts an event of a subscription if there is room, else returns false.
    func offer(_ event: Event, of subscription: String) -> Bool
}
