import Terminal

/// The keys that edit the text, the palette's query and a filter, under readline's names. `LineEditor` handles these
/// keys unless they have another meaning; a test compares the table with it. A key from the configuration is passed to
/// the editor as the standard key that it replaces.
enum EditingKey: String, KeyAction {
    static let title = "Editing the text"
    static let tableName = "editing"

    case backwardChar, forwardChar, backwardWord, forwardWord, beginningOfLine, endOfLine, beginningOfText, endOfText,
        previousLine, nextLine, backwardDeleteChar, deleteChar, unixWordRubout, backwardKillWord, killWord,
        unixLineDiscard, killLine, yank, yankPop, transposeChars, transposeWords, upcaseWord, downcaseWord,
        capitalizeWord, yankLastArg, deleteHorizontalSpace, undoEdit, revertLine, reverseSearchHistory,
        forwardSearchHistory, characterSearch, characterSearchBackward, quotedInsert, digitArgument, negativeArgument

    var binding: KeyBinding {
        switch self {
        case .backwardChar: KeyBinding([Key(.left), .control("b")], "a character to the left")
        case .forwardChar: KeyBinding([Key(.right), .control("f")], "a character to the right")
        case .backwardWord: KeyBinding([Key(.left, .control), Key(.left, .alt), .alt("b")], "a word to the left")
        case .forwardWord: KeyBinding([Key(.right, .control), Key(.right, .alt), .alt("f")], "a word to the right")
        case .beginningOfLine: KeyBinding([Key(.home), .control("a")], "beginning of the line")
        case .endOfLine: KeyBinding([Key(.end), .control("e")], "end of the line; on no text: newest message")
        case .beginningOfText: KeyBinding([Key(.home, .control), .alt("<")], "beginning of the text")
        case .endOfText: KeyBinding([.alt(">")], "end of the text")
        case .previousLine: KeyBinding(.up, "a line up, or an earlier text")
        case .nextLine: KeyBinding(.down, "a line down, or a later text")
        case .backwardDeleteChar: KeyBinding([Key(.backspace), .control("h")], "delete the character to the left")
        case .deleteChar: KeyBinding([Key(.delete), .control("d")], "delete the character at the cursor")
        case .unixWordRubout: KeyBinding([.control("w")], "cut to the left, up to a blank")
        case .backwardKillWord:
            KeyBinding([Key(.backspace, .control), Key(.backspace, .alt)], "cut a word to the left")
        case .killWord: KeyBinding([Key(.delete, .control), Key(.delete, .alt), .alt("d")], "cut a word to the right")
        case .unixLineDiscard: KeyBinding([.control("u")], "cut to the beginning of the line")
        case .killLine: KeyBinding([.control("k")], "cut to the end of the line")
        case .yank: KeyBinding([.control("y")], "paste the last cut (yank)")
        case .yankPop: KeyBinding([.alt("y")], "after that: paste an earlier cut instead")
        case .transposeChars: KeyBinding([.control("t")], "transpose characters")
        case .transposeWords: KeyBinding([.alt("t")], "transpose words")
        case .upcaseWord: KeyBinding([.alt("u")], "the word in capitals")
        case .downcaseWord: KeyBinding([.alt("l")], "the word in lowercase")
        case .capitalizeWord: KeyBinding([.alt("c")], "capitalize the word")
        case .yankLastArg: KeyBinding([.alt("."), .alt("_")], "insert the last word of the previous line")
        case .deleteHorizontalSpace: KeyBinding([.alt("\\")], "delete the blanks around the cursor")
        case .undoEdit: KeyBinding([.control("_"), .control("/")], "undo")
        case .revertLine: KeyBinding([.alt("r")], "undo all that was done to the line")
        case .reverseSearchHistory: KeyBinding([.control("r")], "look for an earlier line by its letters")
        case .forwardSearchHistory: KeyBinding([.control("s")], "look for a later line by its letters")
        case .characterSearch: KeyBinding([.control("]")], "and a character: to the next place that has it")
        case .characterSearchBackward:
            KeyBinding([Key(.character("]"), [.control, .alt])], "and a character: to the place before")
        case .quotedInsert: KeyBinding([.control("v")], "put in the next key as it is, Tab and Enter too")
        case .digitArgument: KeyBinding([.alt("0")], "and digits: the next key so many times")
        case .negativeArgument: KeyBinding([.alt("-")], "and digits: the next key so many times backwards")
        }
    }
}
