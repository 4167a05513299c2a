import Testing

@testable import Terminal

@Suite("The terminal's clipboard")
struct ClipboardSequenceTests {
    @Test("A text goes to the clipboard in base64, whatever is in it")
    func sequence() {
        #expect(String(decoding: ClipboardSequence.bytes("hi"), as: UTF8.self) == "\u{1B}]52;c;aGk=\u{1B}\\")
        let hostile = ClipboardSequence.bytes("\u{1B}\\\u{07}\n")
        #expect(hostile.dropFirst().dropLast(2).allSatisfy { $0 >= 0x20 && $0 < 0x7F })
    }

    @Test("What is kept for ^Y is put in as what was cut is")
    func yank() {
        var editor = LineEditor()
        editor.text = "see "
        editor.keepForYank("this line")
        _ = editor.handle(.control("y"))
        #expect(editor.text == "see this line")
    }
}
