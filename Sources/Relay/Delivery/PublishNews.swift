/// Where one message is now: all that the core tells of it, on its way and at its end.
///
/// It names the message alone, and carries nothing of it: whoever follows many messages does not hold their texts.
public struct PublishNews: Hashable, Sendable {
    /// Where a message is. The last four are ends; each message has one.
    public enum State: Hashable, Sendable {
        /// Waiting in the outbox.
        case queued
        /// Sent, and not yet acknowledged.
        case sending
        /// Stored by the server under this sequence of the stream; a duplicate was stored by an earlier attempt.
        case acknowledged(sequence: UInt64, isDuplicate: Bool = false)
        /// Given up, for this reason.
        case failed(RelayError)
        /// Removed from the queue when the session ended for this reason; the text can be sent again.
        case discarded(ConnectionReason)
        /// It was sent once, the answer was lost, and by the time it could be sent again the server would have stored a
        /// second copy. Whether there is a first one cannot be found out: sending it again may repeat it, dropping it
        /// may lose it.
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
    /// Of a message that was given up: whether the network may have it all the same, as an attempt was not answered.
    /// Sent again, it may then be there twice.
    public var mayBeStored: Bool

    /// Creates news. What is uncertain may be stored.
    public init(id: String, state: State, mayBeStored: Bool = false) {
        self.id = id
        self.state = state
        self.mayBeStored = mayBeStored || state == .uncertain
    }
}
