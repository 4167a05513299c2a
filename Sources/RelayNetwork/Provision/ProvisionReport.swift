import Logging
import NATS
import Relay

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

        /// Logs how the part stands, unless it is as planned.
        func log(to log: Logger) {
            guard state != .same else { return }
            var metadata: Logger.Metadata = ["part": "\(name)", "state": "\(state)"]
            let made = changes.filter { !withheld.contains($0) }
            if !made.isEmpty { metadata["changes"] = "\(made.joined(separator: ", "))" }
            if !withheld.isEmpty { metadata["withheld"] = "\(withheld.joined(separator: ", "))" }
            log.log(level: state == .made ? .info : .notice, "a part of the network was looked at", metadata: metadata)
        }
    }

    /// The parts, in the order in which they are made.
    public internal(set) var parts: [Part] = []

    mutating func add(_ part: Part, _ log: Logger) {
        parts.append(part)
        part.log(to: log)
    }

    /// Whether all is as planned by now.
    public var isComplete: Bool {
        parts.allSatisfy { part in [.same, .made, .changed].contains(part.state) && part.withheld.isEmpty }
    }

    /// Whether nothing was done, for there was nothing to do.
    public var isUnchanged: Bool { parts.allSatisfy { $0.state == .same } }
}

extension AccountClaims {
    /// What is otherwise in the token that servers have of an account, in words.
    func differences(from present: String) -> [String] {
        guard let claims = try? AccountClaims.decode(present) else { return ["its token cannot be read"] }
        var changes: [String] = []
        let (new, old) = (parts, claims.parts)
        for key in Set(new.keys).union(old.keys).sorted() where new[key] != old[key] {
            let (added, removed) = (new[key, default: []], old[key, default: []])
            changes += added.subtracting(removed).sorted().map { "\(key) + \($0)" }
            changes += removed.subtracting(added).sorted().map { "\(key) − \($0)" }
        }
        if expires != claims.expires {
            changes.append("end \(claims.expires.map { "\($0)" } ?? "none") → \(expires.map { "\($0)" } ?? "none")")
        }
        return changes
    }

    /// What the network decides of an account, by the name of each part.
    private var parts: [String: Set<String>] {
        [
            "limits": Self.lines(grant.limits), "signing key": Set((grant.signingKeys ?? []).map(\.key)),
            "export": Set((grant.exports ?? []).map { JSONText.text(Self.json($0)) }),
            "import": Set((grant.imports ?? []).map { JSONText.text(Self.json($0)) }),
            "revocation": Self.lines(grant.revocations), "mapping": Self.lines(grant.mappings),
            "default permission": Self.lines(grant.defaultPermissions),
        ]
    }

    private static func json(_ value: some Encodable) -> MessageValue {
        (try? JSONText.parse(bytes: Wire.json(value))) ?? .null
    }

    /// The entries of what is a map in JSON, each as a text.
    private static func lines(_ value: some Encodable) -> Set<String> {
        Set((json(value).mapValue?.entries ?? []).map { "\($0.key.stringValue ?? "") \(JSONText.text($0.value))" })
    }
}
