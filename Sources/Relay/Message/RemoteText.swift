// Texts from others. Hashing or comparing them by characters is quadratic in the number of marks on one letter, and
// there may be a million of those.

extension String {
    /// Whether it equals a short known text: a different length settles that first.
    package func isSame(as known: String) -> Bool { utf8.count == known.utf8.count && self == known }
}

extension Hasher {
    package mutating func combine(bytesOf text: String) {
        var text = text
        text.withUTF8 { combine(bytes: UnsafeRawBufferPointer($0)) }
        combine(text.utf8.count)
    }
}
