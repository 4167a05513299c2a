import Relay
import Terminal

/// Finds out whether a text mentions a person: by the name, or by a word that they chose.
///
/// A name counts as a whole word, regardless of case: `@bob`, `bob: hello`, `is bob here?`. It does not count in code,
/// in links and paths, nor as a part of another name (`bob-smith`, `bob@example.org`, `bob.example.org`). A name of one
/// or two letters may be an ordinary word, and so are common names of accounts (`root`, `admin`); these count only
/// after an `@`, or at a line's beginning before `:` or `,`.
///
/// Anyone can write a text, so the work on one is bounded.
struct Mention: Hashable, Sendable {
    /// The most bytes of a text that are searched.
    static let byteLimit = 16_384
    /// The most words that are searched for.
    static let wordLimit = 100

    private struct Term: Hashable, Sendable {
        let scalars: [Unicode.Scalar]
        /// The same as bytes if they are ASCII: these rule out most texts.
        let ascii: [UInt8]?
        /// Whether the word alone is not enough.
        let needsAddress: Bool
    }

    /// Accounts that machines have by default or by habit, whose names are words that people write of something else.
    private static let accounts: Set<String> = [
        "root", "admin", "administrator", "user", "guest", "test", "tester", "system", "operator", "staff", "service",
        "server", "client", "host", "local", "default", "demo", "dev", "build", "builder", "backup", "mail", "news",
        "web",
        "bot", "nobody", "daemon", "game", "games", "man", "sync", "master", "main", "you", "all", "here", "everyone",
    ]

    private let terms: [Term]

    /// An empty name is never mentioned; `words` are others to look for.
    init(name: String = "", words: [String] = []) {
        var terms: [Term] = []
        for (place, word) in ([name] + words.prefix(Self.wordLimit)).enumerated() {
            let scalars = word.unicodeScalars.prefix(256).map(Self.small)
            guard scalars.contains(where: Self.isWord) else { continue }
            let isShort = scalars.count < 3 && !scalars.contains(where: SearchText.isUnspaced)
            let isOrdinary = isShort || Self.accounts.contains(word.lowercased())
            let ascii = scalars.allSatisfy(\.isASCII) ? scalars.map { UInt8(truncatingIfNeeded: $0.value) } : nil
            terms.append(Term(scalars: scalars, ascii: ascii, needsAddress: place == 0 && isOrdinary))
        }
        self.terms = terms
    }

    func isIn(_ text: String) -> Bool {
        let possible = terms.filter { Self.mayHave($0, text) }
        guard !possible.isEmpty else { return false }
        let plain = Self.plain(text)
        return possible.contains { Self.place(of: $0, in: plain) != nil }
    }

    /// The parts of a line that mention the person, by its scalars. Code and links are not left out.
    func places(in line: [Unicode.Scalar]) -> [Range<Int>] {
        let text = line.prefix(Self.byteLimit).map(Self.small)
        return terms.flatMap { term in
            var places: [Range<Int>] = []
            while let place = Self.place(of: term, in: text, from: places.last?.upperBound ?? 0) {
                places.append(place)
            }
            return places
        }
    }

    // MARK: Looking

    /// Whether the letters of a term are there at all.
    private static func mayHave(_ term: Term, _ text: String) -> Bool {
        guard let wanted = term.ascii, let first = wanted.first else { return true }
        let looked: Bool? = text.utf8.withContiguousStorageIfAvailable { bytes in
            // A term may begin at the last byte that is searched.
            let starts = min(byteLimit, bytes.count - wanted.count + 1)
            var start = 0
            while start < starts {
                if small(bytes[start]) == first {
                    var count = 1
                    while count < wanted.count, small(bytes[start + count]) == wanted[count] { count += 1 }
                    if count == wanted.count { return true }
                }
                start += 1
            }
            return false
        }
        // A text in another kind of storage is searched in full.
        return looked ?? true
    }

    /// The next mention of a term in a text without code and links, from a place on.
    private static func place(of term: Term, in text: [Unicode.Scalar], from first: Int = 0) -> Range<Int>? {
        let count = term.scalars.count
        guard count > 0, text.count - first >= count else { return nil }
        for start in first...(text.count - count) where text[start] == term.scalars[0] {
            guard text[start..<start + count].elementsEqual(term.scalars) else { continue }
            let end = start + count
            guard isApart(text[start], start > 0 ? text[start - 1] : nil, start > 1 ? text[start - 2] : nil),
                isApart(text[end - 1], end < text.count ? text[end] : nil, end + 1 < text.count ? text[end + 1] : nil)
            else { continue }
            if !term.needsAddress || isAddressed(text, start, end) { return start..<end }
        }
        return nil
    }

    /// Whether a term is a word of its own at one of its ends, by its scalar there and the next two of the text.
    private static func isApart(_ edge: Unicode.Scalar, _ next: Unicode.Scalar?, _ beyond: Unicode.Scalar?) -> Bool {
        guard let next else { return true }
        if SearchText.isUnspaced(next) || SearchText.isUnspaced(edge) { return true }
        if isWord(next) { return false }
        // These join what is on both sides of them into one name.
        guard next == "-" || next == "." || next == "@" || next == "+", let beyond else { return true }
        return !isWord(beyond)
    }

    /// Whether the word there is addressed.
    private static func isAddressed(_ text: [Unicode.Scalar], _ start: Int, _ end: Int) -> Bool {
        if start > 0, text[start - 1] == "@" { return true }
        guard end < text.count, text[end] == ":" || text[end] == "," else { return false }
        let before = text[..<start].last { $0 != " " }
        return before == nil || before == "\n"
    }

    // MARK: What is text

    /// The text in lowercase, with a blank for each piece of code, each link and each path.
    private static func plain(_ text: String) -> [Unicode.Scalar] {
        var result: [Unicode.Scalar] = []
        var isFenced = false
        let beginning = Array(text.unicodeScalars.prefix(byteLimit))
        for line in beginning.split(omittingEmptySubsequences: false, whereSeparator: \.breaksLine) {
            result.append("\n")
            let begin = line.drop { $0 == " " }
            if begin.prefix(3).elementsEqual("```".unicodeScalars), isFenced || !begin.dropFirst(3).contains("`") {
                isFenced.toggle()
                continue
            }
            guard !isFenced else { continue }
            let pieces = line.split(separator: "`", omittingEmptySubsequences: false)
            for (place, piece) in pieces.enumerated() {
                // The last of an odd number of backquotes begins no code.
                let isCode = !place.isMultiple(of: 2) && place < pieces.count - 1
                guard !isCode else {
                    result.append(" ")
                    continue
                }
                for (place, token) in piece.split(separator: " ", omittingEmptySubsequences: false).enumerated() {
                    if place > 0 { result.append(" ") }
                    if !isLink(token) { result += token.map(small) }
                }
            }
        }
        return result
    }

    /// Whether a run of characters without blanks is a link, a path or a mail address.
    private static func isLink(_ token: ArraySlice<Unicode.Scalar>) -> Bool {
        let bare = token.drop { "(<[{\"'".unicodeScalars.contains($0) }
        guard bare.count > 3 else { return false }
        if ["/", "~/", "./", "../", "www.", "mailto:"].contains(where: { bare.starts(with: $0.unicodeScalars) }) {
            return true
        }
        guard let colon = bare.firstIndex(of: ":") else { return false }
        return bare[colon...].starts(with: "://".unicodeScalars)
    }

    private static func isWord(_ scalar: Unicode.Scalar) -> Bool {
        if scalar.isASCII { return scalar.properties.isAlphabetic || "0"..."9" ~= scalar || scalar == "_" }
        return SearchText.isPartOfWord(scalar) || scalar.properties.generalCategory == .nonspacingMark
    }

    private static func small(_ byte: UInt8) -> UInt8 { 0x41...0x5A ~= byte ? byte | 0x20 : byte }

    private static func small(_ scalar: Unicode.Scalar) -> Unicode.Scalar {
        if scalar.isASCII { return Unicode.Scalar(small(UInt8(truncatingIfNeeded: scalar.value))) }
        let mapped = scalar.properties.lowercaseMapping.unicodeScalars
        return mapped.count == 1 ? mapped.first ?? scalar : scalar
    }
}
