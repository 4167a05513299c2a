struct MessagePackWriter {
    private(set) var bytes: [UInt8] = []

    init(capacity: Int = 64) { bytes.reserveCapacity(capacity) }

    mutating func write(_ value: MessageValue) {
        switch value {
        case .null: bytes.append(0xC0)
        case .bool(let truth): bytes.append(truth ? 0xC3 : 0xC2)
        case .int(let number): write(number)
        case .unsigned(let number): write(number)
        case .double(let number):
            bytes.append(0xCB)
            append(number.bitPattern)
        case .string(let text): write(text)
        case .binary(let data): write(binary: data)
        case .array(let values):
            header(count: values.count, short: 0x90, shortLimit: 15, byte: nil, two: 0xDC, four: 0xDD)
            for value in values { write(value) }
        case .map(let map):
            writeMapHeader(count: map.count)
            for entry in map.entries {
                write(entry.key)
                write(entry.value)
            }
        case .timestamp(let seconds, let nanoseconds): write(seconds: seconds, nanoseconds: nanoseconds)
        case .extension(let type, let data): write(type: type, data: data)
        }
    }

    mutating func write(_ number: Int64) {
        guard number < 0 else { return write(UInt64(number)) }
        switch number {
        case (-32)...: bytes.append(UInt8(truncatingIfNeeded: number))
        case Int64(Int8.min)...:
            bytes.append(0xD0)
            bytes.append(UInt8(truncatingIfNeeded: number))
        case Int64(Int16.min)...:
            bytes.append(0xD1)
            append(Int16(truncatingIfNeeded: number))
        case Int64(Int32.min)...:
            bytes.append(0xD2)
            append(Int32(truncatingIfNeeded: number))
        default:
            bytes.append(0xD3)
            append(number)
        }
    }

    mutating func write(_ number: UInt64) {
        switch number {
        case ...0x7F: bytes.append(UInt8(truncatingIfNeeded: number))
        case ...0xFF:
            bytes.append(0xCC)
            bytes.append(UInt8(truncatingIfNeeded: number))
        case ...0xFFFF:
            bytes.append(0xCD)
            append(UInt16(truncatingIfNeeded: number))
        case ...0xFFFF_FFFF:
            bytes.append(0xCE)
            append(UInt32(truncatingIfNeeded: number))
        default:
            bytes.append(0xCF)
            append(number)
        }
    }

    mutating func write(_ text: String) {
        var text = text
        text.withUTF8 { utf8 in
            header(count: utf8.count, short: 0xA0, shortLimit: 31, byte: 0xD9, two: 0xDA, four: 0xDB)
            bytes.append(contentsOf: utf8)
        }
    }

    mutating func writeMapHeader(count: Int) {
        header(count: count, short: 0x80, shortLimit: 15, byte: nil, two: 0xDE, four: 0xDF)
    }

    private mutating func write(binary data: [UInt8]) {
        header(count: data.count, short: nil, shortLimit: -1, byte: 0xC4, two: 0xC5, four: 0xC6)
        bytes.append(contentsOf: data)
    }

    private mutating func write(type: Int8, data: [UInt8]) {
        switch data.count {
        case 1: bytes.append(0xD4)
        case 2: bytes.append(0xD5)
        case 4: bytes.append(0xD6)
        case 8: bytes.append(0xD7)
        case 16: bytes.append(0xD8)
        default: header(count: data.count, short: nil, shortLimit: -1, byte: 0xC7, two: 0xC8, four: 0xC9)
        }
        bytes.append(UInt8(bitPattern: type))
        bytes.append(contentsOf: data)
    }

    /// The shortest of the three timestamp forms: 32 bits of seconds, 34 of seconds with 30 of nanoseconds, or both in
    /// full. Nanoseconds beyond a second are carried.
    private mutating func write(seconds: Int64, nanoseconds: UInt32) {
        let carried = seconds.addingReportingOverflow(Int64(nanoseconds / 1_000_000_000))
        let whole = carried.overflow ? Int64.max : carried.partialValue
        let fraction = nanoseconds % 1_000_000_000
        if fraction == 0, let short = UInt32(exactly: whole) {
            bytes.append(contentsOf: [0xD6, 0xFF])
            append(short)
        } else if (0..<(1 << 34)).contains(whole) {
            bytes.append(contentsOf: [0xD7, 0xFF])
            append(UInt64(fraction) << 34 | UInt64(whole))
        } else {
            bytes.append(contentsOf: [0xC7, 12, 0xFF])
            append(fraction)
            append(whole)
        }
    }

    private mutating func header(count: Int, short: UInt8?, shortLimit: Int, byte: UInt8?, two: UInt8, four: UInt8) {
        if let short, count <= shortLimit {
            bytes.append(short | UInt8(truncatingIfNeeded: count))
        } else if let byte, count <= 0xFF {
            bytes.append(byte)
            bytes.append(UInt8(truncatingIfNeeded: count))
        } else if count <= 0xFFFF {
            bytes.append(two)
            append(UInt16(truncatingIfNeeded: count))
        } else {
            bytes.append(four)
            append(UInt32(clamping: count))
        }
    }

    private mutating func append(_ number: some FixedWidthInteger) {
        withUnsafeBytes(of: number.bigEndian) { bytes.append(contentsOf: $0) }
    }
}
