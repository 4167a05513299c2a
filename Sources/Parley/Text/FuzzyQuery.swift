/// A text that can be found by some of its letters: a title and, counting less, a description.
///
/// The letters are brought once into the form in which they are compared, so that many texts can be searched at every
/// key.
struct FuzzyText: Hashable, Sendable {
    /// The most letters of each part that are searched.
    static let limit = 96

    /// The letters without case and marks; a part's end is 0, which no one types.
    fileprivate private(set) var letters: [UInt32] = []
    /// The bonus for a match at each letter.
    fileprivate private(set) var worth: [Int32] = []
    fileprivate private(set) var titleCount = 0

    init(_ title: String, detail: String = "") {
        append(title, share: 1)
        titleCount = letters.count
        guard !detail.isEmpty else { return }
        letters.append(0)
        worth.append(0)
        append(detail, share: 2)
    }

    /// Whether a character begins a word depends on the kind of the one before it.
    private enum Kind {
        case separator, small, capital, digit

        init(_ character: Character) {
            if let ascii = character.asciiValue {
                switch ascii {
                case 0x61...0x7A: self = .small
                case 0x41...0x5A: self = .capital
                case 0x30...0x39: self = .digit
                default: self = .separator
                }
            } else if character.isUppercase {
                self = .capital
            } else if character.isLetter {
                self = .small
            } else {
                self = character.isNumber ? .digit : .separator
            }
        }
    }

    private mutating func append(_ text: String, share: Int32) {
        // A slash before the name does not take the bonus of its beginning.
        var before: Kind?
        for character in text.prefix(Self.limit) {
            let kind = Kind(character)
            letters.append(Self.folded(character))
            worth.append(Self.worth(of: kind, after: before) / share)
            if before != nil || kind != .separator { before = kind }
        }
    }

    private static func worth(of kind: Kind, after before: Kind?) -> Int32 {
        switch (before, kind) {
        case (nil, _): 12
        case (_, .separator): 0
        case (.separator, _): 9
        case (.small, .capital): 8
        case (.small, .digit), (.capital, .digit): 5
        default: 0
        }
    }

    /// A letter in the form compared: lowercase, and without marks if it is Latin.
    fileprivate static func folded(_ character: Character) -> UInt32 {
        if let ascii = character.asciiValue {
            return UInt32((0x41...0x5A).contains(ascii) ? ascii + 0x20 : ascii)
        }
        guard let scalar = character.unicodeScalars.first else { return 0 }
        let small = scalar.properties.lowercaseMapping.unicodeScalars.first ?? scalar
        switch scalar.value {
        case 0xC0...0x24F, 0x1E00...0x1EFF:
            let bare = SearchMatch.letter(scalar).unicodeScalars
            return bare.count == 1 ? bare.first?.value ?? small.value : small.value
        default: return small.value
        }
    }
}

/// What a person types to find one of many things: some of its letters, in order. White space separates words, all of
/// which have to match, in any order.
///
/// Of all ways to match the letters in a text the best one counts: at its beginning, at beginnings of words (after
/// dots, slashes and spaces, and at capitals), and next to each other.
struct FuzzyQuery: Hashable, Sendable {
    static let limit = 32

    private let words: [[UInt32]]
    /// All of it, with single spaces.
    private let whole: [UInt32]

    init(_ text: String) {
        let words = text.prefix(Self.limit).split(whereSeparator: \.isWhitespace).map { $0.map(FuzzyText.folded) }
        self.words = words
        whole = Array(words.joined(separator: [FuzzyText.folded(" ")]))
    }

    /// The indices of the texts that match, best first; equally good ones keep their order.
    func ranked(_ texts: [FuzzyText]) -> [Int] {
        guard !words.isEmpty else { return Array(texts.indices) }
        var table = Alignment()
        var found = texts.enumerated().compactMap { place, text in
            score(of: text, &table).map { (place: place, score: $0) }
        }
        found.sort { $0.score == $1.score ? $0.place < $1.place : $0.score > $1.score }
        return found.map(\.place)
    }

    /// The characters of a text's title and of its detail that match what was typed, in order.
    func places(in text: FuzzyText) -> (title: [Int], detail: [Int]) {
        var table = Alignment()
        var all: Set<Int> = []
        for word in words { all.formUnion(table.places(of: word, in: text)) }
        let sorted = all.sorted()
        let detail = text.titleCount + 1
        return (sorted.filter { $0 < text.titleCount }, sorted.filter { $0 >= detail }.map { $0 - detail })
    }

    /// How well a text matches, more being better; nil if it does not.
    private func score(of text: FuzzyText, _ table: inout Alignment) -> Int? {
        var sum = 0
        for word in words {
            guard let score = table.score(of: word, in: text) else { return nil }
            sum += score
        }
        // A full name is better than a longer one that begins with it.
        if whole.elementsEqual(text.letters.prefix(text.titleCount)) { sum += 16 }
        return sum
    }
}

/// The best alignment of a word's letters with a text, after Smith and Waterman: a row for each letter of the word, a
/// column for each of the text. It is reused for further texts to save allocations.
private struct Alignment {
    private static let match: Int32 = 16
    private static let neighbour: Int32 = 4
    private static let gap: Int32 = 3
    private static let detail: Int32 = 8
    private static let nothing = Int32.min / 2

    /// The best score of the word up to a row's letter, if that is matched at a column.
    private var scores: [Int32] = []
    /// The bonus with which the last run of neighbours on that way began.
    private var runs: [Int32] = []

    mutating func score(of word: [UInt32], in text: FuzzyText) -> Int? {
        end(of: word, in: text).map { Int(scores[(word.count - 1) * text.letters.count + $0]) }
    }

    /// The places of the word's letters; none if it does not match.
    mutating func places(of word: [UInt32], in text: FuzzyText) -> [Int] {
        guard var column = end(of: word, in: text) else { return [] }
        let width = text.letters.count
        var places = [column]
        for row in stride(from: word.count - 1, to: 0, by: -1) {
            let rest = scores[row * width + column] - Self.match
            guard let before = step(from: column, rest, above: (row - 1) * width, text) else { return [] }
            places.append(before)
            column = before
        }
        return places
    }

    /// The column of the letter before, on the way that led to a score.
    private func step(from column: Int, _ rest: Int32, above: Int, _ text: FuzzyText) -> Int? {
        guard column > 0 else { return nil }
        let worth = text.worth[column]
        let next = above + column - 1
        if scores[next] > Self.nothing, scores[next] + max(Self.neighbour, runs[next], worth) == rest {
            return column - 1
        }
        return (0..<max(0, column - 1)).last { place in
            let score = scores[above + place]
            return score > Self.nothing && score - Self.gap - Int32(column - place - 2) + worth == rest
        }
    }

    /// Scores every way: the column where the best one ends; nil if there is none.
    private mutating func end(of word: [UInt32], in text: FuzzyText) -> Int? {
        let width = text.letters.count
        guard !word.isEmpty, isThere(word, text) else { return nil }
        let size = word.count * width
        if scores.count < size {
            scores = Array(repeating: Self.nothing, count: size)
            runs = Array(repeating: 0, count: size)
        }
        for column in 0..<width {
            let worth = text.worth[column]
            let isHit = text.letters[column] == word[0]
            let start = Self.match + 2 * worth - (column > text.titleCount ? Self.detail : 0)
            scores[column] = isHit ? start : Self.nothing
            runs[column] = worth
        }
        for row in 1..<max(1, word.count) { fill(row, word[row], text) }
        let last = (word.count - 1) * width
        return (0..<width).max { scores[last + $0] < scores[last + $1] }
    }

    private mutating func fill(_ row: Int, _ letter: UInt32, _ text: FuzzyText) {
        let width = text.letters.count
        let above = (row - 1) * width
        // The best way to here that skips at least one letter of the text.
        var apart = Self.nothing
        for column in 0..<width {
            if column >= 2 { apart = max(apart - 1, scores[above + column - 2] - Self.gap, Self.nothing) }
            let place = row * width + column
            scores[place] = Self.nothing
            guard column > 0, text.letters[column] == letter else { continue }
            let worth = text.worth[column]
            let next = above + column - 1
            if scores[next] > Self.nothing {
                runs[place] = max(runs[next], worth)
                scores[place] = scores[next] + max(Self.neighbour, runs[place]) + Self.match
            }
            if apart > Self.nothing, apart + worth + Self.match > scores[place] {
                runs[place] = worth
                scores[place] = apart + worth + Self.match
            }
        }
    }

    /// Whether the letters are there at all, in order.
    private func isThere(_ word: [UInt32], _ text: FuzzyText) -> Bool {
        var next = 0
        for letter in text.letters where letter == word[next] {
            next += 1
            if next == word.count { return true }
        }
        return false
    }
}
