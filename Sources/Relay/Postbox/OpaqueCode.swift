/// Two numbers as 32 characters (`a`–`z`, `2`–`7`) with check digits, for identifiers that callers pass back unread.
///
/// The check tells damage, a code of another kind and a guess from the real thing; it is no signature, and none is
/// needed: the server's permissions decide what a user may touch.
enum OpaqueCode {
    /// What a code stands for; a code of one kind is never read as another.
    enum Kind: UInt64 {
        case message = 0x6D65_7373_6167_6531
        case page = 0x7061_6765_746F_6B31
    }

    private static let alphabet = Array("abcdefghijklmnopqrstuvwxyz234567".utf8)

    static func encode(_ kind: Kind, _ first: UInt64, _ second: UInt64) -> String {
        // Five characters a byte group: 64 + 64 bits of numbers, 32 bits of check, 160 bits in all.
        var bytes: [UInt8] = []
        bytes.reserveCapacity(20)
        withUnsafeBytes(of: first.bigEndian) { bytes.append(contentsOf: $0) }
        withUnsafeBytes(of: second.bigEndian) { bytes.append(contentsOf: $0) }
        withUnsafeBytes(of: check(kind, first, second).bigEndian) { bytes.append(contentsOf: $0) }
        var text: [UInt8] = []
        text.reserveCapacity(32)
        for group in stride(from: 0, to: 20, by: 5) {
            let bits = bytes[group..<group + 5].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
            for shift in stride(from: 35, through: 0, by: -5) { text.append(alphabet[Int(bits >> UInt64(shift) & 31)]) }
        }
        return String(decoding: text, as: UTF8.self)
    }

    static func decode(_ kind: Kind, _ text: String) -> (UInt64, UInt64)? {
        guard text.utf8.count == 32 else { return nil }
        var words: [UInt64] = [0, 0, 0]
        var bits = 0
        for character in text.utf8 {
            let value: UInt8
            switch character {
            case UInt8(ascii: "a")...UInt8(ascii: "z"): value = character - UInt8(ascii: "a")
            case UInt8(ascii: "2")...UInt8(ascii: "7"): value = character - UInt8(ascii: "2") + 26
            default: return nil
            }
            for shift in stride(from: 4, through: 0, by: -1) {
                words[bits / 64] = words[bits / 64] << 1 | UInt64(value >> UInt8(shift) & 1)
                bits += 1
            }
        }
        guard words[2] == UInt64(check(kind, words[0], words[1])) else { return nil }
        return (words[0], words[1])
    }

    private static func check(_ kind: Kind, _ first: UInt64, _ second: UInt64) -> UInt32 {
        var hash = kind.rawValue
        for word in [first, second] {
            hash ^= word
            hash = (hash ^ (hash >> 30)) &* 0xBF58_476D_1CE4_E5B9
            hash = (hash ^ (hash >> 27)) &* 0x94D0_49BB_1331_11EB
            hash ^= hash >> 31
        }
        return UInt32(truncatingIfNeeded: hash ^ hash >> 32)
    }
}
