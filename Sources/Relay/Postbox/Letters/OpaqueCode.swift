import NATS

/// Two numbers as 32 characters (`a`–`z`, `2`–`7`) with check digits, for identifiers that are opaque to callers.
///
/// The check detects damage, a code of another kind, and a guess. It is no signature, and none is needed: the server's
/// permissions decide what a user may access.
enum OpaqueCode {
    /// What a code identifies; a code of one kind is never accepted as another.
    enum Kind: UInt64 {
        case message = 0x6D65_7373_6167_6531
        case page = 0x7061_6765_746F_6B31
        case pageBackwards = 0x7061_6765_6261_6331
        case postboxes = 0x706F_7374_626F_7831
    }

    static func encode(_ kind: Kind, _ first: UInt64, _ second: UInt64) -> String {
        // 64 + 64 bits of numbers and 32 bits of check fill 32 characters exactly.
        var bytes: [UInt8] = []
        bytes.reserveCapacity(20)
        withUnsafeBytes(of: first.bigEndian) { bytes.append(contentsOf: $0) }
        withUnsafeBytes(of: second.bigEndian) { bytes.append(contentsOf: $0) }
        withUnsafeBytes(of: check(kind, first, second).bigEndian) { bytes.append(contentsOf: $0) }
        return String(decoding: Base32.encode(bytes), as: UTF8.self).lowercased()
    }

    static func decode(_ kind: Kind, _ text: String) -> (UInt64, UInt64)? {
        let capital = text.uppercased()
        guard text.utf8.count == 32, text == capital.lowercased(), let bytes = Base32.decode(capital.utf8) else {
            return nil
        }
        let first = number(bytes[0..<8])
        let second = number(bytes[8..<16])
        guard number(bytes[16..<20]) == UInt64(check(kind, first, second)) else { return nil }
        return (first, second)
    }

    /// The big-endian number in these bytes.
    private static func number(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }

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
