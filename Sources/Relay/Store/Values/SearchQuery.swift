/// What a person looks for among the messages and letters that are kept.
///
/// Words are found wherever a word begins with them (`build` finds `builds`), with two letters at least, and whatever
/// their case and marks; all of them have to be there. Words in quotes are found side by side as they are. A word with
/// a dash before it must not be there, which rules something out beside a word, a sender or a topic. Chinese, Japanese
/// and Korean text is found by any part of it.
///
/// | | |
/// |---|---|
/// | `from:NAME` | what this sender sent; several name one of them |
/// | `in:TOPIC` | what was sent to this topic, or to those that match, `*` and `>` included; several name one of them |
/// | `after:DATE` | from this day or moment on (`2026-11-20`, `2026-11-20T10:00Z`) |
/// | `before:DATE` | before this day or moment |
///
/// A value with blanks stands in quotes: `from:"bob the builder"`. Whatever cannot be understood counts as a word to
/// look for, and no text is an error.
public struct SearchQuery: Hashable, Sendable {
    /// Something that a text must have, or must not have.
    public struct Term: Hashable, Sendable {
        /// The words.
        public var text: String
        /// Whether they stand side by side as they are; otherwise a word of the text has to begin with this one.
        public var isPhrase: Bool
        /// Whether the text must not have it.
        public var isExcluded: Bool

        /// Makes a term.
        public init(_ text: String, isPhrase: Bool = false, isExcluded: Bool = false) {
            self.text = text
            self.isPhrase = isPhrase
            self.isExcluded = isExcluded
        }
    }

    /// What the text must have, and what not; the first ``maximumTerms`` that were written.
    public var terms: [Term] = []
    /// Whose messages; anybody's when empty.
    public var senders: [String] = []
    /// The topics; all of them, and letters, when empty.
    public var topics: [TopicPattern] = []
    /// From this moment on.
    public var after: Timestamp?
    /// Before this moment.
    public var before: Timestamp?

    /// How many terms, senders and topics of each count.
    public static let maximumTerms = 32

    /// Looks for nothing.
    public init() {}

    /// Reads what a person typed. Only its first 4,096 characters count.
    ///
    /// - Parameters:
    ///   - text: words and filters.
    ///   - secondsFromGMT: how far the person's clock is ahead of UTC: where the days of `after:` and `before:` begin.
    public init(_ text: String, secondsFromGMT: Int = 0) {
        var reader = QueryReader(text.prefix(4_096))
        while let part = reader.next() { take(part, secondsFromGMT) }
    }

    /// The name of the first filter in a text that has nothing right behind its colon, as in `from: bob`: it counts as
    /// a word to look for, which few people mean. Nil where there is none.
    public static func filterWithoutValue(in text: String) -> String? {
        var reader = QueryReader(text.prefix(4_096))
        while let part = reader.next() {
            guard let name = part.unfinishedFilter?.lowercased(), !part.isExcluded else { continue }
            if ["from", "in", "after", "before"].contains(name) { return name }
        }
        return nil
    }

    /// Whether there is nothing to look for.
    public var isEmpty: Bool {
        !terms.contains { !$0.isExcluded } && senders.isEmpty && topics.isEmpty && after == nil && before == nil
    }

    private mutating func take(_ part: QueryPart, _ secondsFromGMT: Int) {
        if let name = part.filter, !part.isExcluded, take(name, part.text, secondsFromGMT) { return }
        // A filter that means nothing here is looked for as it was typed.
        let text = part.filter.map { "\($0):\(part.text)" } ?? part.text
        guard terms.count < Self.maximumTerms, text.unicodeScalars.contains(where: SearchText.isPartOfWord) else {
            return
        }
        let isPhrase = part.isQuoted || part.filter != nil
        terms.append(Term(text, isPhrase: isPhrase, isExcluded: part.isExcluded))
    }

    /// Whether this is a filter, which counts from now on.
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

    /// A day begins where the person is; a time without an offset is the person's too.
    private static func moment(_ text: String, _ secondsFromGMT: Int) -> Timestamp? {
        guard let moment = Timestamp(iso8601: text) else { return nil }
        // The date has two dashes and no sign of its own.
        let time = text.dropFirst(10)
        if time.contains(where: { "Zz+-".contains($0) }) { return moment }
        return Timestamp(milliseconds: moment.milliseconds - Int64(secondsFromGMT) * 1_000)
    }
}

extension SearchQuery {
    /// The query in the words of SQLite's full-text search; nil when no word is looked for.
    ///
    /// Each word stands in quotes, in which nothing has a meaning but the quote, which is doubled: no text is a syntax
    /// error.
    ///
    /// - Parameters:
    ///   - topicNumbers: the topics as ``SearchQuery/token(ofTopic:)`` has them; nil for any.
    ///   - leftOut: terms that are not part of the question.
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

    /// What has a term, whether it is wanted or not.
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
    /// Whether a text has to have its last word whole; otherwise a word that begins with it is enough.
    package var isWhole: Bool {
        // One letter begins too many words, and a character that is a word of its own begins none.
        isPhrase || text.unicodeScalars.count { SearchText.isPartOfWord($0) } < 2
            || text.unicodeScalars.contains(where: SearchText.isUnspaced)
    }
}

/// One part of what a person typed.
private struct QueryPart {
    /// What stands before the colon.
    var filter: String?
    /// The same, where nothing stands behind the colon.
    var unfinishedFilter: String?
    var text: String
    var isQuoted: Bool
    var isExcluded: Bool
}

/// Splits what a person typed at blanks outside quotes.
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

    /// What stands in quotes; to the end where the second one is missing.
    private mutating func quotation() -> String {
        rest.removeFirst()
        let text = rest.prefix { $0 != "\"" }
        rest = rest[text.endIndex...]
        if !rest.isEmpty { rest.removeFirst() }
        return String(text)
    }
}
