import NATS
import NIOConcurrencyHelpers

/// Random names.
enum RandomText {
    private static let words = NIOLockedValueBox(RandomWords())
    private static let digits: StaticString = "0123456789abcdef"
    private static let letters: StaticString = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

    /// Fifteen letters and digits, of 89 random bits: among 10^10 of them there are two alike once in ten million
    /// times.
    ///
    /// A Swift string of so many bytes needs no memory of its own. A message's identifier is copied, compared and
    /// hashed at every step of its way, and a hundred thousand a second pass there.
    static func identifier() -> String {
        let (high, low) = words.withLockedValue { ($0.next(), $0.next()) }
        return String(unsafeUninitializedCapacity: 15) { text in
            var position = 0
            for (word, length) in [(high, 10), (low, 5)] {
                var rest = word
                for _ in 0..<length {
                    text[position] = letters.utf8Start[Int(rest % 62)]
                    rest /= 62
                    position += 1
                }
            }
            return position
        }
    }

    /// A UUID (RFC 9562, version 4).
    static func uuid() -> String {
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
