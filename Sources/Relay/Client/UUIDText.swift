/// Random UUIDs (RFC 9562, version 4) as text.
enum UUIDText {
    static func random() -> String {
        var generator = SystemRandomNumberGenerator()
        var high = generator.next()
        var low = generator.next()
        high = high & 0xFFFF_FFFF_FFFF_0FFF | 0x4000
        low = low & 0x3FFF_FFFF_FFFF_FFFF | 0x8000_0000_0000_0000
        let digits = Array("0123456789abcdef".utf8)
        var text: [UInt8] = []
        text.reserveCapacity(36)
        for word in [high, low] {
            for step in 0..<UInt64(16) { text.append(digits[Int(word >> (60 - 4 * step) & 15)]) }
        }
        for position in [8, 13, 18, 23] { text.insert(UInt8(ascii: "-"), at: position) }
        return String(decoding: text, as: UTF8.self)
    }
}
