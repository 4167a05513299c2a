import Terminal

/// The keys that edit the text being written, and what is typed into the palette and a filter, with readline's names
/// for what they do. `LineEditor` takes these keys, where they have no other meaning; a test holds the table to it. For
/// a key that the configuration puts in the place of one, the editor is given that one.
enum EditingKey {
    /// What the help calls them.
    static let title = "Editing the text"

    /// All of them, in the order of the help.
    static let all: [KeyBinding] = [
        .bind(.backwardChar, [Key(.left), .control("b")], "a character to the left"),
        .bind(.forwardChar, [Key(.right), .control("f")], "a character to the right"),
        .bind(.backwardWord, [Key(.left, .control), Key(.left, .alt), .alt("b")], "a word to the left"),
        .bind(.forwardWord, [Key(.right, .control), Key(.right, .alt), .alt("f")], "a word to the right"),
        .bind(.beginningOfLine, [Key(.home), .control("a")], "beginning of the line"),
        .bind(.endOfLine, [Key(.end), .control("e")], "end of the line; on no text: newest message"),
        .bind(.beginningOfText, [Key(.home, .control), .alt("<")], "beginning of the text"),
        .bind(.endOfText, [.alt(">")], "end of the text"),
        .bind(.previousLine, [Key(.up)], "a line up, or an earlier text"),
        .bind(.nextLine, [Key(.down)], "a line down, or a later text"),
        .bind(.backwardDeleteChar, [Key(.backspace), .control("h")], "delete the character to the left"),
        .bind(.deleteChar, [Key(.delete), .control("d")], "delete the character at the cursor"),
        .bind(.unixWordRubout, [.control("w")], "cut to the left, up to a blank"),
        .bind(.backwardKillWord, [Key(.backspace, .control), Key(.backspace, .alt)], "cut a word to the left"),
        .bind(.killWord, [Key(.delete, .control), Key(.delete, .alt), .alt("d")], "cut a word to the right"),
        .bind(.unixLineDiscard, [.control("u")], "cut to the beginning of the line"),
        .bind(.killLine, [.control("k")], "cut to the end of the line"),
        .bind(.yank, [.control("y")], "put in what was cut last"),
        .bind(.yankPop, [.alt("y")], "behind that: put in what was cut before"),
        .bind(.transposeChars, [.control("t")], "exchange two characters"),
        .bind(.transposeWords, [.alt("t")], "exchange two words"),
        .bind(.upcaseWord, [.alt("u")], "the word in capitals"),
        .bind(.downcaseWord, [.alt("l")], "the word in small letters"),
        .bind(.capitalizeWord, [.alt("c")], "the word with a capital"),
        .bind(.yankLastArg, [.alt("."), .alt("_")], "put in the last word of the line before"),
        .bind(.deleteHorizontalSpace, [.alt("\\")], "delete the blanks around the cursor"),
        .bind(.undoEdit, [.control("_"), .control("/")], "undo"),
        .bind(.revertLine, [.alt("r")], "undo all that was done to the line"),
        .bind(.reverseSearchHistory, [.control("r")], "look for an earlier line by its letters"),
        .bind(.forwardSearchHistory, [.control("s")], "look for a later line by its letters"),
        .bind(.characterSearch, [.control("]")], "and a character: to the next place that has it"),
        .bind(
            .characterSearchBackward, [Key(.character("]"), [.control, .alt])],
            "and a character: to the place before"),
        .bind(.quotedInsert, [.control("v")], "put in the next key as it is, Tab and Enter too"),
        .bind(.digitArgument, [.alt("0")], "and digits: the next key so many times"),
        .bind(.negativeArgument, [.alt("-")], "and digits: the next key so many times backwards"),
    ]
}
