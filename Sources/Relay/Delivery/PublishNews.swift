/// The state of one message: everything that the core reports about it, on its way and at its end.
///
/// It contains only the message's identifier, so that following many messages does not retain their texts.
public struct PublishNews: Hashable, Sendable {
    /// The state of a message. The last four are final; each message reaches one.
    public enum State: Hashable, Sendable {
        /// Waiting in the outbox.
        case queued
        /// Sent, and not yet acknowledged.
        case sending
        /// Stored by the server with this sequence; a duplicate was stored by an earlier attempt.
        case acknowledged(sequence: UInt64, isDuplicate: Bool = false)
        /// Given up for this reason.
        case failed(RelayError)
        /// Removed from the queue when the session ended for this reason; the text can be sent again.
        case discarded(ConnectionReason)
        /// It was sent once, its answer was lost, and sending it again could store a second copy. Whether the first
        /// exists cannot be found out: sending it again may duplicate it, dropping it may lose it.
        case uncertain

        /// Whether nothing more will happen to the message.
        public var isFinal: Bool {
            switch self {
            case .queued, .sending: false
            case .acknowledged, .failed, .discarded, .uncertain: true
            }
        }
    }

    /// The message's identifier.
    public var id: String
    /// Its state.
    public var state: State
    /// For a message that was given up: whether the network may have it all the same, because an attempt was not
    /// answered. Sending it again may duplicate it.
    public var mayBeStored: Bool

    /// Creates news. An uncertain message may be stored.
    public init(id: String, state: State, mayBeStored: Bool = false) {
        self.id = id
        self.state = state
        self.mayBeStored = mayBeStored || state == .uncertain
    }
}
