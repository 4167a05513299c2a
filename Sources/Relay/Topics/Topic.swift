/// A concrete topic: one to publish to, with no wildcard token.
///
/// The grammar is RelayX's (see ``TopicGrammar``). A `*` that shares its token with other characters is an ordinary
/// character, as it is for NATS. On the wire the topic `chat.lobby` is the subject `<hash>.chat.lobby`.
public struct Topic: Hashable, Sendable {
    /// The topic as people write it.
    public let text: String

    /// Checks and keeps a topic.
    ///
    /// - Throws: ``TopicError`` when the text breaks the grammar, is reserved or has a wildcard token.
    public init(_ text: String) throws(TopicError) {
        guard try !TopicGrammar.check(text) else { throw .wildcard }
        self.text = text
    }

    /// The NATS subject of this topic on a network whose subject prefix is `hash`.
    public func subject(under hash: String) -> String { "\(hash).\(text)" }

    /// The topic's text within a subject, or nil when the subject is not under the prefix `hash`.
    ///
    /// The text is as the sender wrote it; another NATS client may have used names outside the grammar.
    public static func text(ofSubject subject: String, under hash: String) -> String? {
        let prefixLength = hash.utf8.count + 1
        let bytes = subject.utf8
        guard bytes.count > prefixLength, bytes.starts(with: hash.utf8) else { return nil }
        let dot = bytes.index(bytes.startIndex, offsetBy: prefixLength - 1)
        guard bytes[dot] == UInt8(ascii: ".") else { return nil }
        return String(subject[bytes.index(after: dot)...])
    }
}

extension Topic: CustomStringConvertible {
    /// The topic as people write it.
    public var description: String { text }
}

extension Topic: Comparable {
    /// Alphabetical order by bytes.
    public static func < (left: Topic, right: Topic) -> Bool { left.text < right.text }
}
