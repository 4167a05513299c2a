import NATS
import NIOConcurrencyHelpers
import Platform

enum RandomText {
    private static let words = NIOLockedValueBox(RandomWords())
    private static let letters: StaticString = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

    /// Fifteen letters and digits, 89 random bits: among 10^10 of them, two are equal with a probability of one in ten
    /// million.
    ///
    /// A Swift string of this length needs no allocation. A message's identifier is copied, compared and hashed at
    /// every step, and a hundred thousand a second pass.
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

    /// A UUID (RFC 9562, version 4) in lower case.
    static func uuid() -> String { UUID().uuidString.lowercased() }
}
