/// MessagePack, the entire specification: nil, booleans, all integers, 32- and 64-bit floats, strings, binaries,
/// arrays, maps, extensions and timestamps.
///
/// Encoding is canonical: integers, lengths and timestamps take their shortest form; floats always take 64 bits, so
/// that every reader gets the same number. Decoding accepts every form. Claims in the input (lengths, counts, depth)
/// are checked against the bytes present and the limits before anything is allocated.
public enum MessagePack {
    /// How deeply arrays and maps may nest, which protects the stack. These limits hold for JSON too.
    public static let maximumDepth = 64
    /// The longest input, in bytes: the most that a NATS server accepts.
    public static let maximumBytes = 64 << 20
    /// The most values in the entire input, so that a small hostile one cannot cost much; a map's keys count too.
    public static let maximumElements = 500_000

    /// The value's bytes in their shortest form.
    public static func encode(_ value: MessageValue) -> [UInt8] {
        var writer = MessagePackWriter()
        writer.write(value)
        return writer.bytes
    }

    /// The single value in these bytes.
    ///
    /// - Throws: ``MessageCodingError``; bytes after the value are an error.
    public static func decode(_ bytes: UnsafeRawBufferPointer) throws(MessageCodingError) -> MessageValue {
        var reader = try MessagePackReader(bytes)
        let value = try reader.value()
        try reader.finish()
        return value
    }

    /// The single value in these bytes.
    ///
    /// - Throws: ``MessageCodingError``; bytes after the value are an error.
    public static func decode(_ bytes: some Collection<UInt8>) throws(MessageCodingError) -> MessageValue {
        try bytes.withRawBytes { raw throws(MessageCodingError) in try decode(raw) }
    }
}

extension Collection<UInt8> {
    /// Calls a body with the contiguous bytes, copying them only if necessary.
    func withRawBytes<Value, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        func attempt(_ buffer: UnsafeBufferPointer<UInt8>) -> Result<Value, Failure> {
            do throws(Failure) {
                return .success(try body(UnsafeRawBufferPointer(buffer)))
            } catch {
                return .failure(error)
            }
        }
        if let result = withContiguousStorageIfAvailable(attempt) { return try result.get() }
        return try Array(self).withUnsafeBufferPointer(attempt).get()
    }
}

extension String {
    /// The text in these bytes; nil if they are not UTF-8.
    ///
    /// Messages contain many short strings, and the standard library's repairing initializer is by far the fastest; a
    /// repaired text differs from the bytes.
    init?(exactly bytes: UnsafeRawBufferPointer) {
        self = String(decoding: bytes.assumingMemoryBound(to: UInt8.self), as: UTF8.self)
        guard !bytes.isASCII else { return }
        guard utf8.count == bytes.count, utf8.elementsEqual(bytes) else { return nil }
    }
}

extension UnsafeRawBufferPointer {
    /// Whether every byte is below 0x80, tested eight bytes at a time.
    var isASCII: Bool {
        var offset = 0
        while count - offset >= 8 {
            guard loadUnaligned(fromByteOffset: offset, as: UInt64.self) & 0x8080_8080_8080_8080 == 0 else {
                return false
            }
            offset += 8
        }
        while offset < count {
            guard self[offset] < 0x80 else { return false }
            offset += 1
        }
        return true
    }
}
