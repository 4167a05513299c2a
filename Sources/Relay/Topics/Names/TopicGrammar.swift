/// The grammar of topics and topic patterns in RelayX's SDKs:
/// `^(?!.*\$)(?:[A-Za-z0-9_*~-]+(?:\.[A-Za-z0-9_*~-]+)*(?:\.>)?|>)$`, at most 255 bytes, and no system event's name.
public enum TopicGrammar {
    /// The longest topic, in bytes.
    public static let maximumLength = 255

    /// Names of system events, which are never topics. Case matters.
    public static let reservedNames: Set<String> = [
        "CONNECTED", "DISCONNECTED", "RECONNECT", "RECONNECTING", "RECONNECTED", "RECONN_FAIL", "RECONN_FAILED",
        "MESSAGE_RESEND", "SERVER_DISCONNECT",
    ]

    /// Checks a text against the grammar.
    ///
    /// - Returns: Whether the text has a wildcard token (`*`, or a final `>`).
    static func check(_ text: String) throws(TopicError) -> Bool {
        let bytes = text.utf8
        guard !bytes.isEmpty else { throw .empty }
        guard bytes.count <= maximumLength else { throw .tooLong(bytes: bytes.count) }

        var tokenLength = 0
        var tokenIsStar = false
        var hasTail = false
        var hasWildcard = false
        for byte in bytes {
            guard !hasTail else { throw .misplacedTail }
            switch byte {
            case UInt8(ascii: "."):
                guard tokenLength > 0 else { throw .emptyToken }
                if tokenIsStar { hasWildcard = true }
                tokenLength = 0
                tokenIsStar = false
            case UInt8(ascii: ">"):
                guard tokenLength == 0 else { throw .misplacedTail }
                tokenLength = 1
                hasTail = true
                hasWildcard = true
            case _ where isTokenByte(byte):
                tokenIsStar = tokenLength == 0 && byte == UInt8(ascii: "*")
                tokenLength += 1
            default:
                let offending = text.first { $0.utf8.count > 1 || !($0.utf8.first.map(isGrammarByte) ?? false) }
                throw .invalidCharacter(offending ?? "?")
            }
        }
        guard tokenLength > 0 else { throw .emptyToken }
        if tokenIsStar { hasWildcard = true }
        // All reserved names are in capitals.
        let capitals = UInt8(ascii: "A")...UInt8(ascii: "Z")
        if let first = bytes.first, capitals.contains(first), reservedNames.contains(text) { throw .reserved(text) }
        return hasWildcard
    }

    private static func isTokenByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "*"), UInt8(ascii: "~"),
            UInt8(ascii: "-"):
            true
        default:
            false
        }
    }

    private static func isGrammarByte(_ byte: UInt8) -> Bool {
        isTokenByte(byte) || byte == UInt8(ascii: ".") || byte == UInt8(ascii: ">")
    }
}
