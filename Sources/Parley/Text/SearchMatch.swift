import Relay

/// Finds the parts of a text that a search has matched.
///
/// The search itself says only that a text matches. Here the text is read as the search reads it: words are letters and
/// digits, their case and marks do not count, and each Chinese, Japanese or Korean character is a word.
struct SearchMatch {
    /// The most scalars of a text that are searched.
    private static let maximumLength = 100_000

    private typealias Word = (place: Range<String.Index>, letters: [String])

    private struct Term {
        var words: [[String]]
        var isWhole: Bool

        /// Whether the words of a text match this from one of them on.
        func stands(at start: Int, of text: [Word]) -> Bool {
            guard !words.isEmpty, start + words.count <= text.count else { return false }
            return words.indices.allSatisfy { offset in
                let found = text[start + offset].letters
                let mayGoOn = !isWhole && offset == words.count - 1
                return mayGoOn ? found.starts(with: words[offset]) : found == words[offset]
            }
        }
    }

    private let terms: [Term]

    init(_ query: SearchQuery) {
        terms = query.terms.filter { !$0.isExcluded }.map { term in
            Term(words: Self.words(of: term.text).map(\.letters), isWhole: term.isWhole)
        }
    }

    /// The first part of a text that matches, as written there; nil if there is none, or the query has only filters.
    func part(of text: String) -> String? {
        parts(of: text, limit: 1).first.map { String(text.unicodeScalars[$0]) }
    }

    /// The parts of a text that match, in order and without overlaps.
    func parts(of text: String, limit: Int = 64) -> [Range<String.Index>] {
        guard !terms.isEmpty else { return [] }
        let words = Self.words(of: text)
        var parts: [Range<String.Index>] = []
        var start = 0
        while start < words.count, parts.count < limit {
            guard let term = terms.first(where: { $0.stands(at: start, of: words) }) else {
                start += 1
                continue
            }
            let end = start + term.words.count
            parts.append(words[start].place.lowerBound..<words[end - 1].place.upperBound)
            start = end
        }
        return parts
    }

    private static func words(of text: String) -> [Word] {
        var words: [Word] = []
        // Whether the last word ends where the next letter is.
        var isOpen = false
        let scalars = text.unicodeScalars
        for index in scalars.indices.prefix(maximumLength) {
            let scalar = scalars[index]
            let next = scalars.index(after: index)
            if SearchText.isUnspaced(scalar) {
                words.append((index..<next, [String(scalar)]))
                isOpen = false
            } else if SearchText.isPartOfWord(scalar) {
                if !isOpen { words.append((index..<index, [])) }
                words[words.count - 1].place = words[words.count - 1].place.lowerBound..<next
                words[words.count - 1].letters.append(letter(scalar))
                isOpen = true
            } else if isOpen, scalar.properties.generalCategory == .nonspacingMark {
                words[words.count - 1].place = words[words.count - 1].place.lowerBound..<next
            } else {
                isOpen = false
            }
        }
        return words
    }

    /// A letter or digit without its case and its marks.
    static func letter(_ scalar: Unicode.Scalar) -> String {
        let small = scalar.properties.lowercaseMapping
        guard !scalar.isASCII, let name = small.unicodeScalars.first?.properties.name else { return small }
        // The name of é is LATIN SMALL LETTER E WITH ACUTE.
        let parts = name.split(separator: " ").prefix { $0 != "WITH" }
        if parts.count == 4, parts.starts(with: ["LATIN", "SMALL", "LETTER"]), let letter = parts.last,
            letter.count == 1
        {
            return letter.lowercased()
        }
        return parts.joined(separator: " ")
    }
}
