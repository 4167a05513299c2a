extension String {
    /// The text that these bytes spell, or nil when they are not UTF-8.
    ///
    /// Messages hold many short strings, and the standard library's repairing initializer is much the fastest; what it
    /// repaired differs from the bytes.
    init?(exactly bytes: UnsafeRawBufferPointer) {
        self = String(decoding: bytes.assumingMemoryBound(to: UInt8.self), as: UTF8.self)
        guard !bytes.isASCII else { return }
        guard utf8.count == bytes.count, utf8.elementsEqual(bytes) else { return nil }
    }
}

extension UnsafeRawBufferPointer {
    /// Whether every byte is below 0x80, found eight bytes at a time.
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
