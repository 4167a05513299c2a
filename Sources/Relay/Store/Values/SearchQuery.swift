/// A search in the stored messages and letters.
///
/// A word of at least two letters matches the beginning of words (`build` finds `builds`), regardless of case and
/// diacritics; all words must match. Words in quotes match as a phrase. A word after a dash must not occur, which
/// excludes results of another word, a sender or a topic. Chinese, Japanese and Korean text is found by any part of it.
///
/// | | |
/// |---|---|
/// | `from:NAME` | from this sender; several are alternatives |
/// | `in:TOPIC` | in this topic, or in those that match, `*` and `>` included; several are alternatives |
/// | `after:DATE` | from this day or moment on (`2026-11-20`, `2026-11-20T10:00Z`) |
/// | `before:DATE` | before this day or moment |
///
/// A value with blanks is quoted: `from:"bob the builder"`. Anything that is not understood is searched for as a word,
/// so no text is an error.
public struct SearchQuery: Hashable, Sendable {
    /// Something that a text must or must not contain.
    public struct Term: Hashable, Sendable {
        /// The words.
        public var text: String
        /// Whether the words must match as a phrase; otherwise a word of the text must begin with this one.
        public var isPhrase: Bool
        /// Whether the text must not contain it.
        public var isExcluded: Bool

        /// Creates a term.
        public init(_ text: String, isPhrase: Bool = false, isExcluded: Bool = false) {
            self.text = text
            self.isPhrase = isPhrase
            self.isExcluded = isExcluded
        }
    }

    /// The terms, at most ``maximumTerms``.
    public var terms: [Term] = []
    /// The senders; anyone if empty.
    public var senders: [String] = []
    /// The topics; all of them, and letters, if empty.
    public var topics: [TopicPattern] = []
    /// From this moment on.
    public var after: Timestamp?
    /// Before this moment.
    public var before: Timestamp?

    /// The most terms, senders and topics each.
    public static let maximumTerms = 32

    /// Creates an empty query.
    public init() {}

    /// Parses a person's query. Only its first 4,096 characters count.
    ///
    /// - Parameters:
    ///   - text: Words and filters.
    ///   - secondsFromGMT: How far the person's clock is ahead of UTC, which determines where the days of `after:` and
    /// `before:` begin.
    public init(_ text: String, secondsFromGMT: Int = 0) {
        var reader = QueryReader(text.prefix(4_096))
        while let part = reader.next() { take(part, secondsFromGMT) }
    }

    /// The name of the first filter in a text without a value right after its colon, as in `from: bob`: it is searched
    /// for as a word, which few people intend. Nil if there is none.
    public static func filterWithoutValue(in text: String) -> String? {
        var reader = QueryReader(text.prefix(4_096))
        while let part = reader.next() {
            guard let name = part.unfinishedFilter?.lowercased(), !part.isExcluded else { continue }
            if ["from", "in", "after", "before"].contains(name) { return name }
        }
        return nil
    }

    /// Whether there is nothing to search for.
    public var isEmpty: Bool {
        !terms.contains { !$0.isExcluded } && senders.isEmpty && topics.isEmpty && after == nil && before == nil
    }

    private mutating func take(_ part: QueryPart, _ secondsFromGMT: Int) {
        if let name = part.filter, !part.isExcluded, take(name, part.text, secondsFromGMT) { return }
        // An invalid filter is searched for as it was typed.
        let text = part.filter.map { "\($0):\(part.text)" } ?? part.text
        guard terms.count < Self.maximumTerms, text.unicodeScalars.contains(where: SearchText.isPartOfWord) else {
            return
        }
        let isPhrase = part.isQuoted || part.filter != nil
        terms.append(Term(text, isPhrase: isPhrase, isExcluded: part.isExcluded))
    }

    /// Adds a filter; false if it is invalid.
    private mutating func take(_ filter: String, _ value: String, _ secondsFromGMT: Int) -> Bool {
        switch filter.lowercased() {
        case "from":
            guard value.unicodeScalars.contains(where: SearchText.isPartOfWord) else { return false }
            if senders.count < Self.maximumTerms { senders.append(value) }
        case "in":
            guard let pattern = try? TopicPattern(value) else { return false }
            if topics.count < Self.maximumTerms { topics.append(pattern) }
        case "after":
            guard let moment = Self.moment(value, secondsFromGMT) else { return false }
            after = max(after ?? moment, moment)
        case "before":
            guard let moment = Self.moment(value, secondsFromGMT) else { return false }
            before = min(before ?? moment, moment)
        default: return false
        }
        return true
    }

    /// A moment in the person's time zone, unless the text has an offset.
    private static func moment(_ text: String, _ secondsFromGMT: Int) -> Timestamp? {
        guard let moment = Timestamp(iso8601: text) else { return nil }
        // The date itself contains dashes.
        let time = text.dropFirst(10)
        if time.contains(where: { "Zz+-".contains($0) }) { return moment }
        return Timestamp(milliseconds: moment.milliseconds - Int64(secondsFromGMT) * 1_000)
    }
}

extension SearchQuery {
    /// The query in the syntax of SQLite's full-text search; nil without a word to search for.
    ///
    /// Each word is quoted, so that only the quote itself, which is doubled, has a meaning: no text is a syntax error.
    ///
    /// - Parameters:
    ///   - topicNumbers: The topics as in ``SearchQuery/token(ofTopic:)``; nil for any.
    ///   - leftOut: Terms to leave out.
    func expression(topicNumbers: [Int64]? = nil, without leftOut: Set<Term> = []) -> String? {
        let terms = terms.filter { !leftOut.contains($0) }
        var wanted: [String] = []
        for term in terms where !term.isExcluded {
            wanted.append(Self.expression(of: term))
        }
        if !senders.isEmpty {
            wanted.append("sender : (" + senders.map { Self.quoted($0) }.joined(separator: " OR ") + ")")
        }
        if let topicNumbers, !topicNumbers.isEmpty {
            let tokens = topicNumbers.map { Self.quoted(Self.token(ofTopic: $0)) }
            wanted.append("topic : (" + tokens.joined(separator: " OR ") + ")")
        }
        guard !wanted.isEmpty else { return nil }
        let unwanted = terms.filter(\.isExcluded).map { Self.expression(of: $0) }
        let all = "(" + wanted.joined(separator: ") AND (") + ")"
        return unwanted.isEmpty ? all : "(\(all)) NOT ((" + unwanted.joined(separator: ") OR (") + "))"
    }

    /// The expression for a term, whether it is excluded or not.
    static func expression(of term: Term) -> String { "text : " + quoted(term) }

    /// The word that stands for a topic.
    static func token(ofTopic number: Int64) -> String { "t\(number)" }

    /// The topic that a word stands for.
    static func topic(ofToken token: String) -> Int64? { Int64(token.dropFirst()) }

    private static func quoted(_ term: Term) -> String {
        let phrase = quoted(term.text)
        return term.isWhole ? phrase : phrase + " *"
    }

    private static func quoted(_ text: String) -> String {
        var result = "\""
        for character in SearchText.split(text).unicodeScalars {
            if character == "\"" { result += "\"" }
            result.unicodeScalars.append(character)
        }
        return result + "\""
    }
}

extension SearchQuery.Term {
    /// Whether the text must contain the complete last word; otherwise a word that begins with it is enough.
    package var isWhole: Bool {
        // A single letter begins too many words, and a character that is a word by itself begins none.
        isPhrase || text.unicodeScalars.count { SearchText.isPartOfWord($0) } < 2
            || text.unicodeScalars.contains(where: SearchText.isUnspaced)
    }
}

/// One part of a person's query.
private struct QueryPart {
    /// The text before the colon.
    var filter: String?
    /// The same, if nothing follows the colon.
    var unfinishedFilter: String?
    var text: String
    var isQuoted: Bool
    var isExcluded: Bool
}

/// Splits a person's query at blanks outside quotes.
private struct QueryReader {
    private var rest: Substring

    init(_ text: Substring) { rest = text }

    mutating func next() -> QueryPart? {
        rest = rest.drop { $0.isWhitespace }
        guard let first = rest.first else { return nil }
        let isExcluded = first == "-" && rest.dropFirst().first != nil
        if isExcluded { rest.removeFirst() }
        if rest.first == "\"" { return QueryPart(text: quotation(), isQuoted: true, isExcluded: isExcluded) }
        let word = rest.prefix { !$0.isWhitespace && $0 != "\"" }
        rest = rest[word.endIndex...]
        guard let colon = word.firstIndex(of: ":"), colon > word.startIndex else {
            return QueryPart(text: String(word), isQuoted: false, isExcluded: isExcluded)
        }
        let filter = String(word[..<colon])
        let value = word[word.index(after: colon)...]
        if value.isEmpty, rest.first == "\"" {
            let text = quotation()
            let unfinished = text.allSatisfy(\.isWhitespace) ? filter : nil
            return QueryPart(
                filter: filter, unfinishedFilter: unfinished, text: text, isQuoted: true, isExcluded: isExcluded)
        }
        guard !value.isEmpty else {
            return QueryPart(unfinishedFilter: filter, text: filter, isQuoted: false, isExcluded: isExcluded)
        }
        return QueryPart(filter: filter, text: String(value), isQuoted: false, isExcluded: isExcluded)
    }

    /// The text in quotes, up to the end if the second one is missing.
    private mutating func quotation() -> String {
        rest.removeFirst()
        let text = rest.prefix { $0 != "\"" }
        rest = rest[text.endIndex...]
        if !rest.isEmpty { rest.removeFirst() }
        return String(text)
    }
}
