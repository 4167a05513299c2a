/// Decodes UTF-8 byte by byte. Invalid bytes become U+FFFD, one for each maximal part of a broken character.
struct UTF8Decoder: Sendable {
    private var bytes: [UInt8] = []

    /// Whether a character has begun and not ended.
    var isPartial: Bool { !bytes.isEmpty }

    mutating func take(_ byte: UInt8) { bytes.append(byte) }

    /// The next scalar of the bytes taken; nil if there is none yet.
    mutating func next() -> Unicode.Scalar? {
        let result = bytes.withUnsafeBufferPointer { buffer in
            var (parser, rest) = (Unicode.UTF8.ForwardParser(), buffer.makeIterator())
            return parser.parseScalar(from: &rest)
        }
        switch result {
        case .valid(let encoded):
            bytes.removeFirst(encoded.count)
            return Unicode.UTF8.decode(encoded)
        case .error(let length):
            // More of the character may come; its first byte begins with as many ones as it has bytes.
            let lead = bytes[0]
            if length == bytes.count, length < (~lead).leadingZeroBitCount, (0xC2...0xF4).contains(lead) { return nil }
            bytes.removeFirst(length)
            return "\u{FFFD}"
        case .emptyInput: return nil
        }
    }

    /// Gives up the unfinished character.
    mutating func finish() -> Unicode.Scalar {
        bytes.removeAll(keepingCapacity: true)
        return "\u{FFFD}"
    }
}
