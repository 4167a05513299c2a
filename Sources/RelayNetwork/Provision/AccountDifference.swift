import NATS
import Platform
import Relay

/// What the token of an account on a server lacks of the one that was planned: a pure value.
struct AccountDifference: Hashable, Sendable {
    /// What is otherwise, in words; none for an account that is as planned, or missing.
    let changes: [String]
    /// Whether the servers do not know the account.
    let isMissing: Bool

    /// Compares.
    /// - Parameter present: the token that the servers have; nil where they have none.
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

    /// What the network decides of an account, by the name of each part.
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

    /// A map's entries, each as a text.
    private static func lines(_ value: MessageValue) -> Set<String> {
        Set((value.mapValue?.entries ?? []).map { "\($0.key.stringValue ?? "") \(text($0.value))" })
    }
}
