/// An event of a run. A log is a list of these; ledger and timeline are made of nothing else.
public struct LabEvent: Hashable, Sendable {
    /// When it happened, counted from the run's start.
    public var at: LabTime
    /// What happened.
    public var kind: Kind

    /// Makes an event.
    public init(at: LabTime, _ kind: Kind) {
        self.at = at
        self.kind = kind
    }

    /// The kinds of events.
    public enum Kind: Hashable, Sendable {
        /// The run begins.
        case began(LabHeading)
        /// The connection's status has changed.
        case status(LabStatus)
        /// The round trip was measured.
        case roundTrip(LabTime)
        /// A fault began, ended, or struck once.
        case fault(LabFault)
        /// The number of messages waiting or in flight.
        case queued(Int)
        /// A message was given to the client under test.
        case sent(LabNumber)
        /// The client reported it as stored.
        case acknowledged(LabNumber)
        /// The client reported it as not sent, with its reason.
        case notSent(LabNumber, reason: String)
        /// The client reported that it does not know whether it was stored.
        case uncertain(LabNumber)
        /// A message was delivered.
        case received(LabNumber, isRecovered: Bool)
        /// A message of another writer was delivered.
        case arrived(topic: String, sequence: UInt64, isRecovered: Bool)
        /// Messages of a topic are missing.
        case missed(topic: String, count: Int)
        /// An expectation was met, or not met in time.
        case expectation(LabExpectationResult)
        /// A note for the log.
        case note(String)
        /// The run could not be completed, for this reason.
        case failed(String)
        /// The run is over. No event follows.
        case ended(LabFigures, passed: Bool)
    }
}

/// The circumstances of a run.
public struct LabHeading: Hashable, Codable, Sendable {
    /// The title of its scenario.
    public var title: String
    /// The random seed.
    public var seed: UInt64
    /// The name of the client's reconnection policy.
    public var policy: String
    /// The speed-up factor over real time.
    public var speed: Double
    /// The server, with its version if known.
    public var server: String?
    /// When it began, in ISO 8601.
    public var time: String?

    /// Makes a heading.
    public init(
        title: String, seed: UInt64, policy: String, speed: Double = 1, server: String? = nil, time: String? = nil
    ) {
        (self.title, self.seed, self.policy) = (title, seed, policy)
        (self.speed, self.server, self.time) = (speed, server, time)
    }
}

/// A connection's status, as recorded in a run.
public struct LabStatus: Hashable, Codable, Sendable {
    private enum CodingKeys: String, CodingKey {
        case state = "status", reason, words, attempt, retryIn, isSilent = "silent"
    }

    /// The state, named as in ``Relay/ConnectionStatus/State``.
    public var state: String
    /// The reason's name, such as `kicked`; nil if there is none.
    public var reason: String?
    /// The reason in words.
    public var words: String?
    /// The number of attempts; 0 while connected or idle.
    public var attempt = 0
    /// The time until the next attempt, while waiting for it.
    public var retryIn: LabTime?
    /// Whether the server does not answer although the connection is open.
    public var isSilent = false

    /// Whether messages can be sent.
    public var isConnected: Bool { state == "connected" }

    var name: String { isSilent ? "\(state), no answer" : state }
}

/// A fault of a run.
public struct LabFault: Hashable, Codable, Sendable {
    private enum CodingKeys: String, CodingKey { case name = "fault", detail, phase }

    /// The phase of a fault.
    public enum Phase: String, Hashable, Codable, Sendable {
        /// It begins and lasts.
        case began
        /// It has ended.
        case ended
        /// It happens in one moment, such as a cut.
        case struck
    }

    /// Its name, such as `refuse`.
    public var name: String
    /// Its details, such as a direction; empty for none.
    public var detail: String
    /// Its phase.
    public var phase: Phase

    var words: String { detail.isEmpty ? name : "\(name) \(detail)" }

    /// Makes a fault.
    public init(_ name: String, detail: String = "", _ phase: Phase) {
        (self.name, self.detail, self.phase) = (name, detail, phase)
    }
}

/// The result of an expectation.
public struct LabExpectationResult: Hashable, Codable, Sendable {
    private enum CodingKeys: String, CodingKey { case words, isMet = "met", took, instead }

    /// The expectation in words.
    public var words: String
    /// Whether it was met.
    public var isMet: Bool
    /// How long it took or was waited for.
    public var took: LabTime
    /// What differed; nil if it was met.
    public var instead: String?
}
