import Relay

/// What an answer to a letter is about, and what a letter that is sent on: the same, marked once.
enum LetterSubject {
    /// The subject of an answer.
    static func replying(to subject: String) -> String { marked(subject, "Re: ") }

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
