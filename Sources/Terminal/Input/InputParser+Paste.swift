extension InputParser {
    static let pasteEnd: [UInt8] = [0x1B, 0x5B, 0x32, 0x30, 0x31, 0x7E]

    mutating func beginPaste() {
        pasteBytes = []
        pasteIsCut = false
        state = .paste(matched: 0)
    }

    mutating func takePaste(_ byte: UInt8, matched: Int) {
        if byte == Self.pasteEnd[matched] {
            if matched + 1 == Self.pasteEnd.count {
                state = .ground
                finishPaste()
            } else {
                state = .paste(matched: matched + 1)
            }
            return
        }
        if matched > 0 { keepInPaste(Self.pasteEnd[..<matched]) }
        if byte == 0x1B {
            state = .paste(matched: 1)
        } else {
            keepInPaste(CollectionOfOne(byte))
            state = .paste(matched: 0)
        }
    }

    mutating func keepInPaste(_ bytes: some Collection<UInt8>) {
        guard !pasteIsCut, pasteBytes.count + bytes.count <= Self.pasteLimit else {
            pasteIsCut = true
            return
        }
        pasteBytes.append(contentsOf: bytes)
    }

    mutating func finishPaste() {
        let bytes = pasteBytes
        pasteBytes = []
        events.append(.paste(Self.pastedText(bytes)))
        if pasteIsCut { events.append(.pasteCut) }
    }

    /// The text of a paste: invalid UTF-8 repaired, CR and CR LF as one line feed, blanks for control characters that
    /// separate words, no other control characters but tab, and no leading byte order mark.
    private static func pastedText(_ bytes: [UInt8]) -> String {
        var text = String.UnicodeScalarView()
        var endsWithReturn = false
        let scalars = String(decoding: bytes, as: UTF8.self).unicodeScalars
        for scalar in scalars.first == "\u{FEFF}" ? scalars.dropFirst() : scalars[...] {
            switch scalar {
            case "\r": text.append("\n")
            case "\n": if !endsWithReturn { text.append("\n") }
            case "\t": text.append("\t")
            case _ where scalar.isBlankControl: text.append(" ")
            default: if scalar.properties.generalCategory != .control { text.append(scalar) }
            }
            endsWithReturn = scalar == "\r"
        }
        return String(text)
    }
}
