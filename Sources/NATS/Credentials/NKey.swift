/// A public nkey: the identity of an operator, an account, a user or a server in NATS (ADR-14).
///
/// Its text is base32 of a prefix byte, 32 key bytes and a CRC-16, so that the first letter shows its kind and a typing
/// error is found before anything is sent.
public struct NKey: Hashable, Sendable {
    /// The kind of the key's owner.
    public enum Kind: UInt8, Hashable, Sendable, CaseIterable {
        /// `A`: an account.
        case account = 0
        /// `C`: a cluster.
        case cluster = 0b0001_0000
        /// `N`: a server.
        case server = 0b0110_1000
        /// `O`: an operator.
        case `operator` = 0b0111_0000
        /// `U`: a user.
        case user = 0b1010_0000
    }

    static let keyLength = 32
    static let textLength = 56

    /// The kind of the key's owner.
    public let kind: Kind
    /// The 32 bytes of the key, without prefix and checksum.
    public let bytes: [UInt8]

    /// Creates a key from its 32 bytes; throws `CredentialsError.malformedKey` if there are more or fewer.
    public init(kind: Kind, bytes: [UInt8]) throws(CredentialsError) {
        guard bytes.count == Self.keyLength else { throw .malformedKey(.badLength) }
        self.kind = kind
        self.bytes = bytes
    }

    /// Parses the 56-character text of a public key.
    /// - Throws: `CredentialsError.malformedKey` with the fault.
    public init(_ text: some StringProtocol) throws(CredentialsError) {
        guard !text.isEmpty else { throw .malformedKey(.empty) }
        guard text.utf8.count == Self.textLength else { throw .malformedKey(.badLength) }
        guard let decoded = Base32.decode(text.utf8) else { throw .malformedKey(.badCharacter) }
        guard decoded.count == Self.keyLength + 3 else { throw .malformedKey(.badLength) }
        guard CRC16.isIntact(decoded) else { throw .malformedKey(.badChecksum) }
        guard let kind = Kind(rawValue: decoded[0]) else { throw .malformedKey(.badPrefix) }
        self.kind = kind
        self.bytes = Array(decoded[1...Self.keyLength])
    }

    /// The 56-character text of the key.
    public var text: String {
        var raw = [kind.rawValue]
        raw += bytes
        CRC16.append(to: &raw)
        return String(decoding: Base32.encode(raw), as: UTF8.self)
    }
}

extension NKey: CustomStringConvertible {
    /// The text of the key; a public key is no secret.
    public var description: String { text }
}

/// CRC-16/XMODEM (polynomial 0x1021, start 0), appended to nkeys low byte first.
enum CRC16 {
    static func checksum(_ bytes: some Sequence<UInt8>) -> UInt16 {
        var crc: UInt16 = 0
        for byte in bytes {
            crc ^= UInt16(byte) << 8
            for _ in 0..<8 {
                crc = crc & 0x8000 == 0 ? crc << 1 : (crc << 1) ^ 0x1021
            }
        }
        return crc
    }

    static func append(to bytes: inout [UInt8]) {
        let crc = checksum(bytes)
        bytes.append(UInt8(truncatingIfNeeded: crc))
        bytes.append(UInt8(truncatingIfNeeded: crc >> 8))
    }

    static func isIntact(_ bytes: [UInt8]) -> Bool {
        guard bytes.count > 2 else { return false }
        let crc = checksum(bytes.dropLast(2))
        return bytes[bytes.count - 2] == UInt8(truncatingIfNeeded: crc)
            && bytes[bytes.count - 1] == UInt8(truncatingIfNeeded: crc >> 8)
    }
}
