/// A concrete topic: one to publish to, without wildcards.
///
/// The grammar is RelayX's (see ``TopicGrammar``). A `*` that shares its token with other characters is an ordinary
/// character, as in NATS. On the wire the topic `chat.lobby` is the subject `<hash>.chat.lobby`.
public struct Topic: Hashable, Sendable {
    /// The topic as people write it.
    public let text: String

    /// Validates a topic.
    ///
    /// - Throws: ``TopicError`` if the text breaks the grammar, is reserved or has a wildcard token.
    public init(_ text: String) throws(TopicError) {
        guard try !TopicGrammar.check(text) else { throw .wildcard }
        self.text = text
    }

    /// The NATS subject of this topic on a network whose subject prefix is `hash`.
    public func subject(under hash: String) -> String { "\(hash).\(text)" }

    /// The topic in a subject; nil if the subject is not under the prefix `hash`.
    ///
    /// The text is as the sender wrote it; other NATS clients may use names outside the grammar.
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
    /// Compares the bytes.
    public static func < (left: Topic, right: Topic) -> Bool { left.text < right.text }
}

/// Why a text is no topic or no topic pattern.
public enum TopicError: Error, Hashable, Sendable {
    /// The text is empty.
    case empty
    /// The text is longer than ``TopicGrammar/maximumLength`` bytes.
    case tooLong(bytes: Int)
    /// A character that topics may not contain.
    case invalidCharacter(Character)
    /// A dot at the start or the end, or two dots together.
    case emptyToken
    /// `>` other than as the entire last token.
    case misplacedTail
    /// A wildcard where a concrete topic is needed.
    case wildcard
    /// The name of a system event.
    case reserved(String)
}

extension TopicError: CustomStringConvertible {
    /// What is wrong and how to fix it.
    public var description: String {
        switch self {
        case .empty: "The topic is empty. Name one, such as chat.lobby."
        case .tooLong(let bytes):
            "The topic has \(bytes) bytes and at most \(TopicGrammar.maximumLength) are accepted. Shorten it."
        case .invalidCharacter(let character) where !character.isASCII:
            "RelayX's grammar allows a topic only A-Z, a-z, 0-9, - _ ~ and dots."
        case .invalidCharacter(let character):
            "A topic cannot contain \(TopicError.shown(character)). Use letters, digits, - _ ~ and dots."
        case .emptyToken: "A topic cannot begin or end with a dot, or have two dots together."
        case .misplacedTail: "In a topic pattern, > is the only or the last token, as in chat.>."
        case .wildcard: "A message needs one concrete topic; * and > are for subscriptions only."
        case .reserved(let name): "\(name) is the name of a system event. Choose another topic."
        }
    }

    private static func shown(_ character: Character) -> String {
        guard let ascii = character.asciiValue, ascii > 0x20, ascii < 0x7F else {
            return character == " " ? "a space" : "control characters"
        }
        return String(character)
    }
}

extension RelayError {
    /// The same failure as a client error.
    public init(_ error: TopicError) { self = .invalidTopic(error.description) }
}
