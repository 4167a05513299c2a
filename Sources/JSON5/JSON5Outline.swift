/// A place in a text, as editors count: lines and columns from 1. A column is a visible character; a tab is one.
package struct TextPlace: Hashable, Sendable, CustomStringConvertible {
    package let line: Int
    package let column: Int

    package var description: String { "\(line):\(column)" }
}

/// The places of all values in a JSON5 text (json5.org), as far as Foundation's decoder accepts it.
///
/// Foundation's decoder makes the values. It names a mistake by the keys that lead to it, and this finds the place.
/// Invalid JSON5 and duplicate keys, of which one would be ignored, are rejected here first.
package struct JSON5Outline: Sendable {
    /// Why a text is not JSON5, and where.
    package struct Mistake: Error, Hashable {
        package let place: TextPlace
        package let words: String
    }

    /// A value. All places are counted in Unicode scalars.
    fileprivate struct Node: Sendable {
        /// The place of its key, or its own if it has none.
        let keyOffset: Int
        let offset: Int
        /// The place after it.
        var end: Int
        /// The members of an object by key, the elements of a list by index.
        var children: [String: Node] = [:]
        var isObject = false
    }

    private let text: [Unicode.Scalar]
    private let root: Node

    /// The maximum number of nested objects and lists.
    package static let maximumDepth = 100

    package init(_ bytes: [UInt8]) throws(Mistake) {
        var reader = try JSON5Reader(bytes)
        root = try reader.document()
        text = reader.text
    }

    /// The place of a value, or of its key, or of the last part of the path that exists.
    package func place(of path: [any CodingKey], isKey: Bool = false) -> TextPlace {
        var node = root
        for key in path {
            guard let child = node.children[key.intValue.map(String.init) ?? key.stringValue] else { break }
            node = child
        }
        return TextPlace(at: isKey ? node.keyOffset : node.offset, in: text)
    }

    private func node(_ path: [String]) -> Node? { path.reduce(root as Node?) { $0?.children[$1] } }

    /// Whether there is a value at a path.
    package func holds(_ path: [String]) -> Bool { node(path) != nil }

    /// The text with one more member (key, colon and value) at the beginning of the object at a path, nil if there is
    /// none; everything else stays as it is, including comments.
    package func inserting(_ member: String, into path: [String]) -> [UInt8]? {
        guard let node = node(path), node.isObject else { return nil }
        let indent = String(repeating: "    ", count: path.count + 1)
        let end = node.children.isEmpty ? "\n\(indent.dropLast(4))" : ","
        let begin = node.offset + 1
        return Array((string(text[..<begin]) + "\n\(indent)\(member)\(end)" + string(text[begin...])).utf8)
    }

    /// The text with another value at a path, nil if there is none; everything else stays as it is, including comments.
    package func replacing(_ path: [String], by value: String) -> [UInt8]? {
        guard let node = node(path) else { return nil }
        return Array((string(text[..<node.offset]) + value + string(text[node.end...])).utf8)
    }
}

extension TextPlace {
    fileprivate init(at offset: Int, in text: [Unicode.Scalar]) {
        var line = 1
        // A byte order mark is not a character.
        var begin = text.first == byteOrderMark ? 1 : 0
        for index in 0..<offset {
            let isReturn = text[index] == "\r" && !(index + 1 < text.count && text[index + 1] == "\n")
            guard isReturn || text[index] == "\n" else { continue }
            line += 1
            begin = index + 1
        }
        self.init(line: line, column: string(text[begin..<offset]).count + 1)
    }
}

private let byteOrderMark: Unicode.Scalar = "\u{FEFF}"

private func string(_ scalars: ArraySlice<Unicode.Scalar>) -> String { String(String.UnicodeScalarView(scalars)) }

/// Parses JSON5 strictly, for the places of its values.
private struct JSON5Reader {
    typealias Mistake = JSON5Outline.Mistake
    typealias Node = JSON5Outline.Node

    private(set) var text: [Unicode.Scalar] = []
    private var at = 0

    init(_ bytes: [UInt8]) throws(Mistake) {
        var decoder = UTF8()
        var bytes = bytes.makeIterator()
        while true {
            switch decoder.decode(&bytes) {
            case .scalarValue(let scalar): text.append(scalar)
            case .error: throw mistake(text.count, "this is not UTF-8; save the file in that encoding")
            case .emptyInput: return
            }
        }
    }

    mutating func document() throws(Mistake) -> Node {
        _ = skip(byteOrderMark)
        try skipSpace()
        guard at < text.count else {
            throw mistake(at, "there is nothing here; a configuration without settings is {}")
        }
        let root = try value(keyOffset: at, depth: 0)
        try skipSpace()
        guard at == text.count else { throw expected("nothing more") }
        return root
    }

    // MARK: Values

    private mutating func value(keyOffset: Int, depth: Int) throws(Mistake) -> Node {
        var node = Node(keyOffset: keyOffset, offset: at, end: at)
        guard let scalar = peek else { throw expected("a value") }
        switch scalar {
        case "{":
            node.isObject = true
            node.children = try children(ofObject: true, depth: depth)
        case "[": node.children = try children(ofObject: false, depth: depth)
        case "\"", "'": _ = try string()
        case "+", "-", ".", "0"..."9": try number()
        default: try word()
        }
        node.end = at
        return node
    }

    private mutating func children(ofObject isObject: Bool, depth: Int) throws(Mistake) -> [String: Node] {
        let begin = at
        let (open, close): (Unicode.Scalar, Unicode.Scalar) = isObject ? ("{", "}") : ("[", "]")
        guard depth < JSON5Outline.maximumDepth else { throw mistake(begin, "too much is nested here") }
        at += 1
        var children: [String: Node] = [:]
        while true {
            try skipSpace()
            if skip(close) { return children }
            guard peek != nil else { throw mistake(begin, "the \(open) here is never closed by a \(close)") }
            let keyOffset = at
            var name = String(children.count)
            if isObject {
                name = try key()
                if let first = children[name] {
                    let line = TextPlace(at: first.keyOffset, in: text).line
                    throw mistake(keyOffset, "“\(name.prefix(64))” is here a second time; the first is on line \(line)")
                }
                try skipSpace()
                guard skip(":") else { throw expected("a colon behind the key") }
                try skipSpace()
            }
            children[name] = try value(keyOffset: keyOffset, depth: depth + 1)
            try skipSpace()
            guard skip(",") || peek == nil || peek == close else { throw expected("a comma or \(close)") }
        }
    }

    private mutating func key() throws(Mistake) -> String {
        if peek == "\"" || peek == "'" {
            let begin = at
            let key = try string()
            // The decoder would keep the line break in it.
            guard !text[begin..<at].contains(where: { $0 == "\n" || $0 == "\r" }) else {
                throw mistake(begin, "a key stands on one line")
            }
            return key
        }
        let name = name()
        // The decoder would take it literally.
        if peek == "\\" { throw mistake(at, "a key with a backslash needs quotes") }
        guard !name.isEmpty else { throw expected("a key or }") }
        return name
    }

    /// A name without quotes; empty if there is none.
    private mutating func name() -> String {
        let begin = at
        while let scalar = peek, Self.beginsName(scalar) || at > begin && Self.continuesName(scalar) { at += 1 }
        return JSON5.string(text[begin..<at])
    }

    private static func beginsName(_ scalar: Unicode.Scalar) -> Bool {
        scalar == "$" || scalar == "_" || scalar.properties.isIDStart
    }

    private static func continuesName(_ scalar: Unicode.Scalar) -> Bool {
        scalar.properties.isIDContinue || scalar == "\u{200C}" || scalar == "\u{200D}"
    }

    /// `true`, `false`, `null`, `Infinity` or `NaN`.
    private mutating func word() throws(Mistake) {
        let begin = at
        let word = name()
        guard !word.isEmpty else { throw expected("a value") }
        guard ["true", "false", "null", "Infinity", "NaN"].contains(word) else {
            throw mistake(begin, "“\(word.prefix(64))” is no value; a text stands in quotes")
        }
    }

    private mutating func number() throws(Mistake) {
        let begin = at
        func wrong() -> Mistake { mistake(begin, "this is no number") }
        if !skip("+") { _ = skip("-") }
        if peek == "0", let x = peek(1), x == "x" || x == "X" {
            at += 2
            guard skip(while: \.properties.isASCIIHexDigit) > 0 else { throw wrong() }
        } else if peek == "I" || peek == "N" {
            try word()
        } else {
            let startsWithZero = peek == "0"
            let digits = skip(while: Self.isDigit)
            guard digits <= 1 || !startsWithZero else {
                throw mistake(begin, "a number does not begin with a zero more")
            }
            let fraction = skip(".") ? skip(while: Self.isDigit) : 0
            guard digits + fraction > 0 else { throw wrong() }
            if skip("e") || skip("E") {
                if !skip("+") { _ = skip("-") }
                guard skip(while: Self.isDigit) > 0 else { throw wrong() }
            }
        }
        if let next = peek, Self.beginsName(next) || Self.continuesName(next) || next == "\\" {
            throw mistake(begin, "this is no number; a text stands in quotes")
        }
    }

    private static func isDigit(_ scalar: Unicode.Scalar) -> Bool { ("0"..."9").contains(scalar) }

    // MARK: Texts

    private mutating func string() throws(Mistake) -> String {
        let begin = at
        let quote = text[at]
        at += 1
        var found = String.UnicodeScalarView()
        while let scalar = peek, scalar != "\n", scalar != "\r" {
            if skip(quote) { return String(found) }
            if scalar == "\\" {
                if let scalar = try escape() { found.append(scalar) }
                continue
            }
            guard scalar >= " " else {
                throw mistake(at, "a tab is written as \\t in a text, and others like it as \\u0007")
            }
            found.append(scalar)
            at += 1
        }
        throw mistake(begin, "the text that begins here has no closing quote on its line")
    }

    /// The character of an escape; nil for a line continuation.
    private mutating func escape() throws(Mistake) -> Unicode.Scalar? {
        let begin = at
        guard let scalar = peek(1) else { throw mistake(begin, "a backslash stands for nothing here") }
        at += 2
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
            _ = skip("\n")
            return nil
        case "\"", "'", "\\", "/": return scalar
        // The standard lets any other character stand for itself, but the decoder does not.
        default: throw mistake(begin, "the backslash stands for nothing here; write \\\\ for a backslash itself")
        }
    }

    /// A character from its hexadecimal digits; above U+FFFF it takes two such numbers.
    private mutating func escaped(digits: Int, from begin: Int) throws(Mistake) -> Unicode.Scalar {
        let first = try hexadecimal(digits, from: begin)
        guard first != 0 else { throw mistake(begin, "a text cannot contain this character") }
        if let scalar = Unicode.Scalar(first) { return scalar }
        guard first < 0xDC00, skip("\\"), skip("u") else { throw mistake(begin, "this is half a character") }
        let second = try hexadecimal(4, from: begin)
        guard (0xDC00...0xDFFF).contains(second),
            let scalar = Unicode.Scalar(0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00))
        else { throw mistake(begin, "this is half a character") }
        return scalar
    }

    private mutating func hexadecimal(_ digits: Int, from begin: Int) throws(Mistake) -> UInt32 {
        let end = min(at + digits, text.count)
        let number = text[at..<end]
        guard number.count == digits, number.allSatisfy(\.properties.isASCIIHexDigit),
            let value = UInt32(JSON5.string(number), radix: 16)
        else { throw mistake(begin, "\(digits) hexadecimal digits have to follow here") }
        at = end
        return value
    }

    // MARK: Between them

    private var peek: Unicode.Scalar? { peek(0) }

    private func peek(_ distance: Int) -> Unicode.Scalar? {
        at + distance < text.count ? text[at + distance] : nil
    }

    /// Skips this scalar if it is next; returns whether it was.
    private mutating func skip(_ scalar: Unicode.Scalar) -> Bool {
        guard peek == scalar else { return false }
        at += 1
        return true
    }

    private mutating func skip(while belongs: (Unicode.Scalar) -> Bool) -> Int {
        let begin = at
        while let scalar = peek, belongs(scalar) { at += 1 }
        return at - begin
    }

    private mutating func skipSpace() throws(Mistake) {
        while let scalar = peek {
            switch scalar {
            case "\t"..."\r", " ": at += 1
            case "/": try skipComment()
            case "\u{80}"...:
                // The standard allows these, but the decoder does not. They arrive with text copied from elsewhere.
                guard scalar.properties.isWhitespace || scalar == byteOrderMark else { return }
                let number = String(scalar.value, radix: 16, uppercase: true)
                throw mistake(at, "this looks like a space and is U+\(number); put a space in its place")
            default: return
            }
        }
    }

    private mutating func skipComment() throws(Mistake) {
        let begin = at
        switch peek(1) {
        case "/": _ = skip { $0 != "\n" && $0 != "\r" }
        case "*":
            at += 2
            while let scalar = peek, scalar != "*" || peek(1) != "/" { at += 1 }
            guard at < text.count else { throw mistake(begin, "the comment that begins here has no end") }
            at += 2
        default: throw mistake(begin, "a comment begins with // or /*")
        }
    }

    // MARK: Mistakes

    private func mistake(_ offset: Int, _ words: String) -> Mistake {
        Mistake(place: TextPlace(at: offset, in: text), words: words)
    }

    private func expected(_ what: String) -> Mistake { mistake(at, "expected \(what), found \(found)") }

    /// What is next, as a mistake names it.
    private var found: String {
        guard let scalar = peek else { return "the end of the file" }
        if scalar.value < 0x20 || scalar.value == 0x7F { return "the character \(scalar.value)" }
        let rest = JSON5.string(text[at...].prefix(96).prefix { $0 > " " && !"{}[],:\"'/".unicodeScalars.contains($0) })
        guard !rest.isEmpty else { return "“\(scalar)”" }
        // A character may have any number of bytes.
        return "“\(String(decoding: rest.utf8.prefix(96), as: UTF8.self).prefix(24))”"
    }
}
