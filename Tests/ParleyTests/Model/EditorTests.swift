import Relay
import Terminal
import Testing

@testable import Parley

@Suite("Writing in an editor")
struct EditorTests {
    @Test("Alt-e hands over the text as it stands, and /edit an empty one")
    func begin() {
        var desk = Desk.joined("chat.lobby")
        desk.type("so far")
        #expect(desk.press(.alt("e")) == .screen(.edit("so far")))
        #expect(desk.text == "so far")
        desk.press(.control("c"))
        #expect(desk.enter("/edit") == .screen(.edit("")))
    }

    @Test("A text that comes back too long for one message says so, before it is sent")
    func tooLong() {
        var desk = Desk.joined("chat.lobby")
        desk.send(.bounded(messageBytes: 10))
        desk.send(.edited(.written("ten bytes.")))
        #expect(desk.model.notices.shown == nil)
        desk.send(.edited(.written("eleven byte")))
        #expect(desk.notice == "It has 11 bytes, a message at most 10. Shorten it, or send it in parts.")
        #expect(desk.text == "eleven byte")
    }

    @Test("What was written replaces the text, waits to be sent, and can be undone")
    func written() {
        var desk = Desk.joined("chat.lobby")
        desk.type("so far")
        desk.send(.edited(.written("so far,\nso good")))
        #expect(desk.text == "so far,\nso good" && desk.focus == .compose)
        #expect(desk.model.compose.editor.cursor == 15)
        desk.press(.control("_"), .control("_"))
        #expect(desk.text == "so far")
    }

    @Test("What did not work is said, and the text stays")
    func failed() {
        var desk = Desk.joined("chat.lobby")
        desk.type("so far")
        desk.send(.edited(.failed("The editor ended with 1; the text is as it was before.")))
        #expect(desk.text == "so far")
        #expect(desk.notice == "The editor ended with 1; the text is as it was before.")
    }

    @Test("What came while the editor had the terminal is new")
    func missed() {
        var desk = Desk.joined("chat.lobby")
        desk.receive([message(1, "before")])
        desk.wait(.seconds(600))
        desk.send(.edited(.written("")))
        desk.receive([message(2, "meanwhile", minutes: 5)])
        let screen = desk.screen()
        let mark = screen.firstIndex { $0.contains("─ new ─") } ?? 0
        #expect(mark > 0 && screen[mark + 1].hasSuffix("meanwhile"))
    }

    @Test("VISUAL comes before EDITOR, and without both it is vi")
    func command() {
        #expect(TextEditor(["VISUAL": "code --wait", "EDITOR": "nano"]).command == "code --wait")
        #expect(TextEditor(["VISUAL": " ", "EDITOR": "nano"]).command == "nano")
        #expect(TextEditor([:]).command == "vi")
    }
}
