extension SafeText {
    /// A name that its bearer chose, in a form that cannot be taken for another one.
    ///
    /// What would not be seen is shown as its code point, such as `<200B>`: an invisible character, and a blank at
    /// either end, next to another, or of another width. So is a letter that only looks like an ASCII letter, if the
    /// name has Latin letters too; if it has only such letters, the first of them. A name in another script stays as it
    /// is.
    ///
    /// - Parameter limit: the most characters of the name that are read.
    public init(name: String, limit: Int = 64) {
        let shown = String(name.prefix(limit))
        if shown.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) {
            self.init(shown)
            return
        }
        let scalars = Array(shown.unicodeScalars.prefix(4 * limit))
        let letters = scalars.filter(\.properties.isAlphabetic)
        let isLatin = letters.contains(where: \.isPlainLatin)
        let isDisguise = !letters.isEmpty && !isLatin && letters.allSatisfy(\.looksLatin)
        let firstLetter = isDisguise ? scalars.firstIndex(where: \.properties.isAlphabetic) : nil
        var text = ""
        for (index, scalar) in scalars.enumerated() {
            let isEnd = index == 0 || index == scalars.count - 1
            let isHidden: Bool
            if scalar == " " {
                isHidden = isEnd || scalars[index - 1] == " "
            } else if scalar.joinsPictographs {
                isHidden = index == 0 || scalars[index - 1].value < 0x2190
            } else {
                isHidden =
                    scalar.isUnseen || scalar.isVariantLetter || isLatin && scalar.isOfConfusingScript
                    || index == firstLetter
            }
            if isHidden {
                text += "<\(String(scalar.value, radix: 16, uppercase: true))>"
            } else {
                text.unicodeScalars.append(scalar)
            }
        }
        self.init(text)
    }
}

extension Unicode.Scalar {
    /// Whether nothing, or only a blank, would be seen of it.
    fileprivate var isUnseen: Bool {
        switch properties.generalCategory {
        case .control, .format, .surrogate, .privateUse, .unassigned, .lineSeparator, .paragraphSeparator,
            .spaceSeparator:
            true
        // Letters and marks without a shape: Hangul's fillers, Braille's blank, fillers of Khmer, selectors of
        // Mongolian.
        default:
            [0x34F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x180B, 0x180C, 0x180D, 0x180F, 0x2800, 0x3164, 0xFFA0]
                .contains(value) || (0xE0100...0xE01EF).contains(value)
        }
    }

    /// Whether it belongs between, or after, parts of emoji, and would not be seen elsewhere.
    fileprivate var joinsPictographs: Bool { value == 0x200D || (0xFE00...0xFE0F).contains(value) }

    /// Whether it is a Latin letter in its usual form.
    fileprivate var isPlainLatin: Bool {
        properties.isAlphabetic && (value < 0x250 || (0x1E00...0x1EFF).contains(value)) && !isVariantLetter
    }

    /// Whether it is a letter of a script that shares shapes with Latin: Greek, Cyrillic, Armenian, Cherokee, Lisu.
    fileprivate var isOfConfusingScript: Bool {
        switch value {
        case 0x370...0x52F, 0x531...0x587, 0x13A0...0x13FF, 0x1C80...0x1C8F, 0x1F00...0x1FFF, 0x2DE0...0x2DFF,
            0xA4D0...0xA4FF, 0xA640...0xA69F, 0xAB70...0xABBF:
            properties.isAlphabetic
        default: false
        }
    }

    /// Whether it is a Latin letter in a special form: phonetic, mathematical, fullwidth, or one that looks like
    /// another.
    fileprivate var isVariantLetter: Bool {
        switch value {
        case 0x131, 0x17F, 0x1C0...0x1C3, 0x237, 0x250...0x2AF, 0x1D00...0x1DBF, 0x2070...0x209C, 0x2100...0x214F,
            0x2160...0x2188, 0x249C...0x24E9, 0xAB30...0xAB6F, 0xFB00...0xFB06, 0xFF01...0xFF5E, 0x1D400...0x1D7FF,
            0x1F110...0x1F149:
            true
        default: false
        }
    }

    /// Whether it is a letter of another script with the shape of an ASCII letter.
    fileprivate var looksLatin: Bool { Self.lookalikes.contains(value) }

    private static let lookalikes: Set<UInt32> = [
        // Cyrillic.
        0x410, 0x412, 0x415, 0x405, 0x406, 0x408, 0x41A, 0x41C, 0x41D, 0x41E, 0x420, 0x421, 0x422, 0x423,
        0x425, 0x4AE, 0x50C, 0x51A, 0x51C, 0x4C0, 0x430, 0x435, 0x43E, 0x440, 0x441, 0x443, 0x445, 0x455,
        0x456, 0x458, 0x4BB, 0x501, 0x51B, 0x51D, 0x4CF, 0x475, 0x4AF,
        // Greek.
        0x391, 0x392, 0x395, 0x396, 0x397, 0x399, 0x39A, 0x39C, 0x39D, 0x39F, 0x3A1, 0x3A4, 0x3A5, 0x3A7,
        0x3B1, 0x3B9, 0x3BA, 0x3BD, 0x3BF, 0x3C1, 0x3C5, 0x3C7, 0x3F2, 0x3F3,
        // Armenian.
        0x555, 0x54D, 0x53C, 0x585, 0x57D, 0x570, 0x578, 0x581, 0x566,
        // Cherokee.
        0x13A0, 0x13AA, 0x13AC, 0x13B3, 0x13B7, 0x13BB, 0x13C0, 0x13C2, 0x13C3, 0x13CF, 0x13D2, 0x13D4,
        0x13DA, 0x13DE, 0x13DF, 0x13E2,
    ]
}
