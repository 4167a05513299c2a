/// Why a payload is not a message that Parley can show.
public enum EnvelopeError: Error, Hashable, Sendable {
    /// The payload is not MessagePack.
    case malformed(MessageCodingError)
    /// The payload is MessagePack, and not a map.
    case notAMap
    /// The map has no usable value under this key, and the caller gave no fallback.
    case missing(String)
}

extension EnvelopeError: CustomStringConvertible {
    /// What is wrong, for a placeholder row.
    public var description: String {
        switch self {
        case .malformed(let error): error.description
        case .notAMap: "the payload is not a message map"
        case .missing(let key): "the message map has no usable \(key)"
        }
    }
}

extension RelayError {
    /// The same refusal as a client error.
    public init(_ error: EnvelopeError) {
        self = .invalidMessage(error.description)
    }
}
