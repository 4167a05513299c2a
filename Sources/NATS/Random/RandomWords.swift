import Platform

/// Random numbers of the system's generator, fetched many at a time because each fetch is a system call. It must have
/// one owner: a copy would return the same numbers.
package struct RandomWords: RandomNumberGenerator {
    /// The most that one system call returns (256 bytes).
    private static let supply = 32

    private var words = [UInt64](repeating: 0, count: RandomWords.supply)
    private var left = 0

    package init() {}

    /// Returns the next number and forgets it.
    package mutating func next() -> UInt64 {
        if left == 0 { refill() }
        left -= 1
        defer { words[left] = 0 }
        return words[left]
    }

    private mutating func refill() {
        let isFilled = words.withUnsafeMutableBytes { bytes -> Bool in
            guard let base = bytes.baseAddress else { return false }
            return getentropy(base, bytes.count) == 0
        }
        if !isFilled {
            var generator = SystemRandomNumberGenerator()
            for index in words.indices { words[index] = generator.next() }
        }
        left = Self.supply
    }
}

/// Unguessable names: 22 characters of base 62, 130 random bits.
package enum UniqueToken {
    private static let length = 22
    private static let alphabet = Array("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".utf8)

    package static func next() -> String {
        var generator = RandomWords()
        return String(unsafeUninitializedCapacity: length) { text in
            var count = 0
            while count < length {
                var word = generator.next()
                // Ten characters of 6 bits in each word; the two values without a character are skipped.
                for _ in 0..<10 where count < length {
                    let value = Int(word & 63)
                    word >>= 6
                    guard value < alphabet.count else { continue }
                    text[count] = alphabet[value]
                    count += 1
                }
            }
            return count
        }
    }
}

/// A small seedable random number generator (SplitMix64) for repeatable jitter in tests. Not for secrets.
package struct SeededGenerator: RandomNumberGenerator, Hashable, Sendable {
    private var state: UInt64

    package init(seed: UInt64) { state = seed }

    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
