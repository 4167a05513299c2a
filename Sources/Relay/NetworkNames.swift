/// The names that a client and its network must agree on, in one place: subjects of services and letters, and their
/// streams and buckets. Imports and exports are patterns, so each part may be a wildcard.
package enum NetworkNames {
    /// Asks for the namespace: the prefix of topics' subjects, and the names of the streams (RelayX).
    package static let namespace = "accounts.user.get_namespace"

    /// Asks for the names of the streams that a user may read.
    package static func streams(of user: String) -> String { "relay.streams.\(user)" }

    /// Exchanges a user's invitation for credentials.
    package static func enrolment(of user: String) -> String { "relay.enrol.\(user)" }

    // MARK: Postboxes

    /// The subject for sending letters. The network's imports add the sender.
    package static func letters(to user: String, _ postbox: String) -> String { "postbox.\(user).\(postbox)" }

    /// The subject of stored letters, which ends in the sender.
    package static func letters(to user: String, _ postbox: String, from sender: String) -> String {
        letters(to: user, postbox) + "." + sender
    }

    /// Asks about a user's own postboxes, or changes them, depending on `verb`.
    package static func postboxes(of user: String, _ verb: String) -> String { "relay.postbox.\(user).\(verb)" }

    /// Asks whether a postbox accepts letters.
    package static func recipient(_ user: String, _ postbox: String) -> String { "relay.recipient.\(user).\(postbox)" }

    /// The stream of a user's letters.
    package static func postboxStream(of user: String) -> String { postboxStreamPrefix + user }
    /// The prefix of all such streams' names, and of no others.
    package static let postboxStreamPrefix = "PB_"

    // MARK: Sessions

    /// The subject of the administrator's messages to a user.
    package static func control(of user: String) -> String { "relay.control.\(user)" }
    /// The bucket of exclusive sessions.
    package static let sessions = "relay_sessions"
    /// The bucket of presence.
    package static let presence = "relay_here"

    // MARK: Streams and buckets

    /// The stream of a namespace's topics.
    package static func topicStream(of namespace: String) -> String { namespace + "_stream" }
    /// The stream that holds a bucket (ADR-8).
    package static func stream(ofBucket bucket: String) -> String { "KV_" + bucket }
    /// The subject of a key in a bucket (ADR-8).
    package static func key(_ key: String, in bucket: String) -> String { "$KV.\(bucket).\(key)" }
}

extension String {
    /// Whether this can be the name of a user or a postbox, which is one token of a subject: 1 to 64 visible ASCII
    /// characters other than `.`, `*`, `>`, `/` and `\`.
    var isSubjectToken: Bool {
        !isEmpty && utf8.count <= 64
            && utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && !".*>/\\".utf8.contains($0) }
    }
}
