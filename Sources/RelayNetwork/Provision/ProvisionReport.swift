/// What of a network is on a cluster, what is otherwise there, and what was done about it: a pure value.
public struct ProvisionReport: Hashable, Sendable {
    /// How a part of the network stands now.
    public enum State: String, Hashable, Sendable {
        /// It is as planned.
        case same
        /// It was not there and was made.
        case made
        /// It is not there.
        case missing
        /// It was otherwise and was changed.
        case changed
        /// It is otherwise.
        case different
        /// The servers did not say whether it is there.
        case unknown
        /// Its token is written, and is to be handed to the servers by those who administer them.
        case handOver
    }

    /// A part of the network: an account, a stream, or the one token or bucket of each user.
    public struct Part: Hashable, Sendable {
        /// What it is, such as `account team` or `stream team_stream`.
        public var name: String
        /// How it stands now.
        public var state: State
        /// What is otherwise, or was; each as a sentence's part.
        public var changes: [String] = []
        /// Those of them that cost something, and were not asked for.
        public var withheld: [String] = []
    }

    /// The parts, in the order in which they are made.
    public internal(set) var parts: [Part] = []

    /// Whether all is as planned by now.
    public var isComplete: Bool {
        parts.allSatisfy { part in
            [.same, .made, .changed].contains(part.state) && part.withheld.isEmpty
        }
    }

    /// Whether nothing was done, for there was nothing to do.
    public var isUnchanged: Bool { parts.allSatisfy { $0.state == .same } }
}
