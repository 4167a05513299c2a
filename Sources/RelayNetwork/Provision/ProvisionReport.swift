import NATS
import Platform
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
    }

    /// The parts, in the order in which they are made.
    public internal(set) var parts: [Part] = []

    /// Whether all is as planned by now.
    public var isComplete: Bool {
        parts.allSatisfy { part in [.same, .made, .changed].contains(part.state) && part.withheld.isEmpty }
    }

    /// Whether nothing was done, for there was nothing to do.
    public var isUnchanged: Bool { parts.allSatisfy { $0.state == .same } }
}

/// What the token of an account on a server lacks of the one that was planned: a pure value.
struct AccountDifference: Hashable, Sendable {
    /// What is otherwise, in words; none for an account that is as planned, or missing.
    let changes: [String]
    let isMissing: Bool

    init(_ planned: AccountClaims, present: String?) {
        guard let present else {
            (changes, isMissing) = ([], true)
            return
        }
        isMissing = false
        guard let claims = try? AccountClaims.decode(present) else {
            changes = ["its token cannot be read"]
            return
        }
        var changes: [String] = []
        let (new, old) = (Self.parts(planned), Self.parts(claims))
        for key in Set(new.keys).union(old.keys).sorted() where new[key] != old[key] {
            let (added, removed) = (new[key, default: []], old[key, default: []])
            changes += added.subtracting(removed).sorted().map { "\(key) + \($0)" }
            changes += removed.subtracting(added).sorted().map { "\(key) − \($0)" }
        }
        if planned.expires != claims.expires {
            changes.append("end \(Self.end(claims.expires)) → \(Self.end(planned.expires))")
        }
        self.changes = changes
    }

    private static func end(_ time: Int64?) -> String { time.map { "\($0)" } ?? "none" }

    private static func parts(_ claims: AccountClaims) -> [String: Set<String>] {
        var parts: [String: Set<String>] = [:]
        let grant = claims.grant
        parts["limits"] = lines(json(grant.limits))
        parts["signing key"] = Set((grant.signingKeys ?? []).map(\.key))
        parts["export"] = Set((grant.exports ?? []).map { text(json($0)) })
        parts["import"] = Set((grant.imports ?? []).map { text(json($0)) })
        parts["revocation"] = lines(json(grant.revocations ?? [:]))
        parts["mapping"] = lines(json(grant.mappings ?? [:]))
        parts["default permission"] = lines(json(grant.defaultPermissions))
        return parts
    }

    private static func json(_ value: some Encodable) -> MessageValue {
        (try? JSONText.parse(bytes: Wire.json(value))) ?? .null
    }

    private static func text(_ value: MessageValue) -> String { JSONText.text(value) }

    private static func lines(_ value: MessageValue) -> Set<String> {
        Set((value.mapValue?.entries ?? []).map { "\($0.key.stringValue ?? "") \(text($0.value))" })
    }
}
