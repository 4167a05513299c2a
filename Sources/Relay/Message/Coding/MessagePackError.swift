/// Why bytes are not MessagePack, or more than the limits allow. Offsets count bytes from the start of the input.
public enum MessagePackError: Error, Hashable, Sendable {
    /// The input ends inside a value, or claims more than it has.
    case truncated(offset: Int)
    /// The byte 0xC1, which MessagePack never uses.
    case reserved(offset: Int)
    /// A string that is not UTF-8. Such text is refused rather than repaired, so that no peer's bytes change unseen.
    case invalidText(offset: Int)
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

extension MessagePackError: CustomStringConvertible {
    /// What is wrong, for a log or a placeholder row.
    public var description: String {
        switch self {
        case .truncated(let offset): "the MessagePack data ends too early, at byte \(offset)"
        case .reserved(let offset): "byte \(offset) is not a MessagePack type"
        case .invalidText(let offset): "the text at byte \(offset) is not UTF-8"
        case .invalidTimestamp(let offset): "the timestamp at byte \(offset) is malformed"
        case .tooDeep(let limit): "the MessagePack data nests deeper than \(limit) levels"
        case .tooLong(let bytes, let limit): "the MessagePack data has \(bytes) bytes and at most \(limit) are accepted"
        case .tooManyElements(let limit): "the MessagePack data has more than \(limit) elements"
        case .trailingBytes(let offset): "data follows the MessagePack value at byte \(offset)"
        }
    }
}
