/// Text that comes from outside: it is UTF-8, or it is refused, as a text with replaced characters is another text. A
/// byte order mark before it is none of it.
enum TextInput {
    private static let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]

    /// How many of a text's first bytes are a byte order mark.
    static func markLength(_ bytes: some Collection<UInt8>) -> Int {
        bytes.starts(with: byteOrderMark) ? byteOrderMark.count : 0
    }

    /// A text that was given as an argument, without a byte order mark.
    static func argument(_ text: String) -> String {
        text.unicodeScalars.first == "\u{FEFF}" ? String(text.unicodeScalars.dropFirst()) : text
    }

    /// Reads bytes.
    ///
    /// - Parameter place: names the place of a byte of these by its offset, for the failure.
    /// - Throws: `CommandFailure` with the place of the first byte that is none of a text.
    static func text(_ bytes: UnsafeRawBufferPointer, at place: (Int) -> String) throws(CommandFailure) -> String {
        if let text = String(validating: bytes, as: UTF8.self) { return text }
        let offset = firstInvalid(bytes) ?? 0
        throw notUTF8(place(offset), bytes[offset])
    }

    /// Looks at a whole text, which begins at its first line.
    static func text(of bytes: [UInt8]) throws(CommandFailure) -> String {
        let mark = markLength(bytes)
        let result = bytes.withUnsafeBytes { bytes -> Result<String, CommandFailure> in
            do throws(CommandFailure) {
                return .success(
                    try text(UnsafeRawBufferPointer(rebasing: bytes[mark...])) { offset in
                        let before = bytes[..<(offset + mark)]
                        let line = before.count { $0 == UInt8(ascii: "\n") } + 1
                        let begin = before.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
                        return Self.place(line: line, byte: offset + mark - begin + 1)
                    })
            } catch { return .failure(error) }
        }
        return try result.get()
    }

    /// Why one of the program's arguments is no text; nil when all are.
    static func mistake(inArguments arguments: [[UInt8]]) -> CommandFailure? {
        for (place, argument) in arguments.enumerated() {
            guard let offset = argument.withUnsafeBytes({ firstInvalid($0) }) else { continue }
            return notUTF8("argument \(place + 1), byte \(offset + 1)", argument[offset])
        }
        return nil
    }

    static func place(line: Int, byte: Int) -> String { "line \(line), byte \(byte)" }

    private static func notUTF8(_ place: String, _ byte: UInt8) -> CommandFailure {
        let digits = String(byte, radix: 16, uppercase: true)
        let hint = byte >= 0xFE && place.hasSuffix(" 1, byte 1") ? " It looks like UTF-16." : ""
        return CommandFailure(
            CommandFailure.badData,
            "The text is not UTF-8: \(place) is 0x\(digits.count == 1 ? "0" : "")\(digits).\(hint) Convert it first."
        )
    }

    private static func firstInvalid(_ bytes: UnsafeRawBufferPointer) -> Int? {
        if String(validating: bytes, as: UTF8.self) != nil { return nil }
        var parser = Unicode.UTF8.ForwardParser()
        var iterator = bytes.makeIterator()
        var offset = 0
        while true {
            switch parser.parseScalar(from: &iterator) {
            case .valid(let scalar): offset += scalar.count
            case .error: return offset
            case .emptyInput: return nil
            }
        }
    }
}
