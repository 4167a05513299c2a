/// Decodes MessagePack values from bytes in place. Every claim is checked before it is used.
struct MessagePackReader {
    private let bytes: UnsafeRawBufferPointer
    private(set) var offset = 0
    private var elements = 0

    init(_ bytes: UnsafeRawBufferPointer) throws(MessageCodingError) {
        guard bytes.count <= MessagePack.maximumBytes else {
            throw .tooLong(bytes: bytes.count, limit: MessagePack.maximumBytes)
        }
        self.bytes = bytes
    }

    func finish() throws(MessageCodingError) {
        guard offset == bytes.count else { throw .trailingBytes(offset: offset) }
    }

    /// The number of entries of the map that starts here; nil, with nothing read, if it is no map.
    mutating func mapHeader() throws(MessageCodingError) -> Int? {
        guard offset < bytes.count else { throw .truncated(offset: offset) }
        switch bytes[offset] {
        case let type where type & 0xF0 == 0x80:
            offset += 1
            return try claim(Int(type & 0x0F), valuesEach: 2)
        case 0xDE:
            offset += 1
            return try claim(Int(integer(UInt16.self)), valuesEach: 2)
        case 0xDF:
            offset += 1
            return try claim(Int(integer(UInt32.self)), valuesEach: 2)
        default:
            return nil
        }
    }

    /// Returns to an earlier ``offset``, to read the same bytes in another way.
    mutating func rewind(to earlier: Int) { offset = min(earlier, offset) }

    /// The unchecked bytes of the text that starts here; nil, with nothing read, if it is no text of up to 31 bytes, as
    /// the keys of an envelope are.
    mutating func shortText() throws(MessageCodingError) -> UnsafeRawBufferPointer? {
        guard offset < bytes.count else { throw .truncated(offset: offset) }
        let type = bytes[offset]
        guard type & 0xE0 == 0xA0 else { return nil }
        offset += 1
        return try slice(length: Int(type & 0x1F))
    }

    /// The bytes of the ASCII text that starts here; nil, with nothing read, for anything else or more than 255 bytes.
    /// It makes no string of a text that may not be needed.
    mutating func asciiText() throws(MessageCodingError) -> UnsafeRawBufferPointer? {
        let start = offset
        var text = try shortText()
        if text == nil, bytes[offset] == 0xD9 {
            offset += 1
            text = try slice(length: Int(integer(UInt8.self)))
        }
        if let text, text.isASCII { return text }
        offset = start
        return nil
    }

    mutating func value(depth: Int = 0) throws(MessageCodingError) -> MessageValue {
        guard offset < bytes.count else { throw .truncated(offset: offset) }
        let type = bytes[offset]
        offset += 1
        switch type {
        case ...0x7F: return .int(Int64(type))
        case 0x80...0x8F: return try map(claim(Int(type & 0x0F), valuesEach: 2), depth: depth)
        case 0x90...0x9F: return try array(claim(Int(type & 0x0F), valuesEach: 1), depth: depth)
        case 0xA0...0xBF: return try .string(text(length: Int(type & 0x1F)))
        case 0xC0: return .null
        case 0xC1: throw .unexpected(offset: offset - 1)
        case 0xC2: return .bool(false)
        case 0xC3: return .bool(true)
        case 0xC4: return try .binary(data(length: Int(integer(UInt8.self))))
        case 0xC5: return try .binary(data(length: Int(integer(UInt16.self))))
        case 0xC6: return try .binary(data(length: Int(integer(UInt32.self))))
        case 0xC7: return try extended(length: Int(integer(UInt8.self)))
        case 0xC8: return try extended(length: Int(integer(UInt16.self)))
        case 0xC9: return try extended(length: Int(integer(UInt32.self)))
        case 0xCA: return try .double(Double(Float(bitPattern: integer(UInt32.self))))
        case 0xCB: return try .double(Double(bitPattern: integer(UInt64.self)))
        case 0xCC: return try .int(Int64(integer(UInt8.self)))
        case 0xCD: return try .int(Int64(integer(UInt16.self)))
        case 0xCE: return try .int(Int64(integer(UInt32.self)))
        case 0xCF: return try .integer(integer(UInt64.self))
        case 0xD0: return try .int(Int64(integer(Int8.self)))
        case 0xD1: return try .int(Int64(integer(Int16.self)))
        case 0xD2: return try .int(Int64(integer(Int32.self)))
        case 0xD3: return try .int(integer(Int64.self))
        case 0xD4: return try extended(length: 1)
        case 0xD5: return try extended(length: 2)
        case 0xD6: return try extended(length: 4)
        case 0xD7: return try extended(length: 8)
        case 0xD8: return try extended(length: 16)
        case 0xD9: return try .string(text(length: Int(integer(UInt8.self))))
        case 0xDA: return try .string(text(length: Int(integer(UInt16.self))))
        case 0xDB: return try .string(text(length: Int(integer(UInt32.self))))
        case 0xDC: return try array(claim(Int(integer(UInt16.self)), valuesEach: 1), depth: depth)
        case 0xDD: return try array(claim(Int(integer(UInt32.self)), valuesEach: 1), depth: depth)
        case 0xDE: return try map(claim(Int(integer(UInt16.self)), valuesEach: 2), depth: depth)
        case 0xDF: return try map(claim(Int(integer(UInt32.self)), valuesEach: 2), depth: depth)
        default: return .int(Int64(Int8(bitPattern: type)))
        }
    }

    // MARK: Containers

    private mutating func array(_ count: Int, depth: Int) throws(MessageCodingError) -> MessageValue {
        guard depth < MessagePack.maximumDepth else { throw .tooDeep(limit: MessagePack.maximumDepth) }
        var values: [MessageValue] = []
        values.reserveCapacity(count)
        for _ in 0..<count { try values.append(value(depth: depth + 1)) }
        return .array(values)
    }

    private mutating func map(_ count: Int, depth: Int) throws(MessageCodingError) -> MessageValue {
        guard depth < MessagePack.maximumDepth else { throw .tooDeep(limit: MessagePack.maximumDepth) }
        var entries: [MessageMap.Entry] = []
        entries.reserveCapacity(count)
        for _ in 0..<count {
            let key = try value(depth: depth + 1)
            try entries.append(MessageMap.Entry(key: key, value: value(depth: depth + 1)))
        }
        return .map(MessageMap(entries))
    }

    /// Accepts a count only if the remaining bytes could hold that many values and the limit allows them. Claims add up
    /// over the entire input, so nesting them gains nothing.
    private mutating func claim(_ count: Int, valuesEach: Int) throws(MessageCodingError) -> Int {
        let values = count * valuesEach
        guard values <= bytes.count - offset else { throw .truncated(offset: bytes.count) }
        guard values <= MessagePack.maximumElements - elements else {
            throw .tooManyElements(limit: MessagePack.maximumElements)
        }
        elements += values
        return count
    }

    // MARK: Leaves

    private mutating func integer<Number: FixedWidthInteger>(_: Number.Type) throws(MessageCodingError) -> Number {
        let width = MemoryLayout<Number>.size
        guard width <= bytes.count - offset else { throw .truncated(offset: bytes.count) }
        defer { offset += width }
        return Number(bigEndian: bytes.loadUnaligned(fromByteOffset: offset, as: Number.self))
    }

    private mutating func slice(length: Int) throws(MessageCodingError) -> UnsafeRawBufferPointer {
        guard length <= bytes.count - offset else { throw .truncated(offset: bytes.count) }
        defer { offset += length }
        return UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + length])
    }

    private mutating func text(length: Int) throws(MessageCodingError) -> String {
        let start = offset
        guard let text = try String(exactly: slice(length: length)) else { throw .invalidText(offset: start) }
        return text
    }

    private mutating func data(length: Int) throws(MessageCodingError) -> [UInt8] { try [UInt8](slice(length: length)) }

    private mutating func extended(length: Int) throws(MessageCodingError) -> MessageValue {
        let start = offset
        let type = try integer(Int8.self)
        guard type == -1 else { return try .extension(type: type, data: data(length: length)) }
        let seconds: Int64
        let nanoseconds: UInt32
        switch length {
        case 4:
            seconds = try Int64(integer(UInt32.self))
            nanoseconds = 0
        case 8:
            let packed = try integer(UInt64.self)
            seconds = Int64(packed & 0x3_FFFF_FFFF)
            nanoseconds = UInt32(packed >> 34)
        case 12:
            nanoseconds = try integer(UInt32.self)
            seconds = try integer(Int64.self)
        default:
            _ = try slice(length: length)
            throw .invalidTimestamp(offset: start)
        }
        guard nanoseconds < 1_000_000_000 else { throw .invalidTimestamp(offset: start) }
        return .timestamp(seconds: seconds, nanoseconds: nanoseconds)
    }
}
