/// JSON text (RFC 8259) for ``MessageValue``, deterministic in both directions.
///
/// Integers stay integers: a number without fraction or exponent that fits into 64 bits is parsed and written exactly;
/// any other number is a double, written in the shortest form that parses back to the same. Objects keep their keys'
/// order and repetitions.
public enum JSONText {
    /// The value in this text.
    ///
    /// A lone surrogate escape, which no Swift string can contain, becomes U+FFFD.
    ///
    /// - Throws: ``MessageCodingError``.
    public static func parse(_ text: String) throws(MessageCodingError) -> MessageValue { try parse(bytes: text.utf8) }

    /// The value in this UTF-8 text.
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
    /// Values that JSON lacks are written as the nearest thing: binary as base64 text, a timestamp as ISO 8601 text, an
    /// extension as `{"type":…,"data":base64}`, a key that is no string as its own JSON text, and a number that is not
    /// finite as null. Control characters and those that reorder a line are escaped, so that the text is safe on a
    /// terminal and still the same JSON.
    ///
    /// - Parameter spaced: Whether a space follows each colon and comma.
    public static func text(_ value: MessageValue, spaced: Bool = false) -> String {
        var writer = JSONWriter(spaced: spaced)
        writer.write(value)
        return writer.text
    }

    /// Appends the value as JSON text on one line: the form for many values.
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
