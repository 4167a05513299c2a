/// RFC 4648 base32 without padding, the text form of nkeys.
enum Base32 {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".utf8)

    /// The text of the bytes, in upper case.
    static func encode(_ bytes: some Sequence<UInt8>) -> [UInt8] {
        var output: [UInt8] = []
        output.reserveCapacity(bytes.underestimatedCount * 8 / 5 + 2)
        var buffer: UInt32 = 0
        var bits: UInt32 = 0
        for byte in bytes {
            buffer = (buffer << 8 | UInt32(byte)) & 0xFFFF
            bits += 8
            while bits >= 5 {
                bits -= 5
                output.append(alphabet[Int((buffer >> bits) & 31)])
            }
        }
        if bits > 0 {
            output.append(alphabet[Int((buffer << (5 - bits)) & 31)])
        }
        return output
    }

    /// The bytes of the text, or nil when a character or the unused last bits are wrong.
    static func decode(_ text: some Sequence<UInt8>) -> [UInt8]? {
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
