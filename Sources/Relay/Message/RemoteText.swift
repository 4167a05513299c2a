// Texts that others sent. To hash or compare them by their characters takes the square of the number of marks on one
// letter, and there may be a million of those.

extension String {
    /// Whether it is a text that is known here, and short: another length is another text.
    package func isSame(as known: String) -> Bool { utf8.count == known.utf8.count && self == known }
}

extension Hasher {
    /// Takes in a text by its bytes.
    package mutating func combine(bytesOf text: String) {
        var text = text
        text.withUTF8 { combine(bytes: UnsafeRawBufferPointer($0)) }
        combine(text.utf8.count)
    }
}
