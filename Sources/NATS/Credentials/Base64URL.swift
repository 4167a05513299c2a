import Platform

/// RFC 4648 section 5 base64 without padding, for JSON web tokens and nonce signatures: Foundation's base64 with the
/// two characters that suit URLs.
public enum Base64URL {
    /// The text of the bytes, without padding.
    public static func encode(_ bytes: some Sequence<UInt8>) -> String {
        let text = Data(bytes).base64EncodedString().utf8.prefix { $0 != UInt8(ascii: "=") }
        return String(decoding: text.map(exchanged), as: UTF8.self)
    }

    /// The bytes; nil for padding, a foreign character, an impossible length or nonzero unused bits.
    public static func decode(_ text: some Sequence<UInt8>) -> [UInt8]? {
        let given = Array(text)
        let padding = [UInt8](repeating: UInt8(ascii: "="), count: -given.count & 3)
        guard let data = Data(base64Encoded: Data(given.map(exchanged) + padding)) else { return nil }
        // Foundation is more lenient. Here bytes have exactly one text, so any other is refused.
        return encode(data).utf8.elementsEqual(given) ? Array(data) : nil
    }

    private static func exchanged(_ character: UInt8) -> UInt8 {
        switch character {
        case UInt8(ascii: "+"): UInt8(ascii: "-")
        case UInt8(ascii: "/"): UInt8(ascii: "_")
        case UInt8(ascii: "-"): UInt8(ascii: "+")
        case UInt8(ascii: "_"): UInt8(ascii: "/")
        default: character
        }
    }
}
