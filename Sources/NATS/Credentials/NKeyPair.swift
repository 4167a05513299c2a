import Crypto

/// A signing nkey: the private half of an operator's, account's, user's, server's or cluster's key (Ed25519).
///
/// Its description, mirror and errors never show the seed. The crypto library wipes the private key with its last copy;
/// this type wipes its own buffers at once. Text that a caller holds as `String` cannot be wiped.
public struct NKeyPair: Sendable {
    private static let seedPrefix: UInt8 = 0b1001_0000
    private static let seedTextLength = 58

    /// The public half.
    public let publicKey: NKey
    private let privateKey: Curve25519.Signing.PrivateKey

    private init(kind: NKey.Kind, privateKey: Curve25519.Signing.PrivateKey) throws(CredentialsError) {
        self.publicKey = try NKey(kind: kind, bytes: Array(privateKey.publicKey.rawRepresentation))
        self.privateKey = privateKey
    }

    /// Generates a key from the system's random source.
    public static func generate(_ kind: NKey.Kind) -> NKeyPair {
        while true {
            // An Ed25519 public key always has 32 bytes, so the first turn returns.
            if let pair = try? NKeyPair(kind: kind, privateKey: .init()) { return pair }
        }
    }

    /// Parses the 58-character text of a seed, such as `SU…`, ignoring white space around it.
    /// - Throws: `CredentialsError.malformedSeed` with the fault, never with the text.
    public init(seed: String) throws(CredentialsError) {
        var bytes = Array(seed.utf8)
        defer { Wiping.wipe(&bytes) }
        try self.init(seedText: bytes[...])
    }

    /// Parses a seed from the bytes of its text, which the caller wipes.
    init(seedText text: ArraySlice<UInt8>) throws(CredentialsError) {
        let trimmed = text.trimmingBlanks()
        guard !trimmed.isEmpty else { throw .malformedSeed(.empty) }
        guard trimmed.count == Self.seedTextLength else { throw .malformedSeed(.badLength) }
        guard var raw = Base32.decode(trimmed) else { throw .malformedSeed(.badCharacter) }
        defer { Wiping.wipe(&raw) }
        guard raw.count == NKey.keyLength + 4 else { throw .malformedSeed(.badLength) }
        guard CRC16.isIntact(raw) else { throw .malformedSeed(.badChecksum) }
        guard raw[0] & 0b1111_1000 == Self.seedPrefix, raw[1] & 0b0000_0111 == 0,
            let kind = NKey.Kind(rawValue: raw[0] << 5 | raw[1] >> 3)
        else { throw .malformedSeed(.badPrefix) }
        let key: Curve25519.Signing.PrivateKey
        do {
            key = try Curve25519.Signing.PrivateKey(rawRepresentation: raw[2..<2 + NKey.keyLength])
        } catch {
            throw .malformedSeed(.badLength)
        }
        try self.init(kind: kind, privateKey: key)
    }

    /// The 64-byte Ed25519 signature of the bytes.
    ///
    /// The crypto library has no reason to refuse a key that it made. If it does, the result is empty, and verifying it
    /// fails.
    public func sign(_ bytes: some Sequence<UInt8>) -> [UInt8] {
        guard let signature = try? privateKey.signature(for: Array(bytes)) else { return [] }
        return Array(signature)
    }

    /// Passes the seed's text to the closure, to write a credentials file or answer its owner.
    public func withSeedText<R, Failure: Error>(_ body: (String) throws(Failure) -> R) throws(Failure) -> R {
        var text = seedText()
        defer { Wiping.wipe(&text) }
        return try body(String(decoding: text, as: UTF8.self))
    }

    /// The bytes of the seed's text, which the caller wipes.
    func seedText() -> [UInt8] {
        let prefix = publicKey.kind.rawValue
        var raw: [UInt8] = []
        raw.reserveCapacity(NKey.keyLength + 4)
        defer { Wiping.wipe(&raw) }
        raw.append(Self.seedPrefix | prefix >> 5)
        raw.append((prefix & 0b0001_1111) << 3)
        raw.append(contentsOf: privateKey.rawRepresentation)
        CRC16.append(to: &raw)
        return Base32.encode(raw)
    }
}

extension NKey {
    /// Whether this key's private half made the signature of the bytes.
    public func isValidSignature(_ signature: [UInt8], for bytes: some Sequence<UInt8>) -> Bool {
        guard signature.count == 64,
            let key = try? Curve25519.Signing.PublicKey(rawRepresentation: self.bytes)
        else { return false }
        return key.isValidSignature(signature, for: Array(bytes))
    }
}

extension NKeyPair: Hashable {
    /// Compares the public halves.
    public static func == (one: NKeyPair, other: NKeyPair) -> Bool { one.publicKey == other.publicKey }

    /// Hashes the public half.
    public func hash(into hasher: inout Hasher) { hasher.combine(publicKey) }
}

extension NKeyPair: CustomStringConvertible, CustomReflectable {
    /// The public key, without the seed.
    public var description: String { "NKeyPair(\(publicKey), seed hidden)" }
    /// The public key alone, so that `dump` shows no seed.
    public var customMirror: Mirror { Mirror(self, children: ["publicKey": publicKey]) }
}

extension String {
    /// The text without the blanks that copying adds at its ends.
    package func trimmingBlanks() -> String { String(decoding: Array(utf8)[...].trimmingBlanks(), as: UTF8.self) }
}

extension ArraySlice where Element == UInt8 {
    /// The slice without the blanks that copying adds at its ends: spaces, including those that do not break or have no
    /// width, tabs, line ends, and a byte order mark.
    func trimmingBlanks() -> ArraySlice<UInt8> {
        let blanks: [[UInt8]] = [
            [9], [10], [11], [12], [13], [32], [0xEF, 0xBB, 0xBF], [0xC2, 0xA0], [0xE2, 0x80, 0x8B],
        ]
        var rest = self
        while let blank = blanks.first(where: { rest.starts(with: $0) }) { rest = rest.dropFirst(blank.count) }
        while let blank = blanks.first(where: { rest.suffix($0.count).elementsEqual($0) }) {
            rest = rest.dropLast(blank.count)
        }
        return rest
    }
}
