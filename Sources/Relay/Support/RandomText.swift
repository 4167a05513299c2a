import NATS
import NIOConcurrencyHelpers

/// Random UUIDs (RFC 9562, version 4) as text.
enum UUIDText {
    private static let words = NIOLockedValueBox(RandomWords())
    private static let digits: StaticString = "0123456789abcdef"

    static func random() -> String {
        var (high, low) = words.withLockedValue { ($0.next(), $0.next()) }
        high = high & 0xFFFF_FFFF_FFFF_0FFF | 0x4000
        low = low & 0x3FFF_FFFF_FFFF_FFFF | 0x8000_0000_0000_0000
        return String(unsafeUninitializedCapacity: 36) { text in
            var position = 0
            for word in [high, low] {
                for step in 0..<UInt64(16) {
                    if position == 8 || position == 13 || position == 18 || position == 23 {
                        text[position] = UInt8(ascii: "-")
                        position += 1
                    }
                    text[position] = digits.utf8Start[Int(word >> (60 - 4 * step) & 15)]
                    position += 1
                }
            }
            return position
        }
    }
}
