import Terminal

/// Finds letters anywhere in a text, regardless of case and marks.
struct TextFind: Hashable, Sendable {
    let words: String
    private let letters: [String]

    /// The most characters that are searched for.
    static let wordLimit = 256
    /// The most scalars of a text that are searched.
    private static let textLimit = 131_072

    init(_ words: String) {
        self.words = String(words.prefix(Self.wordLimit))
        letters = Self.letters(of: self.words).map(\.letter)
    }

    func isIn(_ text: String) -> Bool { !places(in: text, limit: 1).isEmpty }

    /// The columns of a line in which the letters are.
    func columns(of line: SafeText) -> [Range<Int>] {
        let text = line.description
        let scalars = text.unicodeScalars
        return places(in: text, limit: 64).map { place in
            let start = SafeText(String(scalars[..<place.lowerBound])).width
            return start..<start + max(1, SafeText(String(scalars[place])).width)
        }
    }

    private func places(in text: String, limit: Int) -> [Range<String.Index>] {
        guard !letters.isEmpty else { return [] }
        let found = Self.letters(of: text)
        var places: [Range<String.Index>] = []
        var start = 0
        while start + letters.count <= found.count, places.count < limit {
            guard found[start...].starts(with: letters, by: { $0.letter == $1 }) else {
                start += 1
                continue
            }
            let end = start + letters.count
            places.append(found[start].place.lowerBound..<found[end - 1].place.upperBound)
            start = end
        }
        return places
    }

    /// The scalars without case and marks; combining marks belong to the letter before them.
    private static func letters(of text: String) -> [(letter: String, place: Range<String.Index>)] {
        let scalars = text.unicodeScalars
        var letters: [(letter: String, place: Range<String.Index>)] = []
        for index in scalars.indices.prefix(textLimit) {
            let next = scalars.index(after: index)
            let scalar = scalars[index]
            if !scalar.isASCII, scalar.properties.generalCategory == .nonspacingMark, let last = letters.last {
                letters[letters.count - 1].place = last.place.lowerBound..<next
            } else {
                letters.append((SearchMatch.letter(scalar), index..<next))
            }
        }
        return letters
    }
}
