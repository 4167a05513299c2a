/// RFC 4648 base32 without padding, the text form of nkeys and identifiers.
///
/// Written by hand because Foundation has no base32, and because the decoded bytes may be a seed, which must be wiped
/// if the text turns out to be wrong.
package enum Base32 {
    package static func encode(_ bytes: some Sequence<UInt8>) -> [UInt8] {
        var output: [UInt8] = []
        output.reserveCapacity(bytes.underestimatedCount * 8 / 5 + 2)
        func append(_ value: UInt32) {
            let value = UInt8(truncatingIfNeeded: value & 31)
            output.append(value < 26 ? UInt8(ascii: "A") + value : UInt8(ascii: "2") + (value - 26))
        }
        var buffer: UInt32 = 0
        var bits: UInt32 = 0
        for byte in bytes {
            buffer = (buffer << 8 | UInt32(byte)) & 0xFFFF
            bits += 8
            while bits >= 5 {
                bits -= 5
                append(buffer >> bits)
            }
        }
        if bits > 0 { append(buffer << (5 - bits)) }
        return output
    }

    /// The bytes of the text; nil if a character, the length or the unused last bits are wrong.
    package static func decode(_ text: some Sequence<UInt8>) -> [UInt8]? {
        var output: [UInt8] = []
        output.reserveCapacity(text.underestimatedCount * 5 / 8 + 1)
        var buffer: UInt32 = 0
        var bits: UInt32 = 0
        for character in text {
            let value: UInt8
            switch character {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"): value = character - UInt8(ascii: "A")
            case UInt8(ascii: "2")...UInt8(ascii: "7"): value = character - UInt8(ascii: "2") + 26
            default:
                Wiping.wipe(&output)
                return nil
            }
            buffer = (buffer << 5 | UInt32(value)) & 0x1FFF
            bits += 5
            if bits >= 8 {
                bits -= 8
                output.append(UInt8(truncatingIfNeeded: buffer >> bits))
            }
        }
        guard bits < 5, buffer & ((1 << bits) - 1) == 0 else {
            Wiping.wipe(&output)
            return nil
        }
        return output
    }
}
