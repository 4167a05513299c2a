/// The rules for subjects, checked by the client because a server silently drops an invalid publish.
enum Subject {
    static let maximumBytes = 3_000

    /// Whether a message can be published to `text`: tokens separated by dots, none empty, no white space, no wildcard.
    static func isPublishable(_ text: String) -> Bool { isValid(text, hasWildcards: false) }

    /// Whether `text` can be subscribed to: also `*` for one token, and a final `>` for one or more.
    static func isSubscribable(_ text: String) -> Bool { isValid(text, hasWildcards: true) }

    private static func isValid(_ text: String, hasWildcards: Bool) -> Bool {
        var text = text
        return text.withUTF8 { bytes in
            guard bytes.count <= maximumBytes else { return false }
            var start = 0
            for end in 0...bytes.count {
                if end < bytes.count, bytes[end] != UInt8(ascii: ".") {
                    if bytes[end] <= 0x20 || bytes[end] == 0x7F { return false }
                    continue
                }
                // A wildcard character inside a longer token is an ordinary one.
                switch end - start {
                case 0: return false
                case 1 where bytes[start] == UInt8(ascii: "*"): if !hasWildcards { return false }
                case 1 where bytes[start] == UInt8(ascii: ">"): if !hasWildcards || end < bytes.count { return false }
                default: break
                }
                start = end + 1
            }
            return true
        }
    }

    /// Whether a SUB line can contain the name of a queue group.
    static func isQueueName(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.count <= 255 && text.utf8.allSatisfy { $0 > 0x20 && $0 != 0x7F }
    }
}
