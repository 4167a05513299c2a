/// Why a text is not a topic, or not a topic pattern.
public enum TopicError: Error, Hashable, Sendable {
    /// The text is empty.
    case empty
    /// The text is longer than ``TopicGrammar/maximumLength`` bytes.
    case tooLong(bytes: Int)
    /// A character that topics may not contain.
    case invalidCharacter(Character)
    /// A dot at the start or the end, or two dots together.
    case emptyToken
    /// `>` somewhere other than as the whole last token.
    case misplacedTail
    /// A wildcard where a concrete topic is needed.
    case wildcard
    /// The name of a system event.
    case reserved(String)
}

extension TopicError: CustomStringConvertible {
    /// What is wrong and how to mend it.
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
    /// The same refusal as a client error.
    public init(_ error: TopicError) {
        self = .invalidTopic(error.description)
    }
}
