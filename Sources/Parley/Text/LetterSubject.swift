import Relay
import Terminal

/// What a letter is about, as lists show it, and what one is about that is sent on: the same, marked once.
enum LetterSubject {
    /// What stands before a letter's words: what it is about, in one line; nothing where it does not say.
    static func prefix(_ subject: String?) -> String { shown(subject).map { "\($0) · " } ?? "" }

    /// What stands behind a letter's sender and time; nothing where it does not say what it is about.
    static func suffix(_ subject: String?) -> String { shown(subject).map { " · \($0)" } ?? "" }

    /// A subject in one line, as much of it as is shown: it is another's text, and that of any client.
    static func shown(_ subject: String?) -> String? {
        guard let subject, !subject.isEmpty else { return nil }
        // A character of another's text may have any number of scalars.
        let beginning = String(subject.unicodeScalars.prefix(PostboxLetter.maximumSubjectBytes))
        return String(beginning.map { $0.breaksLine ? " " : $0 })
    }

    // MARK: Writing

    /// How a letter with a subject is written in the chat.
    static let usage = "/post USER/POSTBOX \(mark) WORDS | TEXT"
    private static let mark = "Subject:"
    /// What the line begins with below which there is a letter that is sent on.
    static let forwardMark = "Forwarded: "

    /// Takes a letter apart that may begin with what it is about: `Subject: Lunch | Twelve?`, or the subject in a line
    /// of its own and the letter below it. Without words in between, as in `Subject: | TEXT`, it has none. The subject
    /// of a letter that is sent on may also stand right above that one, below the words that were added to it.
    static func split(_ letter: String) -> (subject: String?, text: String) {
        guard isMarked(letter) else { return splitForwarded(letter) ?? (nil, letter) }
        let rest = letter.dropFirst(mark.count)
        let line = rest.prefix { !$0.breaksLine }
        let stroke = place(ofStrokeIn: line)
        let subject = trimmed(line[..<(stroke ?? line.endIndex)])
        let text = rest[(stroke.map { rest.index(after: $0) } ?? line.endIndex)...].drop { $0.isWhitespace }
        return (subject.isEmpty ? nil : subject, String(text))
    }

    /// Takes a letter apart that has its subject right above the first letter that is sent on with it; nil for any
    /// other.
    private static func splitForwarded(_ letter: String) -> (subject: String?, text: String)? {
        let lines = letter.split(omittingEmptySubsequences: false, whereSeparator: \.breaksLine)
        guard let index = lines.firstIndex(where: { $0.hasPrefix(forwardMark) }), index > 0, isMarked(lines[index - 1])
        else { return nil }
        let (line, forwarded) = (lines[index - 1], letter[lines[index].startIndex...])
        let subject = trimmed(line.dropFirst(mark.count))
        let words = trimmed(letter[..<line.startIndex])
        return (subject.isEmpty ? nil : subject, words.isEmpty ? String(forwarded) : "\(words)\n\n\(forwarded)")
    }

    /// A letter as ``split(_:)`` takes it apart.
    static func joined(_ subject: String?, _ text: String) -> String {
        guard let subject, !subject.isEmpty else {
            return isMarked(text) || splitForwarded(text) != nil ? "\(mark) | \(text)" : text
        }
        let line = SafeText(String(subject.map { $0.breaksLine ? " " : $0 })).description
        // What parts the two is no part of a subject.
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

    /// A mark is not put twice, however it is written. What is too long then loses its end.
    private static func marked(_ subject: String, _ mark: String) -> String {
        var line = isMarked(subject, mark) ? subject : mark + subject
        // It is another's text, and that of any client.
        line.removeAll(where: \.breaksLine)
        while line.utf8.count > PostboxLetter.maximumSubjectBytes { line.removeLast() }
        return line
    }
}
