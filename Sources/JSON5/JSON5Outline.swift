/// A place in a text, as editors count: lines and columns from 1. A column is a character as a person sees it; a tab is
/// one.
package struct TextPlace: Hashable, Sendable, CustomStringConvertible {
    package let line: Int
    package let column: Int

    package var description: String { "\(line):\(column)" }
}

/// Where everything stands in a JSON5 text (json5.org), as far as Foundation's decoder takes it.
///
/// Foundation's decoder makes the values. It names a mistake by the keys that lead to it, and this finds the place;
/// what is no JSON5 is refused here, before the decoder sees it. So is a key that an object has twice, since one of the
/// two would count for nothing.
package struct JSON5Outline: Sendable {
    /// Why a text is no JSON5, and where.
    package struct Mistake: Error, Hashable {
        package let place: TextPlace
        package let words: String
    }

    fileprivate struct Node: Sendable {
        /// Where it begins, in bytes.
        let offset: Int
        /// Where the next byte is that does not belong to it.
        var end: Int
        var content = Content.scalar
    }

    fileprivate enum Content: Sendable {
        case scalar
        case object([String: Member])
        case array([Node])
    }

    fileprivate struct Member: Sendable {
        /// Where its key begins, in bytes.
        let offset: Int
        let value: Node
    }

    private let text: [UInt8]
    private let root: Node

    /// Objects and lists inside each other, at most.
    package static let maximumDepth = 100

    /// Reads a text in UTF-8.
    ///
    /// - Throws: ``Mistake`` where it is no JSON5.
    package init(_ text: [UInt8]) throws(Mistake) {
        self.text = text
        var reader = JSON5Reader(text)
        do throws(JSON5Reader.Failure) { root = try reader.document() } catch {
            throw Mistake(place: Self.place(at: error.offset, in: text), words: error.words(in: text))
        }
    }

    /// Where a value stands, or the last part of the way to it that is there.
    ///
    /// - Parameter isKey: whether the key itself is meant, and not what it stands for.
    package func place(of path: [any CodingKey], isKey: Bool = false) -> TextPlace {
        var node = root
        var offset = root.offset
        walk: for key in path {
            switch node.content {
            case .object(let members):
                guard let member = members[key.stringValue] else { break walk }
                node = member.value
                offset = isKey ? member.offset : node.offset
            case .array(let elements):
                guard let index = key.intValue, elements.indices.contains(index) else { break walk }
                node = elements[index]
                offset = node.offset
            case .scalar: break walk
            }
        }
        return Self.place(at: offset, in: text)
    }

    /// Whether there is a value at a path.
    package func holds(_ path: [String]) -> Bool {
        var node = root
        for key in path {
            guard case .object(let members) = node.content, let member = members[key] else { return false }
            node = member.value
        }
        return true
    }

    /// The text with one more member at the beginning of an object; all else stays as it is, comments too.
    ///
    /// - Parameters:
    ///   - member: key, colon and value.
    ///   - path: the keys that lead to the object.
    /// - Returns: nil where there is no object.
    package func inserting(_ member: String, into path: [String]) -> [UInt8]? {
        var node = root
        for key in path {
            guard case .object(let members) = node.content, let member = members[key] else { return nil }
            node = member.value
        }
        guard case .object(let members) = node.content else { return nil }
        let indent = String(repeating: "    ", count: path.count + 1)
        let end = members.isEmpty ? "\n\(indent.dropLast(4))" : ","
        return Array(text[...node.offset]) + Array("\n\(indent)\(member)\(end)".utf8) + text[(node.offset + 1)...]
    }

    /// The text with another value at a path; all else stays as it is, comments beside it too.
    ///
    /// - Returns: nil where there is no value.
    package func replacing(_ path: [String], by value: String) -> [UInt8]? {
        var node = root
        for key in path {
            guard case .object(let members) = node.content, let member = members[key] else { return nil }
            node = member.value
        }
        return Array(text[..<node.offset]) + Array(value.utf8) + text[node.end...]
    }

    fileprivate static func place(at offset: Int, in text: [UInt8]) -> TextPlace {
        var line = 1
        // A mark of the encoding is no character.
        var begin = text.starts(with: JSON5Reader.byteOrderMark) ? JSON5Reader.byteOrderMark.count : 0
        var index = begin
        while index < offset {
            let isEnd =
                text[index] == 0x0A || text[index] == 0x0D && !(index + 1 < text.count && text[index + 1] == 0x0A)
            index += 1
            guard isEnd else { continue }
            line += 1
            begin = index
        }
        let before = String(decoding: text[min(begin, offset)..<offset], as: UTF8.self)
        return TextPlace(line: line, column: before.count + 1)
    }
}

/// Reads JSON5 strictly, for the places of what it holds.
private struct JSON5Reader {
    /// What is wrong, and where.
    struct Failure: Error {
        let offset: Int
        let problem: Problem

        func words(in text: [UInt8]) -> String {
            switch problem {
            case .said(let words): words
            case .expected(let what): "expected \(what), found \(JSON5Reader.shown(at: offset, in: text))"
            case .twice(let key, let first):
                "“\(key.prefix(64))” is here a second time; the first is on line "
                    + "\(JSON5Outline.place(at: first, in: text).line)"
            }
        }
    }

    enum Problem {
        case said(String)
        case expected(String)
        case twice(key: String, first: Int)
    }

    static let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]
    private let text: [UInt8]
    private var at = 0

    init(_ text: [UInt8]) { self.text = text }

    mutating func document() throws(Failure) -> JSON5Outline.Node {
        try checkEncoding()
        if text.starts(with: Self.byteOrderMark) { at = Self.byteOrderMark.count }
        try skipSpace()
        guard at < text.count else {
            throw failure(at, "there is nothing here; a configuration without settings is {}")
        }
        let root = try value(depth: 0)
        try skipSpace()
        guard at == text.count else { throw expected("nothing more") }
        return root
    }

    private func checkEncoding() throws(Failure) {
        var parser = Unicode.UTF8.ForwardParser()
        var bytes = text.makeIterator()
        var offset = 0
        while true {
            switch parser.parseScalar(from: &bytes) {
            case .valid(let scalar): offset += scalar.count
            case .error: throw failure(offset, "this is not UTF-8; save the file in that encoding")
            case .emptyInput: return
            }
        }
    }

    // MARK: Values

    private mutating func value(depth: Int) throws(Failure) -> JSON5Outline.Node {
        var node = JSON5Outline.Node(offset: at, end: at)
        guard let byte = peek else { throw expected("a value") }
        switch byte {
        case UInt8(ascii: "{"): node.content = .object(try object(depth: depth))
        case UInt8(ascii: "["): node.content = .array(try array(depth: depth))
        case UInt8(ascii: "\""), UInt8(ascii: "'"): _ = try string()
        case UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "0")...UInt8(ascii: "9"):
            try number()
        default: try word()
        }
        node.end = at
        return node
    }

    private mutating func object(depth: Int) throws(Failure) -> [String: JSON5Outline.Member] {
        let begin = at
        guard depth < JSON5Outline.maximumDepth else { throw failure(begin, "too much is nested here") }
        at += 1
        var members: [String: JSON5Outline.Member] = [:]
        while true {
            try skipSpace()
            if peek == UInt8(ascii: "}") { break }
            guard peek != nil else { throw failure(begin, "the { here is never closed by a }") }
            let offset = at
            let key = try key()
            if let first = members[key] {
                throw Failure(offset: offset, problem: .twice(key: key, first: first.offset))
            }
            try skipSpace()
            guard peek == UInt8(ascii: ":") else { throw expected("a colon behind the key") }
            at += 1
            try skipSpace()
            members[key] = JSON5Outline.Member(offset: offset, value: try value(depth: depth + 1))
            try skipSpace()
            if peek == UInt8(ascii: ",") {
                at += 1
            } else if peek == nil {
                throw failure(begin, "the { here is never closed by a }")
            } else if peek != UInt8(ascii: "}") {
                throw expected("a comma or }")
            }
        }
        at += 1
        return members
    }

    private mutating func array(depth: Int) throws(Failure) -> [JSON5Outline.Node] {
        let begin = at
        guard depth < JSON5Outline.maximumDepth else { throw failure(begin, "too much is nested here") }
        at += 1
        var elements: [JSON5Outline.Node] = []
        while true {
            try skipSpace()
            if peek == UInt8(ascii: "]") { break }
            guard peek != nil else { throw failure(begin, "the [ here is never closed by a ]") }
            elements.append(try value(depth: depth + 1))
            try skipSpace()
            if peek == UInt8(ascii: ",") {
                at += 1
            } else if peek == nil {
                throw failure(begin, "the [ here is never closed by a ]")
            } else if peek != UInt8(ascii: "]") {
                throw expected("a comma or ]")
            }
        }
        at += 1
        return elements
    }

    private mutating func key() throws(Failure) -> String {
        if peek == UInt8(ascii: "\"") || peek == UInt8(ascii: "'") {
            let begin = at
            let key = try string()
            // The decoder would keep the line's end in it.
            guard !text[begin..<at].contains(where: { $0 == 0x0A || $0 == 0x0D }) else {
                throw failure(begin, "a key stands on one line")
            }
            return key
        }
        let name = name()
        // The decoder would take it as it is written.
        if peek == UInt8(ascii: "\\") { throw failure(at, "a key with a backslash needs quotes") }
        guard !name.isEmpty else { throw expected("a key or }") }
        return name
    }

    /// A name without quotes; empty where there is none.
    private mutating func name() -> String {
        var name = String.UnicodeScalarView()
        while at < text.count {
            let (scalar, length) = scalar(at: at)
            guard Self.beginsName(scalar) || !name.isEmpty && Self.continuesName(scalar) else { break }
            name.append(scalar)
            at += length
        }
        return String(name)
    }

    private static func beginsName(_ scalar: Unicode.Scalar) -> Bool {
        scalar == "$" || scalar == "_" || scalar.properties.isIDStart
    }

    private static func continuesName(_ scalar: Unicode.Scalar) -> Bool {
        scalar.properties.isIDContinue || scalar == "\u{200C}" || scalar == "\u{200D}"
    }

    /// `true`, `false`, `null`, `Infinity` or `NaN`.
    private mutating func word() throws(Failure) {
        let begin = at
        let word = name()
        guard !word.isEmpty else { throw expected("a value") }
        guard ["true", "false", "null", "Infinity", "NaN"].contains(word) else {
            throw failure(begin, "“\(word.prefix(64))” is no value; a text stands in quotes")
        }
    }

    // MARK: Numbers

    private mutating func number() throws(Failure) {
        let begin = at
        if peek == UInt8(ascii: "+") || peek == UInt8(ascii: "-") { at += 1 }
        if peek == UInt8(ascii: "0"), at + 1 < text.count, text[at + 1] | 0x20 == UInt8(ascii: "x") {
            at += 2
            guard skip(Self.isHex) > 0 else { throw failure(begin, "this is no number") }
        } else if peek == UInt8(ascii: "I") || peek == UInt8(ascii: "N") {
            try word()
        } else {
            let whole = at
            let digits = skip(Self.isDigit)
            guard digits <= 1 || text[whole] != UInt8(ascii: "0") else {
                throw failure(begin, "a number does not begin with a zero more")
            }
            var fraction = 0
            if peek == UInt8(ascii: ".") {
                at += 1
                fraction = skip(Self.isDigit)
            }
            guard digits + fraction > 0 else { throw failure(begin, "this is no number") }
            if let letter = peek, letter | 0x20 == UInt8(ascii: "e") {
                at += 1
                if peek == UInt8(ascii: "+") || peek == UInt8(ascii: "-") { at += 1 }
                guard skip(Self.isDigit) > 0 else { throw failure(begin, "this is no number") }
            }
        }
        guard at < text.count else { return }
        let next = scalar(at: at).0
        if Self.beginsName(next) || Self.continuesName(next) || next == "\\" {
            throw failure(begin, "this is no number; a text stands in quotes")
        }
    }

    private mutating func skip(_ belongs: (UInt8) -> Bool) -> Int {
        let begin = at
        while at < text.count, belongs(text[at]) { at += 1 }
        return at - begin
    }

    private static func isDigit(_ byte: UInt8) -> Bool { byte >= 0x30 && byte <= 0x39 }

    private static func isHex(_ byte: UInt8) -> Bool {
        isDigit(byte) || (byte | 0x20 >= UInt8(ascii: "a") && byte | 0x20 <= UInt8(ascii: "f"))
    }

    // MARK: Texts

    private mutating func string() throws(Failure) -> String {
        let begin = at
        let quote = text[at]
        at += 1
        var found = String.UnicodeScalarView()
        while let byte = peek, byte != 0x0A, byte != 0x0D {
            if byte == quote {
                at += 1
                return String(found)
            }
            if byte == UInt8(ascii: "\\") {
                if let scalar = try escape() { found.append(scalar) }
                continue
            }
            guard byte >= 0x20 else {
                throw failure(at, "a tab is written as \\t in a text, and others like it as \\u0007")
            }
            let (scalar, length) = scalar(at: at)
            found.append(scalar)
            at += length
        }
        throw failure(begin, "the text that begins here has no closing quote on its line")
    }

    /// What a backslash stands for; nil for a line that goes on.
    private mutating func escape() throws(Failure) -> Unicode.Scalar? {
        let begin = at
        at += 1
        guard at < text.count else { throw failure(begin, "a backslash stands for nothing here") }
        let (scalar, length) = scalar(at: at)
        at += length
        switch scalar {
        case "b": return "\u{8}"
        case "f": return "\u{C}"
        case "n": return "\n"
        case "r": return "\r"
        case "t": return "\t"
        case "x": return try escaped(digits: 2, from: begin)
        case "u": return try escaped(digits: 4, from: begin)
        case "\n": return nil
        case "\r":
            if peek == 0x0A { at += 1 }
            return nil
        case "\"", "'", "\\", "/": return scalar
        // The standard lets any other character stand for itself, and the decoder does not.
        default: throw failure(begin, "the backslash stands for nothing here; write \\\\ for a backslash itself")
        }
    }

    /// A character by its hexadecimal digits; above U+FFFF it takes two such numbers.
    private mutating func escaped(digits: Int, from begin: Int) throws(Failure) -> Unicode.Scalar {
        let first = try hexadecimal(digits, from: begin)
        guard first != 0 else { throw failure(begin, "no text holds this character") }
        if let scalar = Unicode.Scalar(first) { return scalar }
        guard first < 0xDC00, peek == UInt8(ascii: "\\"), at + 1 < text.count, text[at + 1] == UInt8(ascii: "u") else {
            throw failure(begin, "this is half a character")
        }
        at += 2
        let second = try hexadecimal(4, from: begin)
        guard (0xDC00...0xDFFF).contains(second),
            let scalar = Unicode.Scalar(0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00))
        else { throw failure(begin, "this is half a character") }
        return scalar
    }

    private mutating func hexadecimal(_ digits: Int, from begin: Int) throws(Failure) -> UInt32 {
        var value: UInt32 = 0
        for _ in 0..<digits {
            guard let byte = peek, Self.isHex(byte), let digit = Character(Unicode.Scalar(byte)).hexDigitValue else {
                throw failure(begin, "\(digits) hexadecimal digits have to follow here")
            }
            value = value << 4 | UInt32(digit)
            at += 1
        }
        return value
    }

    // MARK: Between them

    private var peek: UInt8? { at < text.count ? text[at] : nil }

    private mutating func skipSpace() throws(Failure) {
        while let byte = peek {
            switch byte {
            case 0x09...0x0D, 0x20: at += 1
            case UInt8(ascii: "/"): try skipComment()
            case 0x80...:
                // The standard allows these, and the decoder does not. They come with text that is copied from
                // elsewhere.
                let scalar = scalar(at: at).0
                guard scalar.properties.isWhitespace || scalar == "\u{FEFF}" else { return }
                let number = String(scalar.value, radix: 16, uppercase: true)
                throw failure(at, "this looks like a space and is U+\(number); put a space in its place")
            default: return
            }
        }
    }

    private mutating func skipComment() throws(Failure) {
        let begin = at
        switch at + 1 < text.count ? text[at + 1] : 0 {
        case UInt8(ascii: "/"):
            while at < text.count, text[at] != 0x0A, text[at] != 0x0D { at += 1 }
        case UInt8(ascii: "*"):
            at += 2
            while at + 1 < text.count, text[at] != UInt8(ascii: "*") || text[at + 1] != UInt8(ascii: "/") { at += 1 }
            guard at + 1 < text.count else { throw failure(begin, "the comment that begins here has no end") }
            at += 2
        default: throw failure(begin, "a comment begins with // or /*")
        }
    }

    /// The scalar at a place that has one, and its bytes; the encoding has been checked.
    private func scalar(at offset: Int) -> (Unicode.Scalar, Int) { Self.scalar(at: offset, in: text) }

    private static func scalar(at offset: Int, in text: [UInt8]) -> (Unicode.Scalar, Int) {
        let lead = text[offset]
        let length = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4
        let scalars = String(decoding: text[offset..<min(offset + length, text.count)], as: UTF8.self).unicodeScalars
        return (scalars.first ?? "\u{FFFD}", length)
    }

    // MARK: Mistakes

    private func failure(_ offset: Int, _ words: String) -> Failure { Failure(offset: offset, problem: .said(words)) }

    private func expected(_ what: String) -> Failure { Failure(offset: at, problem: .expected(what)) }

    /// What is at a place, as a mistake names it.
    private static func shown(at offset: Int, in text: [UInt8]) -> String {
        guard offset < text.count else { return "the end of the file" }
        let (scalar, _) = scalar(at: offset, in: text)
        if scalar.value < 0x20 || scalar.value == 0x7F { return "the character \(scalar.value)" }
        let rest = text[offset...].prefix { $0 > 0x20 && !"{}[],:\"'/".utf8.contains($0) }
        guard !rest.isEmpty else { return "“\(scalar)”" }
        return "“\(String(decoding: rest.prefix(96), as: UTF8.self).prefix(24))”"
    }
}
