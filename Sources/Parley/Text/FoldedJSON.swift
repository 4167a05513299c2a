import Terminal

/// A text that is one JSON object or array, as shown where it would take more than a line.
struct FoldedJSON: Hashable, Sendable {
    let isObject: Bool
    let count: Int
    let bytes: Int

    /// Longer or deeper texts are shown like any other.
    static let byteLimit = 1 << 20
    static let depthLimit = 64
    /// Deeper values are indented no further, so that a text cannot grow much.
    static let indentedDepth = 8

    /// Nil if the text is anything else.
    init?(_ text: String) {
        guard let found = Self.outline(of: text, indents: false) else { return nil }
        (isObject, count, bytes) = (found.isObject, found.count, text.utf8.count)
    }

    /// Nil also if the text fits into a line.
    init?(_ text: String, columns: Int) {
        guard Self.mayBe(text), Self.isLonger(text, than: columns) else { return nil }
        self.init(text)
    }

    /// `{…} 12 keys, 3,210 bytes`.
    var words: String {
        let size = Wording.count(bytes, "byte")
        return isObject ? "{…} \(Wording.count(count, "key")), \(size)" : "[…] \(Wording.count(count, "item")), \(size)"
    }

    /// The text with a line for each value, for reading in full; nil if it is no JSON object or array.
    static func indented(_ text: String) -> String? {
        outline(of: text, indents: true)?.lines.map { String(decoding: $0, as: UTF8.self) }
    }

    private static func outline(of text: String, indents: Bool) -> (isObject: Bool, count: Int, lines: [UInt8]?)? {
        guard mayBe(text) else { return nil }
        var text = text
        return text.withUTF8 { bytes in
            var outline = JSONOutline(bytes, indents: indents)
            guard outline.value(depth: 0), outline.isAtEnd else { return nil }
            let isObject = bytes.first { !JSONOutline.isSpace($0) } == UInt8(ascii: "{")
            return (isObject, outline.count, outline.lines)
        }
    }

    /// Rules out most texts by their first and last characters.
    private static func mayBe(_ text: String) -> Bool {
        let bytes = text.utf8
        guard bytes.count <= byteLimit, let first = bytes.first(where: { !JSONOutline.isSpace($0) }),
            first == UInt8(ascii: "{") || first == UInt8(ascii: "[")
        else { return false }
        return bytes.last { !JSONOutline.isSpace($0) } == (first == UInt8(ascii: "{") ? 0x7D : 0x5D)
    }

    private static func isLonger(_ text: String, than columns: Int) -> Bool {
        let bytes = text.utf8
        if bytes.count <= columns { return bytes.contains(0x0A) }
        // A column can take several bytes; a text of very many is assumed to be long.
        if bytes.count > 16 * columns || bytes.contains(0x0A) { return true }
        return SafeText(text).width > columns
    }
}

/// Scans a JSON text (RFC 8259) once, without making values of it.
private struct JSONOutline {
    private let bytes: UnsafeBufferPointer<UInt8>
    private var offset = 0
    /// The number of keys or items of the outermost value.
    private(set) var count = 0
    /// The text with a line for each value, up to `copied`; nil if that is not wanted.
    private(set) var lines: [UInt8]?
    private var copied = 0

    init(_ bytes: UnsafeBufferPointer<UInt8>, indents: Bool) {
        self.bytes = bytes
        guard indents else { return }
        lines = []
        lines?.reserveCapacity(bytes.count * 2)
    }

    static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 }

    var isAtEnd: Bool { offset == bytes.count }

    private var current: UInt8? { offset < bytes.count ? bytes[offset] : nil }

    private mutating func skipSpace() {
        copy()
        while let byte = current, Self.isSpace(byte) { offset += 1 }
        copied = offset
    }

    private mutating func copy() {
        guard lines != nil else { return }
        lines?.append(contentsOf: bytes[copied..<offset])
        copied = offset
    }

    private mutating func breakLine(_ depth: Int) {
        guard lines != nil else { return }
        copy()
        lines?.append(0x0A)
        lines?.append(contentsOf: repeatElement(0x20, count: 2 * min(depth, FoldedJSON.indentedDepth)))
    }

    private mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard current == UInt8(ascii: character) else { return false }
        offset += 1
        return true
    }

    /// Skips a value and the space around it; false if there is none.
    mutating func value(depth: Int) -> Bool {
        skipSpace()
        guard bareValue(depth) else { return false }
        skipSpace()
        return true
    }

    private mutating func bareValue(_ depth: Int) -> Bool {
        switch current {
        case UInt8(ascii: "{"): return members(isObject: true, depth)
        case UInt8(ascii: "["): return members(isObject: false, depth)
        case UInt8(ascii: "\""): return string()
        case UInt8(ascii: "t"): return word("true")
        case UInt8(ascii: "f"): return word("false")
        case UInt8(ascii: "n"): return word("null")
        default: return number()
        }
    }

    private mutating func members(isObject: Bool, _ depth: Int) -> Bool {
        guard depth < FoldedJSON.depthLimit else { return false }
        let end: Unicode.Scalar = isObject ? "}" : "]"
        offset += 1
        skipSpace()
        if take(end) { return true }
        repeat {
            breakLine(depth + 1)
            guard !isObject || key(), value(depth: depth + 1) else { return false }
            if depth == 0 { count += 1 }
        } while take(",")
        breakLine(depth)
        return take(end)
    }

    private mutating func key() -> Bool {
        skipSpace()
        guard string() else { return false }
        skipSpace()
        guard take(":") else { return false }
        copy()
        lines?.append(0x20)
        return true
    }

    private mutating func string() -> Bool {
        guard take("\"") else { return false }
        while let byte = current {
            offset += 1
            switch byte {
            case UInt8(ascii: "\""): return true
            case UInt8(ascii: "\\"):
                guard let escaped = current, "\"\\/bfnrtu".utf8.contains(escaped) else { return false }
                offset += 1
            case ..<0x20: return false
            default: break
            }
        }
        return false
    }

    private mutating func word(_ word: String) -> Bool {
        guard bytes[offset...].starts(with: word.utf8) else { return false }
        offset += word.utf8.count
        return true
    }

    private mutating func number() -> Bool {
        _ = take("-")
        guard skipDigits() else { return false }
        if take(".") {
            guard skipDigits() else { return false }
        }
        guard take("e") || take("E") else { return true }
        _ = take("+") || take("-")
        return skipDigits()
    }

    private mutating func skipDigits() -> Bool {
        let start = offset
        while let byte = current, (0x30...0x39).contains(byte) { offset += 1 }
        return offset > start
    }
}
