/// How a publish ended. Each ends exactly once.
public enum PublishOutcome: Hashable, Sendable {
    /// The server stored it under this sequence of the stream; a duplicate was stored by an earlier attempt.
    case acknowledged(sequence: UInt64, duplicate: Bool)
    /// It will not be sent again, for this reason.
    case failed(RelayError)
    /// It was removed from the queue when the session ended for this reason; the text can be sent again.
    case discarded(ConnectionReason)
    /// It was sent once, the answer was lost, and by the time it could be sent again the server would have stored a
    /// second copy. Whether there is a first one cannot be found out: sending it again may repeat it, dropping it may
    /// lose it.
    case uncertain
}

/// Where a publish is.
public enum PublishState: Hashable, Sendable {
    /// Waiting in the outbox.
    case queued
    /// Sent, and not yet acknowledged.
    case sending
    /// Stored by the server under this sequence of the stream.
    case acknowledged(sequence: UInt64)
    /// Given up, for this reason.
    case failed(RelayError)
    /// Removed from the queue, for this reason.
    case discarded(ConnectionReason)
    /// Sent once, and whether it was stored cannot be found out (see ``PublishOutcome/uncertain``).
    case uncertain

    /// The state that an outcome leads to.
    public init(_ outcome: PublishOutcome) {
        self =
            switch outcome {
            case .acknowledged(let sequence, _): .acknowledged(sequence: sequence)
            case .failed(let error): .failed(error)
            case .discarded(let reason): .discarded(reason)
            case .uncertain: .uncertain
            }
    }

    /// Whether nothing more will happen to the message.
    public var isFinal: Bool {
        switch self {
        case .queued, .sending: false
        case .acknowledged, .failed, .discarded, .uncertain: true
        }
    }
}

/// Where one publish is now.
public struct PublishNews: Hashable, Sendable {
    /// The message's identifier.
    public var id: String
    /// Its state.
    public var state: PublishState
    /// Of a message that was given up: whether the network may have it all the same, as an attempt was not answered.
    /// Sent again, it may then be there twice.
    public var mayBeStored: Bool

    /// Creates news. What is uncertain may be stored.
    public init(id: String, state: PublishState, mayBeStored: Bool = false) {
        self.id = id
        self.state = state
        self.mayBeStored = mayBeStored || state == .uncertain
    }

    init(_ end: PublishResolution) {
        var isStored = false
        if case .acknowledged = end.outcome { isStored = true }
        self.init(id: end.id, state: PublishState(end.outcome), mayBeStored: end.mayBeStored && !isStored)
    }
}

/// A message's identifier together with how its publish ended.
public struct PublishResolution: Hashable, Sendable, Identifiable {
    /// The message's identifier.
    public let id: String
    /// How it ended.
    public let outcome: PublishOutcome
    /// Who waits for the end; no part of what a resolution says.
    let pending: PendingPublish?
    /// Whether the network may have the message although it did not end as acknowledged: an attempt was not answered.
    /// No part of what a resolution says.
    package let mayBeStored: Bool

    /// Makes a resolution.
    public init(id: String, outcome: PublishOutcome) {
        self.id = id
        self.outcome = outcome
        pending = nil
        mayBeStored = outcome == .uncertain
    }

    init(_ message: OutboxMessage, _ outcome: PublishOutcome, mayBeStored: Bool) {
        id = message.id
        self.outcome = outcome
        pending = message.pending
        self.mayBeStored = mayBeStored || outcome == .uncertain
    }

    /// Whether the same message ended in the same way.
    public static func == (left: PublishResolution, right: PublishResolution) -> Bool {
        left.id == right.id && left.outcome == right.outcome
    }

    /// Hashes the identifier.
    public func hash(into hasher: inout Hasher) { hasher.combine(id) }
}
