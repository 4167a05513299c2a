/// JSON text (RFC 8259) for ``MessageValue``, deterministic in both directions.
///
/// Integers stay integers: a number without fraction or exponent that 64 bits hold is read and written exactly; every
/// other number is a double, written in the shortest form that reads back as the same. Objects keep their keys' order
/// and repetitions.
public enum JSONText {
    /// The value that this text holds.
    ///
    /// A lone surrogate escape, which no Swift string can hold, becomes U+FFFD.
    ///
    /// - Throws: ``MessageCodingError``.
    public static func parse(_ text: String) throws(MessageCodingError) -> MessageValue {
        try parse(bytes: text.utf8)
    }

    /// The value that this UTF-8 text holds.
    ///
    /// - Throws: ``MessageCodingError``.
    public static func parse(bytes: some Collection<UInt8>) throws(MessageCodingError) -> MessageValue {
        try bytes.withRawBytes { raw throws(MessageCodingError) in
            var reader = try JSONReader(raw)
            return try reader.document()
        }
    }

    /// The value as JSON text on one line.
    ///
    /// What JSON lacks is written as the nearest thing that it has: binary as base64 text, a timestamp as ISO 8601
    /// text, an extension as `{"type":…,"data":base64}`, a key that is no string as its own JSON text, and a number
    /// that is not finite as null. Control characters and those that reorder a line are escaped, so that the text is
    /// safe on a terminal and still the same JSON.
    ///
    /// - Parameters:
    ///   - value: what to write.
    ///   - spaced: whether a space follows each colon and comma.
    public static func text(_ value: MessageValue, spaced: Bool = false) -> String {
        var writer = JSONWriter(spaced: spaced)
        writer.write(value)
        return writer.text
    }

    /// Appends the value as JSON text on one line: the form for many values that are written together.
    public static func append(_ value: MessageValue, to bytes: inout [UInt8]) {
        var writer = JSONWriter(appendingTo: exchange(&bytes, with: []))
        writer.write(value)
        bytes = writer.bytes
    }

    /// A string as a JSON string, quotes included.
    public static func quote(_ text: String) -> String {
        var writer = JSONWriter(spaced: false)
        writer.write(text)
        return writer.text
    }
}
