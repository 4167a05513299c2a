import Testing

@testable import NATS

@Suite("Bytes as text")
struct BaseEncodingTests {
    @Test(
        "Base32 is written and read as in RFC 4648, without padding",
        arguments: [
            ("", ""), ("f", "MY"), ("fo", "MZXQ"), ("foo", "MZXW6"), ("foob", "MZXW6YQ"), ("fooba", "MZXW6YTB"),
            ("foobar", "MZXW6YTBOI"),
        ])
    func base32(plain: String, text: String) {
        let bytes = Array(plain.utf8)
        #expect(Base32.encode(bytes) == Array(text.utf8))
        #expect(Base32.decode(text.utf8) == bytes)
    }

    @Test(
        "Base32 with a wrong character, length or last bit is refused",
        arguments: ["A", "AAA", "AAAAAA", "MZ", "my", "mY", "M=", "MY======", "M1", "M0", "M8", "M Y", "MY\n", "MÄ"])
    func malformedBase32(text: String) {
        #expect(Base32.decode(text.utf8) == nil)
    }

    @Test(
        "Base64 for URLs is written and read as in RFC 4648, without padding",
        arguments: [
            ([], ""), ([0x66], "Zg"), ([0x66, 0x6F], "Zm8"), ([0x66, 0x6F, 0x6F], "Zm9v"),
            ([0x66, 0x6F, 0x6F, 0x62], "Zm9vYg"), ([0xFB, 0xFF, 0xBF], "-_-_"), ([0xFF], "_w"), ([0xFB], "-w"),
        ] as [([UInt8], String)])
    func base64(bytes: [UInt8], text: String) {
        #expect(Base64URL.encode(bytes) == text)
        #expect(Base64URL.decode(text.utf8) == bytes)
    }

    @Test(
        "Base64 for URLs with padding, a wrong character, length or last bit is refused",
        arguments: [
            "Z", "Zm9vY", "Zg==", "Zm8=", "=", "====", "Zh", "Zm9", "+/+/", "-_+/", "Zm9v\n", "Zm 9v", "Zm9vé", "Z.9v",
            "Zg==Zg", "\0\0\0\0",
        ])
    func malformedBase64(text: String) {
        #expect(Base64URL.decode(text.utf8) == nil)
    }

    @Test("Random bytes of every length come back from their text")
    func roundTrips() {
        var generator = SeededGenerator(seed: 32)
        for length in 0..<200 {
            let bytes = (0..<length).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
            #expect(Base32.decode(Base32.encode(bytes)) == bytes)
            #expect(Base64URL.decode(Base64URL.encode(bytes).utf8) == bytes)
        }
    }
}
