import Logging
import NATS
import Relay

/// Which parts of a network are on a cluster, how they differ from the plan, and what was done about it.
public struct ProvisionReport: Hashable, Sendable {
    /// The state of a part after the run.
    public enum State: String, Hashable, Sendable {
        /// It is as planned.
        case same
        /// It was missing and was made.
        case made
        /// It is missing.
        case missing
        /// It differed and was changed.
        case changed
        /// It differs.
        case different
        /// The servers did not say whether it exists.
        case unknown
        /// Its token is written, for the servers' administrators to install.
        case handOver
    }

    /// A part of the network: an account or a stream.
    public struct Part: Hashable, Sendable {
        /// Its kind and name, such as `account team` or `stream team_stream`.
        public var name: String
        /// Its state after the run.
        public var state: State
        /// The differences, each as part of a sentence.
        public var changes: [String] = []
        /// Those changes that would lose something and were not allowed.
        public var withheld: [String] = []

        func log(to log: Logger) {
            guard state != .same else { return }
            var metadata: Logger.Metadata = ["part": "\(name)", "state": "\(state)"]
            let made = changes.filter { !withheld.contains($0) }
            if !made.isEmpty { metadata["changes"] = "\(made.joined(separator: ", "))" }
            if !withheld.isEmpty { metadata["withheld"] = "\(withheld.joined(separator: ", "))" }
            log.log(level: state == .made ? .info : .notice, "a part of the network was checked", metadata: metadata)
        }
    }

    /// The parts, in the order in which they are made.
    public internal(set) var parts: [Part] = []

    mutating func add(_ part: Part, _ log: Logger) {
        parts.append(part)
        part.log(to: log)
    }

    /// Whether everything is now as planned.
    public var isComplete: Bool {
        parts.allSatisfy { part in [.same, .made, .changed].contains(part.state) && part.withheld.isEmpty }
    }

    /// Whether everything was already as planned.
    public var isUnchanged: Bool { parts.allSatisfy { $0.state == .same } }
}

extension AccountClaims {
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

    private static func lines(_ value: some Encodable) -> Set<String> {
        Set((json(value).mapValue?.entries ?? []).map { "\($0.key.stringValue ?? "") \(JSONText.text($0.value))" })
    }
}
