struct JSONReader {
    private let bytes: UnsafeRawBufferPointer
    private var offset = 0
    private var elements = 0

    init(_ bytes: UnsafeRawBufferPointer) throws(MessageCodingError) {
        guard bytes.count <= MessagePack.maximumBytes else {
            throw .tooLong(bytes: bytes.count, limit: MessagePack.maximumBytes)
        }
        self.bytes = bytes
    }

    mutating func document() throws(MessageCodingError) -> MessageValue {
        let value = try value(depth: 0)
        skipSpace()
        guard offset == bytes.count else { throw .trailingBytes(offset: offset) }
        return value
    }

    private mutating func value(depth: Int) throws(MessageCodingError) -> MessageValue {
        guard elements < MessagePack.maximumElements else { throw .tooManyElements(limit: MessagePack.maximumElements) }
        elements += 1
        switch try peek() {
        case UInt8(ascii: "{"): return try object(depth: depth)
        case UInt8(ascii: "["): return try array(depth: depth)
        case UInt8(ascii: "\""): return try .string(string())
        case UInt8(ascii: "t"):
            try word("true")
            return .bool(true)
        case UInt8(ascii: "f"):
            try word("false")
            return .bool(false)
        case UInt8(ascii: "n"):
            try word("null")
            return .null
        default: return try number()
        }
    }

    // MARK: Containers

    private mutating func array(depth: Int) throws(MessageCodingError) -> MessageValue {
        guard depth < MessagePack.maximumDepth else { throw .tooDeep(limit: MessagePack.maximumDepth) }
        offset += 1
        var values: [MessageValue] = []
        if try take("]") { return .array(values) }
        while true {
            try values.append(value(depth: depth + 1))
            if try take("]") { return .array(values) }
            guard try take(",") else { throw .unexpected(offset: offset) }
        }
    }

    private mutating func object(depth: Int) throws(MessageCodingError) -> MessageValue {
        guard depth < MessagePack.maximumDepth else { throw .tooDeep(limit: MessagePack.maximumDepth) }
        offset += 1
        var map = MessageMap()
        if try take("}") { return .map(map) }
        while true {
            guard try peek() == UInt8(ascii: "\"") else { throw .unexpected(offset: offset) }
            let key = try string()
            guard try take(":") else { throw .unexpected(offset: offset) }
            try map.entries.append(MessageMap.Entry(key: .string(key), value: value(depth: depth + 1)))
            if try take("}") { return .map(map) }
            guard try take(",") else { throw .unexpected(offset: offset) }
        }
    }

    // MARK: Numbers

    private mutating func number() throws(MessageCodingError) -> MessageValue {
        let start = offset
        var isInteger = true
        if current == UInt8(ascii: "-") { offset += 1 }
        let firstDigit = offset
        guard skipDigits() > 0 else {
            throw offset < bytes.count ? .unexpected(offset: start) : .truncated(offset: offset)
        }
        if bytes[firstDigit] == UInt8(ascii: "0"), offset - firstDigit > 1 { throw .invalidNumber(offset: start) }
        if current == UInt8(ascii: ".") {
            isInteger = false
            offset += 1
            guard skipDigits() > 0 else { throw .invalidNumber(offset: start) }
        }
        if current == UInt8(ascii: "e") || current == UInt8(ascii: "E") {
            isInteger = false
            offset += 1
            if current == UInt8(ascii: "+") || current == UInt8(ascii: "-") { offset += 1 }
            guard skipDigits() > 0 else { throw .invalidNumber(offset: start) }
        }
        let text = String(decoding: bytes[start..<offset], as: UTF8.self)
        if isInteger, text != "-0" {
            if let number = Int64(text) { return .int(number) }
            if let number = UInt64(text) { return .unsigned(number) }
        }
        guard let number = Double(text), number.isFinite else { throw .invalidNumber(offset: start) }
        return .double(number)
    }

    private mutating func skipDigits() -> Int {
        let start = offset
        while let byte = current, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) { offset += 1 }
        return offset - start
    }

    // MARK: Strings

    /// Parses the string whose opening quote is here.
    private mutating func string() throws(MessageCodingError) -> String {
        let opening = offset
        offset += 1
        let start = offset
        // Most strings have no escape and are copied in one piece.
        while let byte = current, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\") {
            guard byte >= 0x20 else { throw .unexpected(offset: offset) }
            offset += 1
        }
        guard let stop = current else { throw .truncated(offset: offset) }
        if stop == UInt8(ascii: "\"") {
            defer { offset += 1 }
            return try text(bytes[start..<offset], opening: opening)
        }
        var unescaped = [UInt8](bytes[start..<offset])
        while let byte = current {
            offset += 1
            switch byte {
            case UInt8(ascii: "\""):
                return try unescaped.withRawBytes { raw throws(MessageCodingError) in
                    try text(raw[...], opening: opening)
                }
            case UInt8(ascii: "\\"): try escape(into: &unescaped)
            case ..<0x20: throw .unexpected(offset: offset - 1)
            default: unescaped.append(byte)
            }
        }
        throw .truncated(offset: offset)
    }

    private func text(_ slice: Slice<UnsafeRawBufferPointer>, opening: Int) throws(MessageCodingError) -> String {
        guard let text = String(exactly: UnsafeRawBufferPointer(rebasing: slice)) else {
            throw .invalidText(offset: opening)
        }
        return text
    }

    private mutating func escape(into text: inout [UInt8]) throws(MessageCodingError) {
        guard let byte = current else { throw .truncated(offset: offset) }
        offset += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): text.append(byte)
        case UInt8(ascii: "b"): text.append(0x08)
        case UInt8(ascii: "f"): text.append(0x0C)
        case UInt8(ascii: "n"): text.append(0x0A)
        case UInt8(ascii: "r"): text.append(0x0D)
        case UInt8(ascii: "t"): text.append(0x09)
        case UInt8(ascii: "u"): try text.append(contentsOf: Character(escapedScalar()).utf8)
        default: throw .unexpected(offset: offset - 1)
        }
    }

    /// The scalar of a `\u` escape, combined with the low surrogate that follows a high one.
    private mutating func escapedScalar() throws(MessageCodingError) -> Unicode.Scalar {
        let unit = try fourDigits()
        if (0xD800...0xDBFF).contains(unit), current == UInt8(ascii: "\\"), offset + 1 < bytes.count,
            bytes[offset + 1] == UInt8(ascii: "u")
        {
            let resume = offset
            offset += 2
            let low = try fourDigits()
            if (0xDC00...0xDFFF).contains(low) {
                return Unicode.Scalar(0x10000 + (unit - 0xD800) << 10 + (low - 0xDC00)) ?? "\u{FFFD}"
            }
            offset = resume
        }
        return Unicode.Scalar(unit) ?? "\u{FFFD}"
    }

    private mutating func fourDigits() throws(MessageCodingError) -> UInt32 {
        var unit: UInt32 = 0
        for _ in 0..<4 {
            guard let byte = current else { throw .truncated(offset: offset) }
            guard let digit = Character(Unicode.Scalar(byte)).hexDigitValue else { throw .unexpected(offset: offset) }
            unit = unit << 4 | UInt32(digit)
            offset += 1
        }
        return unit
    }

    // MARK: Bytes

    private var current: UInt8? { offset < bytes.count ? bytes[offset] : nil }

    private mutating func skipSpace() {
        while let byte = current, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { offset += 1 }
    }

    private mutating func peek() throws(MessageCodingError) -> UInt8 {
        skipSpace()
        guard let byte = current else { throw .truncated(offset: offset) }
        return byte
    }

    private mutating func take(_ mark: Unicode.Scalar) throws(MessageCodingError) -> Bool {
        guard try peek() == UInt8(ascii: mark) else { return false }
        offset += 1
        return true
    }

    private mutating func word(_ word: StaticString) throws(MessageCodingError) {
        let expected = UnsafeRawBufferPointer(start: word.utf8Start, count: word.utf8CodeUnitCount)
        guard bytes.count - offset >= expected.count else { throw .truncated(offset: offset) }
        guard bytes[offset..<offset + expected.count].elementsEqual(expected) else { throw .unexpected(offset: offset) }
        offset += expected.count
    }
}
