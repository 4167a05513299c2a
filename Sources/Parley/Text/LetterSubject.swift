import Relay
import Terminal

/// Letters' subjects: as lists show them, as they are written, and marked once as a reply or as forwarded.
enum LetterSubject {
    /// The subject in one line, to precede a letter's words; empty if there is none.
    static func prefix(_ subject: String?) -> String { shown(subject).map { "\($0) · " } ?? "" }

    /// The subject, to follow a letter's sender and time; empty if there is none.
    static func suffix(_ subject: String?) -> String { shown(subject).map { " · \($0)" } ?? "" }

    /// A subject in one line, cut to what is shown: it is remote text, from any client.
    static func shown(_ subject: String?) -> String? {
        guard let subject, !subject.isEmpty else { return nil }
        // A character of remote text may have any number of scalars.
        let beginning = String(subject.unicodeScalars.prefix(PostboxLetter.maximumSubjectBytes))
        return String(beginning.map { $0.breaksLine ? " " : $0 })
    }

    // MARK: Writing

    /// How a letter with a subject is written in the chat.
    static let usage = "/post USER/POSTBOX \(mark) WORDS | TEXT"
    private static let mark = "Subject:"
    /// The beginning of the line above a forwarded letter.
    static let forwardMark = "Forwarded: "

    /// Splits a letter that may begin with its subject: `Subject: Lunch | Twelve?`, or the subject in a line of its own
    /// and the letter below it. Without words in between, as in `Subject: | TEXT`, it has none. The subject of a
    /// forwarded letter may also be right above that one, below the words that were added to it.
    static func split(_ letter: String) -> (subject: String?, text: String) {
        guard isMarked(letter) else { return splitForwarded(letter) ?? (nil, letter) }
        let rest = letter.dropFirst(mark.count)
        let line = rest.prefix { !$0.breaksLine }
        let stroke = place(ofStrokeIn: line)
        let subject = trimmed(line[..<(stroke ?? line.endIndex)])
        let text = rest[(stroke.map { rest.index(after: $0) } ?? line.endIndex)...].drop { $0.isWhitespace }
        return (subject.isEmpty ? nil : subject, String(text))
    }

    /// Splits a letter that has its subject right above the first letter forwarded with it; nil for any other.
    private static func splitForwarded(_ letter: String) -> (subject: String?, text: String)? {
        let lines = letter.split(omittingEmptySubsequences: false, whereSeparator: \.breaksLine)
        guard let index = lines.firstIndex(where: { $0.hasPrefix(forwardMark) }), index > 0, isMarked(lines[index - 1])
        else { return nil }
        let (line, forwarded) = (lines[index - 1], letter[lines[index].startIndex...])
        let subject = trimmed(line.dropFirst(mark.count))
        let words = trimmed(letter[..<line.startIndex])
        return (subject.isEmpty ? nil : subject, words.isEmpty ? String(forwarded) : "\(words)\n\n\(forwarded)")
    }

    /// A letter that ``split(_:)`` takes apart into these.
    static func joined(_ subject: String?, _ text: String) -> String {
        guard let subject, !subject.isEmpty else {
            return isMarked(text) || splitForwarded(text) != nil ? "\(mark) | \(text)" : text
        }
        let line = SafeText(String(subject.map { $0.breaksLine ? " " : $0 })).description
        // What separates the two cannot be part of a subject.
        let words = line.split(separator: " ", omittingEmptySubsequences: false).map { $0 == "|" ? "/" : $0 }
        let separator = text.contains(where: \.breaksLine) ? "\n" : " | "
        return "\(mark) " + words.joined(separator: " ") + separator + text
    }

    private static func isMarked(_ letter: some StringProtocol, _ mark: String = mark) -> Bool {
        letter.prefix(mark.count).lowercased() == mark.lowercased()
    }

    private static func trimmed(_ words: Substring) -> String {
        String(words.drop { $0.isWhitespace }.reversed().drop { $0.isWhitespace }.reversed())
    }

    private static func place(ofStrokeIn line: Substring) -> Substring.Index? {
        line.indices.first { place in
            guard line[place] == "|" else { return false }
            let next = line.index(after: place)
            let isOpen = place == line.startIndex || line[line.index(before: place)].isWhitespace
            return isOpen && (next == line.endIndex || line[next].isWhitespace)
        }
    }

    // MARK: Answering

    static func replying(_ subject: String) -> String { marked(subject, "Re: ") }

    static func forwarding(_ subject: String) -> String { marked(subject, "Fwd: ") }

    /// Adds a mark unless it is there already, however it is written. What is too long then loses its end.
    private static func marked(_ subject: String, _ mark: String) -> String {
        var line = isMarked(subject, mark) ? subject : mark + subject
        // It is remote text, from any client.
        line.removeAll(where: \.breaksLine)
        while line.utf8.count > PostboxLetter.maximumSubjectBytes { line.removeLast() }
        return line
    }
}
