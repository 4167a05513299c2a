import NIOCore

/// Values as they are stored: JSON text, as RelayX's SDKs write and read it.
enum ValueCoding {
    /// The bytes to store.
    ///
    /// - Throws: ``RelayError/invalidMessage(_:)`` for a value that would not be read as what it is: one with bytes, a
    ///   timestamp, an extension, a number that is not finite or a key that is no text, or that nests too deep.
    static func bytes(of value: MessageValue) throws(RelayError) -> [UInt8] {
        var bytes: [UInt8] = []
        JSONText.append(value, to: &bytes)
        guard let read = try? JSONText.parse(bytes: bytes), read == value else {
            throw .invalidMessage("a key has what JSON can hold, and this is something else")
        }
        return bytes
    }

    /// The value in stored bytes; the bytes themselves where they are no JSON.
    static func value(of payload: ByteBuffer) -> MessageValue {
        let bytes = Array(payload.readableBytesView)
        guard let value = try? JSONText.parse(bytes: bytes) else { return .binary(bytes) }
        return value
    }
}
