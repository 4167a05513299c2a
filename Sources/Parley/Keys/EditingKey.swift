import Terminal

/// A key that edits the text being written, as the help shows it. `LineEditor` takes these keys, where they have no other
/// meaning; a test holds the table to it.
struct EditingKey: Hashable, Sendable {
    let keys: [Key]
    /// What the help says.
    let words: String

    /// All of them, in the order of the help.
    static let all: [EditingKey] = [
        .edits([Key(.left), .control("b")], "a character to the left"),
        .edits([Key(.right), .control("f")], "a character to the right"),
        .edits([Key(.left, .control), Key(.left, .alt), .alt("b")], "a word to the left"),
        .edits([Key(.right, .control), Key(.right, .alt), .alt("f")], "a word to the right"),
        .edits([Key(.home), .control("a")], "beginning of the line"),
        .edits([Key(.end), .control("e")], "end of the line; on no text: newest message"),
        .edits([Key(.home, .control), .alt("<")], "beginning of the text"),
        .edits([.alt(">")], "end of the text"),
        .edits([Key(.up)], "a line up, or an earlier text"),
        .edits([Key(.down)], "a line down, or a later text"),
        .edits([Key(.backspace), .control("h")], "delete the character to the left"),
        .edits([Key(.delete), .control("d")], "delete the character at the cursor"),
        .edits([.control("w")], "cut to the left, up to a blank"),
        .edits([Key(.backspace, .control), Key(.backspace, .alt)], "cut the word to the left"),
        .edits([Key(.delete, .control), Key(.delete, .alt), .alt("d")], "cut the word to the right"),
        .edits([.control("u")], "cut to the beginning of the line"),
        .edits([.control("k")], "cut to the end of the line"),
        .edits([.control("y")], "put in what was cut last"),
        .edits([.alt("y")], "behind that: put in what was cut before"),
        .edits([.control("t")], "exchange two characters"),
        .edits([.alt("t")], "exchange two words"),
        .edits([.alt("u")], "the word in capitals"),
        .edits([.alt("l")], "the word in small letters"),
        .edits([.alt("c")], "the word with a capital"),
        .edits([.alt("."), .alt("_")], "put in the last word of the line before"),
        .edits([.alt("\\")], "delete the blanks around the cursor"),
        .edits([.control("_"), .control("/")], "undo"),
        .edits([.alt("r")], "undo all that was done to the line"),
        .edits([.control("r"), .control("s")], "look for an earlier, a later line by its letters"),
        .edits([.control("]")], "and a character: to the next place that has it"),
        .edits([Key(.character("]"), [.control, .alt])], "and a character: to the place before that has it"),
        .edits([.control("v")], "put in the next key as it is, Tab and Enter too"),
        .edits([.alt("0"), .alt("-")], "and digits: so many times, or backwards"),
    ]

    /// The keys as a person reads them.
    var label: String { keys.map(\.label).joined(separator: " ") }

    private static func edits(_ keys: [Key], _ words: String) -> EditingKey { EditingKey(keys: keys, words: words) }
}
