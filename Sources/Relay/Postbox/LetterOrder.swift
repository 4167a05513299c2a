/// In which order letters are listed.
public enum LetterOrder: Sendable, Hashable {
    /// As they were stored, as Sudo's relay lists them.
    case oldestFirst
    /// From the end backwards, as an inbox shows them.
    case newestFirst
}
