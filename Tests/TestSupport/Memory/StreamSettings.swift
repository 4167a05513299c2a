import NATS

/// A stream's configuration: the fields that this server acts on, and all of them as they were given.
struct StreamSettings: Sendable, Hashable {
    /// The whole configuration, as answers show it.
    let fields: [String: JSON]

    let subjects: [SubjectPattern]
    let maximumMessages: Int?
    let maximumBytes: Int?
    let maximumMessagesPerSubject: Int?
    let maximumMessageSize: Int?
    /// In nanoseconds.
    let maximumAge: Int64?
    let duplicateWindow: Int64
    let refusesNew: Bool
    let allowsDirectAccess: Bool
    let allowsRollup: Bool
    let deniesDelete: Bool
    let acknowledges: Bool

    /// What a server puts in the place of fields that are not given.
    private static let defaults: [String: JSON] = [
        "retention": "limits", "storage": "file", "discard": "old", "num_replicas": 1, "max_consumers": -1,
        "max_msgs": -1, "max_bytes": -1, "max_age": 0, "max_msgs_per_subject": -1, "max_msg_size": -1,
        "allow_direct": false, "mirror_direct": false, "sealed": false, "deny_delete": false, "deny_purge": false,
        "allow_rollup_hdrs": false,
    ]
    /// The limits of which 0 means none, as −1 does.
    private static let limits = ["max_consumers", "max_msgs", "max_bytes", "max_msgs_per_subject", "max_msg_size"]
    private static let standardWindow: Int64 = 120_000_000_000

    init(name: String, _ given: [String: JSON]) {
        var fields = Self.defaults.merging(given.filter { $0.value != .null }) { $1 }
        for limit in Self.limits where fields[limit] == .integer(0) { fields[limit] = .integer(-1) }
        fields["name"] = .string(name)
        let named = fields["subjects"]?.arrayValue?.compactMap(\.stringValue) ?? []
        let subjects = named.isEmpty ? [name] : named
        fields["subjects"] = .array(subjects.map { .string($0) })
        let age = fields["max_age"]?.integerValue.flatMap { $0 > 0 ? $0 : nil }
        let window = fields["duplicate_window"]?.integerValue.flatMap { $0 > 0 ? $0 : nil }
        duplicateWindow = window ?? min(Self.standardWindow, age ?? Self.standardWindow)
        fields["duplicate_window"] = .integer(duplicateWindow)
        func limit(_ key: String) -> Int? { fields[key]?.integerValue.flatMap { $0 > 0 ? Int($0) : nil } }
        func isSet(_ key: String) -> Bool { fields[key]?.boolValue == true }
        self.subjects = subjects.map { SubjectPattern($0) }
        maximumMessages = limit("max_msgs")
        maximumBytes = limit("max_bytes")
        maximumMessagesPerSubject = limit("max_msgs_per_subject")
        maximumMessageSize = limit("max_msg_size")
        maximumAge = age
        refusesNew = fields["discard"] == "new"
        allowsDirectAccess = isSet("allow_direct")
        allowsRollup = isSet("allow_rollup_hdrs")
        deniesDelete = isSet("deny_delete")
        acknowledges = !isSet("no_ack")
        self.fields = fields
    }

    func stores(_ subject: String) -> Bool { subjects.contains { $0.matches(subject) } }

    func overlaps(_ other: StreamSettings) -> Bool {
        subjects.contains { own in other.subjects.contains { $0.overlaps(own) } }
    }
}
