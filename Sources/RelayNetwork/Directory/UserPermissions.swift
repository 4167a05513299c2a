import NATS
import Relay

/// What a user of the network may do, as the server enforces it: read and delete in its own postbox stream only, send
/// to every postbox, use the topics granted to it, and receive answers under its own inbox prefix only.
public struct UserPermissions: Hashable, Sendable {
    /// The user.
    public let user: UserName
    /// The topics granted.
    public let topics: [TopicPattern]
    /// The network's namespace, which names its stream and bucket.
    public let namespace: String
    /// The first token of every topic's subject.
    public let hash: String

    /// Grants topics to a user.
    ///
    /// A pattern whose last token is `*` is refused: NATS matches the token `>` of a subscription with an allowed `*`,
    /// so the server would let the user read every level below.
    /// - Throws: `NetworkError.invalidGrant`.
    public init(
        user: UserName, topics: [String] = [">"], namespace: String, hash: String
    ) throws(NetworkError) {
        self.topics = try topics.map { text throws(NetworkError) in
            let pattern: TopicPattern
            do throws(TopicError) {
                pattern = try TopicPattern(text)
            } catch {
                throw .invalidGrant(topics: text, reason: error.description)
            }
            guard text != "*", !text.hasSuffix(".*") else {
                throw .invalidGrant(
                    topics: text,
                    reason: "end in > to grant all below, or name each topic; a last * cannot be enforced.")
            }
            return pattern
        }
        self.user = user
        self.namespace = namespace
        self.hash = hash
    }

    /// The permissions as a token carries them.
    public var permissions: Permissions {
        let subjects = topics.map { "\(hash).\($0.text)" }
        return Permissions(
            pub: SubjectRules(
                allow: subjects + ["postbox.*.*", "relay.postbox.\(user).*", "accounts.user.get_namespace"]
                    + ["INFO"].map(Self.api) + postboxInterface + subjects.flatMap(topicInterface)
                    + sharedStreamInterface
                    + bucketInterface + sessionInterface),
            sub: SubjectRules(allow: subjects + ["relay.control.\(user)", "\(user.inboxPrefix).>"])
        )
    }

    /// Everything a reader needs of the user's own stream.
    private var postboxInterface: [String] {
        let stream = user.postboxStream
        return wholeStream(stream) + [Self.api("STREAM.MSG.DELETE.\(stream)")]
    }

    /// What one grant needs of the stream that all share. Consumers are made with their filter in the subject, which
    /// the server compares with the request, so that no consumer reads what is not granted.
    private func topicInterface(_ subject: String) -> [String] {
        [
            "CONSUMER.CREATE.\(namespace)_stream.*.\(subject)", "DIRECT.GET.\(namespace)_stream.\(subject)",
        ].map(Self.api)
    }

    /// What every user needs of the stream that all share; with the grant `>`, the unfiltered calls too.
    private var sharedStreamInterface: [String] {
        let stream = "\(namespace)_stream"
        guard !topics.contains(where: { $0.text == ">" }) else { return wholeStream(stream) }
        return [
            "STREAM.INFO.\(stream)", "CONSUMER.MSG.NEXT.\(stream).*", "CONSUMER.INFO.\(stream).*",
            "CONSUMER.DELETE.\(stream).*",
        ].map(Self.api) + ["$JS.ACK.\(stream).>", "$JS.FC.\(stream).>"]
    }

    /// The bucket that all share.
    private var bucketInterface: [String] {
        ["$KV.\(namespace).>"] + wholeStream("KV_\(namespace)")
    }

    /// The user's own key in the bucket of sessions: read, written and watched, but no other key.
    private var sessionInterface: [String] {
        let stream = "KV_relay_sessions"
        let subject = "$KV.relay_sessions.\(user.key)"
        return [subject]
            + [
                "DIRECT.GET.\(stream).\(subject)", "CONSUMER.CREATE.\(stream).*.\(subject)",
                "CONSUMER.MSG.NEXT.\(stream).*", "CONSUMER.INFO.\(stream).*", "CONSUMER.DELETE.\(stream).*",
            ].map(Self.api)
    }

    /// Reading a whole stream in every way.
    private func wholeStream(_ stream: String) -> [String] {
        [
            "STREAM.INFO.\(stream)", "STREAM.MSG.GET.\(stream)", "DIRECT.GET.\(stream)", "DIRECT.GET.\(stream).>",
            "CONSUMER.CREATE.\(stream)", "CONSUMER.CREATE.\(stream).>", "CONSUMER.MSG.NEXT.\(stream).>",
            "CONSUMER.INFO.\(stream).*", "CONSUMER.DELETE.\(stream).*",
        ].map(Self.api) + ["$JS.ACK.\(stream).>", "$JS.FC.\(stream).>"]
    }

    private static func api(_ call: String) -> String { "$JS.API.\(call)" }
}
