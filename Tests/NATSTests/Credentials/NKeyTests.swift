import Testing

@testable import NATS

@Suite("NKeys")
struct NKeyTests {
    @Test("A seed gives the public key and the signature that other implementations give")
    func vectors() throws {
        for vector in CredentialsVectors.pairs {
            let pair = try NKeyPair(seed: vector.seed)
            #expect(pair.publicKey.text == vector.publicKey)
            #expect(pair.publicKey.kind == vector.kind)
            let signature = try #require(Base64URL.decode(vector.signature.utf8))
            #expect(pair.publicKey.isValidSignature(signature, for: CredentialsVectors.message))
            #expect(pair.withSeedText { $0 } == vector.seed)
            #expect(try NKey(vector.publicKey) == pair.publicKey)
            // Ed25519 is deterministic where the library follows RFC 8032 to the letter; CryptoKit adds noise.
            let own = pair.sign(CredentialsVectors.message)
            #expect(own.count == 64)
            #expect(pair.publicKey.isValidSignature(own, for: CredentialsVectors.message))
            #if !canImport(CryptoKit)
                #expect(own == signature)
            #endif
        }
    }

    @Test("A new key pair of every kind survives its own text", arguments: NKey.Kind.allCases)
    func roundTrip(kind: NKey.Kind) throws {
        let pair = NKeyPair.generate(kind)
        let again = try pair.withSeedText { seed throws(CredentialsError) in try NKeyPair(seed: seed) }
        #expect(again == pair)
        #expect(try NKey(pair.publicKey.text) == pair.publicKey)
        #expect(NKeyPair.generate(kind) != pair)
        let letters: [NKey.Kind: String] = [.operator: "O", .account: "A", .user: "U", .server: "N", .cluster: "C"]
        #expect(pair.publicKey.text.hasPrefix(letters[kind] ?? "?"))
        #expect(pair.withSeedText { $0.hasPrefix("S" + (letters[kind] ?? "?")) })
    }

    @Test("B2: every single changed character of a key or a seed is refused")
    func corruption() {
        for text in [CredentialsVectors.user.publicKey, CredentialsVectors.user.seed] {
            for index in text.indices {
                for replacement in "AZ27q1. " where replacement != text[index] {
                    var changed = text
                    changed.replaceSubrange(index...index, with: String(replacement))
                    let trimmedIsWhole = changed.trimmingSpaces.count == text.count
                    #expect(throws: CredentialsError.self, "\(index)") {
                        if text.hasPrefix("S") {
                            _ = try NKeyPair(seed: trimmedIsWhole ? changed : changed.trimmingSpaces)
                        } else {
                            _ = try NKey(changed)
                        }
                    }
                }
            }
        }
    }

    @Test("B2: the fault of a bad key is named, and its text is not")
    func faults() throws {
        let seed = CredentialsVectors.user.seed
        let cases: [(String, CredentialsError.KeyFault)] = [
            ("", .empty), ("  \n", .empty), (String(seed.dropLast()), .badLength), (seed + "A", .badLength),
            (seed.lowercased(), .badCharacter), (String(seed.dropLast()) + "A", .badChecksum),
            (text(prefix: [0b1001_0000 | 5, 1 << 3]), .badPrefix), (text(prefix: [0, 0]), .badPrefix),
            (text(prefix: [0b1001_0000 | 5, 0b1011_1000 << 3 & 0xF8]), .badPrefix),
        ]
        for (text, fault) in cases {
            #expect(throws: CredentialsError.malformedSeed(fault)) { try NKeyPair(seed: text) }
            #expect(!CredentialsError.malformedSeed(fault).description.contains("SU"))
        }
        #expect(throws: CredentialsError.malformedKey(.empty)) { try NKey("") }
        #expect(throws: CredentialsError.malformedKey(.badLength)) { try NKey(seed) }
        #expect(try NKeyPair(seed: " \(seed)\r\n").publicKey.text == CredentialsVectors.user.publicKey)
    }

    @Test("B2: neither description nor dump nor error shows a seed")
    func redaction() throws {
        let seed = CredentialsVectors.user.seed
        let pair = try NKeyPair(seed: seed)
        var dumped = ""
        dump(pair, to: &dumped)
        let authentication: [String: Any] = ["pair": pair]
        for text in ["\(pair)", String(reflecting: pair), dumped, "\(authentication)"] {
            #expect(!text.contains(seed.prefix(10)))
            #expect(text.contains(CredentialsVectors.user.publicKey))
        }
    }

    /// A seed-shaped text with a sound checksum behind the given first bytes.
    private func text(prefix: [UInt8]) -> String {
        var raw = prefix + [UInt8](repeating: 7, count: 32)
        CRC16.append(to: &raw)
        return String(decoding: Base32.encode(raw), as: UTF8.self)
    }
}

extension String {
    fileprivate var trimmingSpaces: String {
        trimmingBlanks()
    }
}
