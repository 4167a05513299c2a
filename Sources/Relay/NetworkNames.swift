/// The names that a client and its network have to agree on, each in one place: subjects of services and letters, and
/// the streams and buckets behind them. Imports and exports are patterns, so that a wildcard may stand for each part.
package enum NetworkNames {
    /// Asks for the namespace: what the subjects of topics begin with, and the names of the streams (RelayX).
    package static let namespace = "accounts.user.get_namespace"

    /// Asks for the names of the streams that a user may read.
    package static func streams(of user: String) -> String { "relay.streams.\(user)" }

    /// Exchanges a user's invitation for credentials.
    package static func enrolment(of user: String) -> String { "relay.enrol.\(user)" }

    // MARK: Postboxes

    /// Where letters are sent. The network's imports add who sends them.
    package static func letters(to user: String, _ postbox: String) -> String { "postbox.\(user).\(postbox)" }

    /// Where letters are stored: with who sent them behind it.
    package static func letters(to user: String, _ postbox: String, from sender: String) -> String {
        letters(to: user, postbox) + "." + sender
    }

    /// Asks about a user's own postboxes, and changes them; `verb` says what.
    package static func postboxes(of user: String, _ verb: String) -> String { "relay.postbox.\(user).\(verb)" }

    /// Asks whether a postbox takes letters.
    package static func recipient(_ user: String, _ postbox: String) -> String { "relay.recipient.\(user).\(postbox)" }

    /// The stream of a user's letters.
    package static func postboxStream(of user: String) -> String { postboxStreamPrefix + user }
    /// What the names of all such streams begin with, and of no other.
    package static let postboxStreamPrefix = "PB_"

    // MARK: Sessions

    /// Where the administrator speaks to a user.
    package static func control(of user: String) -> String { "relay.control.\(user)" }
    /// The bucket of exclusive sessions.
    package static let sessions = "relay_sessions"
    /// The bucket of who is here.
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
    /// Whether this can name a user or a postbox, which is one token of a subject: 1 to 64 visible ASCII characters,
    /// and none of `.`, `*`, `>`, `/` and `\`.
    var isSubjectToken: Bool {
        !isEmpty && utf8.count <= 64
            && utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && !".*>/\\".utf8.contains($0) }
    }
}
