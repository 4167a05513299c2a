/// Why bytes are not a value in MessagePack or JSON, or exceed the limits. Offsets count bytes from the start.
public enum MessageCodingError: Error, Hashable, Sendable {
    /// The input ends inside a value, or claims more than it has.
    case truncated(offset: Int)
    /// A byte that the format does not allow here.
    case unexpected(offset: Int)
    /// A string that is not UTF-8. It is rejected rather than repaired, so that no peer's bytes change silently.
    case invalidText(offset: Int)
    /// A number that JSON does not allow, or one too large for a double.
    case invalidNumber(offset: Int)
    /// A timestamp with an impossible length or nanoseconds.
    case invalidTimestamp(offset: Int)
    /// Arrays and maps nest deeper than the limit.
    case tooDeep(limit: Int)
    /// The input is longer than the limit.
    case tooLong(bytes: Int, limit: Int)
    /// The input has more values than the limit.
    case tooManyElements(limit: Int)
    /// Bytes follow the value.
    case trailingBytes(offset: Int)
}

extension MessageCodingError: CustomStringConvertible {
    /// What is wrong, for a log or a placeholder row.
    public var description: String {
        switch self {
        case .truncated(let offset): "the data ends too early, at byte \(offset)"
        case .unexpected(let offset): "the byte at \(offset) is unexpected"
        case .invalidText(let offset): "the text at byte \(offset) is not UTF-8"
        case .invalidNumber(let offset): "the number at byte \(offset) is not valid"
        case .invalidTimestamp(let offset): "the timestamp at byte \(offset) is malformed"
        case .tooDeep(let limit): "the data nests deeper than \(limit) levels"
        case .tooLong(let bytes, let limit): "the data has \(bytes) bytes and at most \(limit) are accepted"
        case .tooManyElements(let limit): "the data has more than \(limit) values"
        case .trailingBytes(let offset): "data follows the value at byte \(offset)"
        }
    }
}
