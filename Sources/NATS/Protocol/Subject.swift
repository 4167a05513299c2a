/// The rules for subjects, checked by the client because a server drops a bad publish without a word.
enum Subject {
    static let maximumBytes = 3_000

    /// Whether a message can be published to `text`: tokens between dots, none empty, no white space, no wildcard.
    @inline(__always)
    static func isPublishable(_ text: String) -> Bool {
        var text = text
        return text.withUTF8 { isPublishable(UnsafeRawBufferPointer($0)) }
    }

    static func isPublishable(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard bytes.count > 0, bytes.count <= maximumBytes else { return false }
        var previous = UInt8(ascii: ".")
        for byte in bytes {
            if byte == UInt8(ascii: ".") {
                if previous == UInt8(ascii: ".") { return false }
            } else if byte <= 0x20 || byte == 0x7F || byte == UInt8(ascii: "*") || byte == UInt8(ascii: ">") {
                // A wildcard character inside a longer token is an ordinary one.
                if byte <= 0x20 || byte == 0x7F { return false }
                return isPublishableSlow(bytes)
            }
            previous = byte
        }
        return previous != UInt8(ascii: ".")
    }

    private static func isPublishableSlow(_ bytes: UnsafeRawBufferPointer) -> Bool {
        tokens(bytes).allSatisfy { token in
            !token.isEmpty && !(token.count == 1 && (token.first == 0x2A || token.first == 0x3E))
                && token.allSatisfy { $0 > 0x20 && $0 != 0x7F }
        }
    }

    /// Whether `text` can be subscribed to: as published, and `*` for one token, `>` last for one or more.
    static func isSubscribable(_ text: String) -> Bool {
        var text = text
        return text.withUTF8 { buffer in
            guard buffer.count > 0, buffer.count <= maximumBytes else { return false }
            let parts = tokens(UnsafeRawBufferPointer(buffer))
            for (index, token) in parts.enumerated() {
                if token.isEmpty || token.contains(where: { $0 <= 0x20 || $0 == 0x7F }) { return false }
                if token.count == 1, token.first == 0x3E, index != parts.count - 1 { return false }
            }
            return true
        }
    }

    /// Whether a SUB line can hold the name as that of a queue group.
    static func isQueueName(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.count <= 255 && text.utf8.allSatisfy { $0 > 0x20 && $0 != 0x7F }
    }

    private static func tokens(_ bytes: UnsafeRawBufferPointer) -> [Slice<UnsafeRawBufferPointer>] {
        bytes.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    }
}
