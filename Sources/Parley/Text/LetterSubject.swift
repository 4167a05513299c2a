import Relay

/// What a letter is about, as lists show it, and what one is about that is sent on: the same, marked once.
enum LetterSubject {
    /// What stands before a letter's words: what it is about, in one line; nothing where it does not say.
    static func prefix(_ subject: String?) -> String { shown(subject).map { "\($0) · " } ?? "" }

    /// What stands behind a letter's sender and time; nothing where it does not say what it is about.
    static func suffix(_ subject: String?) -> String { shown(subject).map { " · \($0)" } ?? "" }

    /// A subject in one line, as much of it as is shown: it is another's text, and that of any client.
    static func shown(_ subject: String?) -> String? {
        guard let subject, !subject.isEmpty else { return nil }
        return String(subject.prefix(PostboxLetter.maximumSubjectBytes).map { $0.isNewline ? " " : $0 })
    }

    /// The subject of a letter that is sent on.
    static func forwarding(_ subject: String) -> String { marked(subject, "Fwd: ") }

    /// A mark is not put twice, however it is written. What is too long then loses its end.
    private static func marked(_ subject: String, _ mark: String) -> String {
        let isMarked = subject.prefix(mark.count).lowercased() == mark.lowercased()
        var line = isMarked ? subject : mark + subject
        // It is another's text, and that of any client.
        line.removeAll(where: \.isNewline)
        while line.utf8.count > PostboxLetter.maximumSubjectBytes { line.removeLast() }
        return line
    }
}
