/// The terminal's reply about the colour behind its text (OSC 11): `11;rgb:RRRR/GGGG/BBBB`, each component of one to
/// four hexadecimal digits; some terminals say `rgba` and add a fourth.
///
/// On a slow line it can arrive in pieces, long after the question. None of them may look typed, so pieces are
/// recognized here.
enum ColorReply {
    private static let openings = [(Array("11;rgb:".utf8), 3), (Array("11;rgba:".utf8), 4)]

    /// The components after an opening, and how many a complete reply has; nil for anything else.
    private static func parts(_ bytes: [UInt8]) -> (parts: [ArraySlice<UInt8>], count: Int)? {
        guard let (opening, count) = openings.first(where: { bytes.starts(with: $0.0) }) else { return nil }
        return (bytes.dropFirst(opening.count).split(separator: 0x2F, omittingEmptySubsequences: false), count)
    }

    /// The colour of a complete reply; nil for anything else.
    static func background(_ bytes: [UInt8]) -> RGB? {
        guard let (parts, count) = parts(bytes), parts.count == count else { return nil }
        let values = parts.compactMap { value($0) }
        return values.count == count ? RGB(red: values[0], green: values[1], blue: values[2]) : nil
    }

    static func isBeginning(_ bytes: [UInt8]) -> Bool {
        guard let (parts, count) = parts(bytes) else { return openings.contains { $0.0.starts(with: bytes) } }
        return parts.count <= count && parts.dropLast().allSatisfy { value($0) != nil }
            && (parts.last.map { $0.isEmpty || value($0) != nil } ?? true)
    }

    /// Whether more bytes could complete a reply that is a string.
    private static func isPiece(_ bytes: [UInt8]) -> Bool {
        isBeginning(bytes) || NotificationReply.isBeginning(bytes)
    }

    /// Whether `chunk` begins with what `held` lacks of a reply, all of it or a part: of this one, or of a
    /// ``NotificationReply``.
    ///
    /// - Parameter sawEscape: whether the first half of the end, an escape, is held too.
    static func isRest(_ chunk: [UInt8], of held: [UInt8], sawEscape: Bool) -> Bool {
        if sawEscape { return isPiece(held) && !held.isEmpty && chunk.first == 0x5C }
        let body = chunk.prefix { $0 != 0x07 && $0 != 0x1B }
        let end = chunk.dropFirst(body.count)
        let isEnd = end.isEmpty || end.first == 0x07 || end.count == 1 || end.starts(with: [0x1B, 0x5C])
        // With only the introducer held, one character may be a key pressed after it.
        guard isEnd, !held.isEmpty || body.count >= 2, isPiece(held + body) else { return false }
        // An escape alone is a key.
        return !body.isEmpty || end.first == 0x07 || end.starts(with: [0x1B, 0x5C])
    }

    /// Whether a chunk is a reply without its escape: no one types that in one go.
    static func isTorn(_ chunk: [UInt8]) -> Bool {
        chunk.first == 0x5D && isRest(Array(chunk.dropFirst()), of: [], sawEscape: false)
    }

    /// One to four hexadecimal digits as a component, relative to the largest number of that length.
    private static func value(_ digits: some Collection<UInt8>) -> UInt8? {
        guard (1...4).contains(digits.count) else { return nil }
        var number = 0
        var most = 0
        for digit in digits {
            guard let value = Character(Unicode.Scalar(digit)).hexDigitValue else { return nil }
            number = number << 4 | value
            most = most << 4 | 0xF
        }
        return UInt8((number * 255 + most / 2) / most)
    }
}
