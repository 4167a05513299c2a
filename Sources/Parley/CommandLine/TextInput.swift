/// Text from outside. It must be valid UTF-8, since replacing characters would change it. A leading byte order mark is
/// not part of it.
enum TextInput {
    /// The length of a leading byte order mark.
    static func markLength(_ bytes: some Collection<UInt8>) -> Int { bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0 }

    /// The text of an argument, without a byte order mark.
    static func argument(_ text: String) -> String {
        text.unicodeScalars.first == "\u{FEFF}" ? String(text.unicodeScalars.dropFirst()) : text
    }

    static func text(of bytes: [UInt8]) throws(CommandFailure) -> String {
        let content = bytes[markLength(bytes)...]
        if let text = String(validating: content, as: UTF8.self) { return text }
        throw notUTF8(content) { offset in
            let before = bytes[..<(content.startIndex + offset)]
            let line = before.count { $0 == UInt8(ascii: "\n") } + 1
            let begin = before.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
            return place(line: line, byte: before.endIndex - begin + 1)
        }
    }

    /// The first of the program's arguments that is not text; nil if all are.
    static func mistake(inArguments arguments: [[UInt8]]) -> CommandFailure? {
        for (place, argument) in arguments.enumerated() where String(validating: argument, as: UTF8.self) == nil {
            return notUTF8(argument) { "argument \(place + 1), byte \($0 + 1)" }
        }
        return nil
    }

    static func place(line: Int, byte: Int) -> String { "line \(line), byte \(byte)" }

    /// Says why bytes are not text; `place` describes the first invalid byte, given its offset.
    static func notUTF8(_ bytes: some Collection<UInt8>, at place: (Int) -> String) -> CommandFailure {
        var parser = Unicode.UTF8.ForwardParser()
        var iterator = bytes.makeIterator()
        var offset = 0
        while case .valid(let scalar) = parser.parseScalar(from: &iterator) { offset += scalar.count }
        let (byte, place) = (bytes.dropFirst(offset).first ?? 0, place(offset))
        let digits = String(byte, radix: 16, uppercase: true)
        let hint = byte >= 0xFE && place.hasSuffix(" 1, byte 1") ? " It looks like UTF-16." : ""
        return CommandFailure(
            .badData,
            "The text is not UTF-8: \(place) is 0x\(digits.count == 1 ? "0" : "")\(digits).\(hint) Convert it first.")
    }
}
