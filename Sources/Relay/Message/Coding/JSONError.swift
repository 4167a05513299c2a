/// Why a text is not JSON, or more than the limits allow. Offsets count bytes from the start of the text.
public enum JSONError: Error, Hashable, Sendable {
    /// The text ends inside a value.
    case truncated
    /// Something that JSON does not allow here.
    case unexpected(offset: Int)
    /// A string that is not UTF-8.
    case invalidText(offset: Int)
    /// A number that JSON does not allow, or one too large for a double.
    case invalidNumber(offset: Int)
    /// Arrays and objects nest deeper than the limit.
    case tooDeep(limit: Int)
    /// The text is longer than the limit.
    case tooLong(bytes: Int, limit: Int)
    /// The text has more values than the limit.
    case tooManyElements(limit: Int)
    /// Something follows the value.
    case trailingText(offset: Int)
}

extension JSONError: CustomStringConvertible {
    /// What is wrong, for a message to a person.
    public var description: String {
        switch self {
        case .truncated: "the JSON text ends too early"
        case .unexpected(let offset): "byte \(offset) is not JSON"
        case .invalidText(let offset): "the string at byte \(offset) is not valid text"
        case .invalidNumber(let offset): "the number at byte \(offset) is not valid"
        case .tooDeep(let limit): "the JSON text nests deeper than \(limit) levels"
        case .tooLong(let bytes, let limit): "the JSON text has \(bytes) bytes and at most \(limit) are accepted"
        case .tooManyElements(let limit): "the JSON text has more than \(limit) values"
        case .trailingText(let offset): "something follows the JSON value at byte \(offset)"
        }
    }
}
