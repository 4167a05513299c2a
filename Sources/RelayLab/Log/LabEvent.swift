/// What happened at one moment of a run. A log is a list of these, and ledger and timeline are made of nothing else.
public struct LabEvent: Hashable, Sendable {
    /// When it happened, counted from the run's beginning.
    public var at: LabTime
    /// What happened.
    public var kind: Kind

    /// Makes an event.
    public init(at: LabTime, _ kind: Kind) {
        self.at = at
        self.kind = kind
    }

    /// What can happen.
    public enum Kind: Hashable, Sendable {
        /// The run begins.
        case began(LabHeading)
        /// The connection's status has changed.
        case status(LabStatus)
        /// The round trip was measured.
        case roundTrip(LabTime)
        /// A fault began, ended, or struck once.
        case fault(LabFault)
        /// So many messages wait or are under way.
        case queued(Int)
        /// A message was handed over to the client under test.
        case sent(LabNumber)
        /// The client said that the server has stored it.
        case acknowledged(LabNumber)
        /// The client said that it was not sent, with its reason.
        case notSent(LabNumber, reason: String)
        /// The client said that it does not know whether it was stored.
        case uncertain(LabNumber)
        /// A message was delivered.
        case received(LabNumber, isRecovered: Bool)
        /// A message of another writer was delivered.
        case arrived(topic: String, sequence: UInt64, isRecovered: Bool)
        /// Messages of a topic are missing.
        case missed(topic: String, count: Int)
        /// An expectation was looked at to its end.
        case expectation(LabExpectationResult)
        /// Something worth a line.
        case note(String)
        /// The run could not be carried through, for this reason.
        case failed(String)
        /// The run is over. Nothing comes behind it.
        case ended(LabFigures, passed: Bool)
    }
}

/// What a run was.
public struct LabHeading: Hashable, Codable, Sendable {
    /// What it rehearsed.
    public var title: String
    /// Where its chances came from.
    public var seed: UInt64
    /// The name of the policy by which the client tries again.
    public var policy: String
    /// How many times faster than in earnest its times passed.
    public var speed: Double
    /// The server, with its version where that is known.
    public var server: String?
    /// When it began, as ISO 8601.
    public var time: String?

    /// Makes a heading.
    public init(
        title: String, seed: UInt64, policy: String, speed: Double = 1, server: String? = nil, time: String? = nil
    ) {
        (self.title, self.seed, self.policy) = (title, seed, policy)
        (self.speed, self.server, self.time) = (speed, server, time)
    }
}

/// A connection's status, as a run keeps it.
public struct LabStatus: Hashable, Codable, Sendable {
    private enum CodingKeys: String, CodingKey {
        case state = "status", reason, words, attempt, retryIn, isSilent = "silent"
    }

    /// The state by the name that ``Relay/ConnectionStatus/State`` has for it.
    public var state: String
    /// The reason by its name, such as `kicked`; nil where there is none.
    public var reason: String?
    /// The reason in words.
    public var words: String?
    /// The number of attempts; 0 while connected or at rest.
    public var attempt = 0
    /// The time until the next attempt, while one is waited for.
    public var retryIn: LabTime?
    /// Whether the server answers nothing although the connection is open.
    public var isSilent = false

    /// Whether messages go through.
    public var isConnected: Bool { state == "connected" }

    var name: String { isSilent ? "\(state), no answer" : state }
}

/// A fault of a run.
public struct LabFault: Hashable, Codable, Sendable {
    private enum CodingKeys: String, CodingKey { case name = "fault", detail, phase }

    /// Where in its life it is.
    public enum Phase: String, Hashable, Codable, Sendable {
        /// It begins, and lasts.
        case began
        /// It is over.
        case ended
        /// It is over in the moment in which it comes, such as a cut.
        case struck
    }

    /// What it is called, such as `refuse`.
    public var name: String
    /// What else there is to say of it, such as a direction; empty for nothing.
    public var detail: String
    /// Where in its life it is.
    public var phase: Phase

    var words: String { detail.isEmpty ? name : "\(name) \(detail)" }

    /// Makes a fault.
    public init(_ name: String, detail: String = "", _ phase: Phase) {
        (self.name, self.detail, self.phase) = (name, detail, phase)
    }
}

/// How an expectation ended.
public struct LabExpectationResult: Hashable, Codable, Sendable {
    private enum CodingKeys: String, CodingKey { case words, isMet = "met", took, instead }

    /// What was expected.
    public var words: String
    /// Whether it came.
    public var isMet: Bool
    /// How long it took, or was waited for.
    public var took: LabTime
    /// What there was instead; nil where it came.
    public var instead: String?
}
