import Platform

/// RFC 4648 section 5 base64 without padding, as JSON web tokens and nonce signatures use it: Foundation's base64 with
/// the two characters that URLs can hold.
public enum Base64URL {
    /// The text of the bytes, without padding.
    public static func encode(_ bytes: some Sequence<UInt8>) -> String {
        let padding = UInt8(ascii: "=")
        var text: [UInt8] = []
        for character in Data(bytes).base64EncodedString().utf8 where character != padding {
            switch character {
            case UInt8(ascii: "+"): text.append(UInt8(ascii: "-"))
            case UInt8(ascii: "/"): text.append(UInt8(ascii: "_"))
            default: text.append(character)
            }
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// The bytes of the text, or nil when it holds padding, a foreign character, an impossible length or
    /// unused bits that are not zero.
    public static func decode(_ text: some Sequence<UInt8>) -> [UInt8]? {
        let given = Array(text)
        var padded: [UInt8] = []
        padded.reserveCapacity(given.count + 3)
        for character in given {
            switch character {
            case UInt8(ascii: "-"): padded.append(UInt8(ascii: "+"))
            case UInt8(ascii: "_"): padded.append(UInt8(ascii: "/"))
            default: padded.append(character)
            }
        }
        while padded.count % 4 != 0 { padded.append(UInt8(ascii: "=")) }
        guard let data = Data(base64Encoded: Data(padded)) else { return nil }
        // Foundation is more lenient. Bytes have exactly one text here, so whatever differs from it is refused.
        return encode(data).utf8.elementsEqual(given) ? Array(data) : nil
    }
}
