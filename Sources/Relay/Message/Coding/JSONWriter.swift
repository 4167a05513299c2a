import Platform

struct JSONWriter {
    private(set) var bytes: [UInt8]
    private let spaced: Bool

    init(spaced: Bool) {
        bytes = []
        self.spaced = spaced
        bytes.reserveCapacity(256)
    }

    /// Writes after the given bytes.
    init(appendingTo bytes: consuming [UInt8]) {
        self.bytes = bytes
        spaced = false
    }

    var text: String { String(decoding: bytes, as: UTF8.self) }

    mutating func write(_ value: MessageValue) {
        switch value {
        case .null: append("null")
        case .bool(let truth): append(truth ? "true" : "false")
        case .int(let number): append(String(number))
        case .unsigned(let number): append(String(number))
        case .double(let number): append(number.isFinite ? number.description : "null")
        case .string(let text): write(text)
        case .binary(let data): write(Data(data).base64EncodedString())
        case .array(let values):
            append("[")
            for (index, value) in values.enumerated() {
                if index > 0 { separate(with: ",") }
                write(value)
            }
            append("]")
        case .map(let map):
            append("{")
            for (index, entry) in map.entries.enumerated() {
                if index > 0 { separate(with: ",") }
                if case .string(let key) = entry.key {
                    write(key)
                } else {
                    write(JSONText.text(entry.key))
                }
                separate(with: ":")
                write(entry.value)
            }
            append("}")
        case .timestamp(let seconds, let nanoseconds):
            let (milliseconds, overflow) = seconds.multipliedReportingOverflow(by: 1_000)
            let moment = overflow ? (seconds < 0 ? Timestamp.earliest : Timestamp.latest).milliseconds : milliseconds
            let clamped = min(max(moment, Timestamp.earliest.milliseconds), Timestamp.latest.milliseconds)
            write(Timestamp(milliseconds: clamped + Int64(nanoseconds / 1_000_000)).iso8601)
        case .extension(let type, let data):
            write(.map(["type": .int(Int64(type)), "data": .string(Data(data).base64EncodedString())]))
        }
    }

    mutating func write(_ text: String) {
        bytes.append(UInt8(ascii: "\""))
        var text = text
        text.withUTF8 { utf8 in
            var start = 0
            var index = 0
            while index < utf8.count {
                if index + 8 <= utf8.count, JSONWriter.isPlain(utf8, at: index) {
                    index += 8
                    continue
                }
                let byte = utf8[index]
                if byte >= 0x20, byte < 0x7F, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\") {
                    index += 1
                    continue
                }
                let (escape, length) = JSONWriter.escape(utf8, at: index)
                if let escape {
                    bytes.append(contentsOf: UnsafeBufferPointer(rebasing: utf8[start..<index]))
                    append(escape)
                    start = index + length
                }
                index += length
            }
            bytes.append(contentsOf: UnsafeBufferPointer(rebasing: utf8[start...]))
        }
        bytes.append(UInt8(ascii: "\""))
    }

    /// Whether the next eight bytes are ASCII that needs no escape, tested together: subtracting a limit borrows from
    /// the highest bit of a byte below it, and so does subtracting one from a byte that equals a character, after XOR
    /// with that.
    @inline(__always)
    private static func isPlain(_ utf8: UnsafeBufferPointer<UInt8>, at index: Int) -> Bool {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let highest: UInt64 = 0x8080_8080_8080_8080
        let word = UnsafeRawBufferPointer(utf8).loadUnaligned(fromByteOffset: index, as: UInt64.self)
        let quote = word ^ (ones &* UInt64(UInt8(ascii: "\"")))
        let backslash = word ^ (ones &* UInt64(UInt8(ascii: "\\")))
        let delete = word ^ (ones &* 0x7F)
        let special =
            (word &- ones &* 0x20) | (quote &- ones) | (backslash &- ones) | (delete &- ones) | word
        return special & highest == 0
    }

    /// The escape for the character that starts here, if it needs one, and the character's length in bytes.
    private static func escape(_ utf8: UnsafeBufferPointer<UInt8>, at index: Int) -> (escape: String?, length: Int) {
        let byte = utf8[index]
        switch byte {
        case UInt8(ascii: "\""): return ("\\\"", 1)
        case UInt8(ascii: "\\"): return ("\\\\", 1)
        case UInt8(ascii: "\n"): return ("\\n", 1)
        case UInt8(ascii: "\r"): return ("\\r", 1)
        case UInt8(ascii: "\t"): return ("\\t", 1)
        case ..<0x20, 0x7F: return (unicode(UInt32(byte)), 1)
        case 0xC2...0xDF where index + 1 < utf8.count:
            let scalar = UInt32(byte & 0x1F) << 6 | UInt32(utf8[index + 1] & 0x3F)
            return (isUnsafe(scalar) ? unicode(scalar) : nil, 2)
        case 0xE0...0xEF where index + 2 < utf8.count:
            let scalar =
                UInt32(byte & 0x0F) << 12 | UInt32(utf8[index + 1] & 0x3F) << 6 | UInt32(utf8[index + 2] & 0x3F)
            return (isUnsafe(scalar) ? unicode(scalar) : nil, 3)
        default: return (nil, 1)
        }
    }

    /// C1 controls, line and paragraph separators, and marks that change the direction of text.
    private static func isUnsafe(_ scalar: UInt32) -> Bool {
        switch scalar {
        case 0x80...0x9F, 0x061C, 0x200E...0x200F, 0x2028...0x202E, 0x2066...0x2069: true
        default: false
        }
    }

    private static func unicode(_ scalar: UInt32) -> String {
        let digits = String(scalar, radix: 16)
        return "\\u" + String(repeating: "0", count: 4 - digits.utf8.count) + digits
    }

    private mutating func append(_ text: String) { bytes.append(contentsOf: text.utf8) }

    private mutating func separate(with mark: String) {
        append(mark)
        if spaced { append(" ") }
    }
}

extension Timestamp {
    /// The first moment of the year 0000.
    package static let earliest = Timestamp(milliseconds: -62_167_219_200_000)
    /// The last second of the year 9999.
    package static let latest = Timestamp(milliseconds: 253_402_300_799_000)
}
