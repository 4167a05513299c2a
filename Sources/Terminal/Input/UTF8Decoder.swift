/// Decodes UTF-8 byte by byte. What is not UTF-8 becomes U+FFFD, once for each maximal part of a broken character.
struct UTF8Decoder: Sendable {
    private var value: UInt32 = 0
    private var missing = 0
    private var lower: UInt8 = 0x80
    private var upper: UInt8 = 0xBF

    /// True while a character has begun and not ended.
    var isPartial: Bool { missing > 0 }

    /// Takes one byte and returns what it completes: nothing, one scalar, or a replacement and a scalar.
    mutating func take(_ byte: UInt8) -> [Unicode.Scalar] {
        if missing > 0 {
            guard byte >= lower, byte <= upper else {
                reset()
                return ["\u{FFFD}"] + take(byte)
            }
            (lower, upper) = (0x80, 0xBF)
            value = value << 6 | UInt32(byte & 0x3F)
            missing -= 1
            guard missing == 0 else { return [] }
            return [Unicode.Scalar(value) ?? "\u{FFFD}"]
        }
        switch byte {
        case 0..<0x80: return [Unicode.Scalar(byte)]
        case 0xC2...0xDF: begin(byte & 0x1F, missing: 1)
        case 0xE0...0xEF:
            begin(byte & 0x0F, missing: 2)
            if byte == 0xE0 { lower = 0xA0 }
            if byte == 0xED { upper = 0x9F }
        case 0xF0...0xF4:
            begin(byte & 0x07, missing: 3)
            if byte == 0xF0 { lower = 0x90 }
            if byte == 0xF4 { upper = 0x8F }
        default: return ["\u{FFFD}"]
        }
        return []
    }

    /// Gives up the unfinished character.
    mutating func finish() -> Unicode.Scalar {
        reset()
        return "\u{FFFD}"
    }

    private mutating func begin(_ bits: UInt8, missing count: Int) {
        value = UInt32(bits)
        missing = count
        (lower, upper) = (0x80, 0xBF)
    }

    private mutating func reset() {
        missing = 0
        (lower, upper) = (0x80, 0xBF)
    }
}
