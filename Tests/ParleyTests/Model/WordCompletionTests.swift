import Relay
import Terminal
import Testing

@testable import Parley

@Suite("Completing words")
struct WordCompletionTests {
    /// Bob and bert have written, bert last; carol is in the topic and has written nothing.
    private func desk() -> Desk {
        var desk = Desk.joined("chat.lobby", "chat.ops")
        desk.receive([message(1, "hi", from: "bob"), message(2, "hello", from: "Bert")])
        let roster = PresenceRoster(users: [.init(name: "carol", presence: .here)])
        desk.send(.people(topic: "chat.lobby", roster))
        return desk
    }

    @Test("Tab completes a name: with a colon at the beginning, without one behind other words")
    func names() {
        var desk = desk()
        desk.type("bo")
        desk.press(.tab)
        #expect(desk.text == "bob: ")
        desk.type("ask car")
        desk.press(.tab)
        #expect(desk.text == "bob: ask carol ")
        desk.type("and @BER")
        desk.press(.tab)
        #expect(desk.text == "bob: ask carol and @Bert ")
        #expect(desk.focus == .compose)
    }

    @Test("Tab again goes on to the next name, Shift-Tab back, and around to what was typed")
    func cycle() {
        var desk = desk()
        desk.type("see b")
        var shown: [String] = []
        for _ in 0..<4 {
            desk.press(.tab)
            shown.append(desk.text)
        }
        #expect(shown == ["see Bert ", "see bob ", "see b", "see Bert "])
        desk.press(.backTab)
        #expect(desk.text == "see b")
        desk.press(.backTab)
        #expect(desk.text == "see bob ")
        // Whoever types on has chosen.
        desk.type("b")
        desk.press(.tab)
        #expect(desk.text == "see bob Bert ")
    }

    @Test("In the middle of a text the word before the cursor is completed, and what follows stays")
    func middle() {
        var desk = desk()
        desk.type("ask  now")
        for _ in 0..<4 { desk.press(.left) }
        desk.type("bo")
        desk.press(.tab)
        #expect(desk.text == "ask bob  now")
        #expect(desk.model.compose.editor.cursor == 8)
    }

    @Test("Topics, and emoji by their short names, are completed too")
    func others() {
        var desk = desk()
        desk.type("in chat.o")
        desk.press(.tab)
        #expect(desk.text == "in chat.ops ")
        desk.type(":tad")
        desk.press(.tab)
        #expect(desk.text == "in chat.ops 🎉")
        desk.type(" :rocket:")
        desk.press(.tab)
        #expect(desk.text == "in chat.ops 🎉 🚀")
    }

    @Test("Where nothing fits, Tab goes on to the next pane and the text stays")
    func nothing() {
        var desk = desk()
        for text in ["", "bo b ", "xyz", "@xyz", ":", ":)", "http://x:80"] {
            desk.type(text)
            desk.press(.tab)
            #expect(desk.focus == .sidebar && desk.text == text, "\(text)")
            desk.press(.backTab, .control("u"))
        }
    }

    @Test("Commands complete topics, names and a search's filters")
    func commands() {
        var desk = desk()
        for (typed, whole) in [
            ("/jo", "/join "), ("/join chat.o", "/join chat.ops"), ("/post bo", "/post bob "), ("/msg bo", "/msg bob "),
            ("/post bob/", "/post bob/personal "), ("/post nobody/p", "/post nobody/personal "),
            ("/search from:bo", "/search from:bob"), ("/search plan in:chat.l", "/search plan in:chat.lobby"),
        ] {
            desk.type(typed)
            desk.press(.tab)
            #expect(desk.text == whole)
            desk.press(.control("u"))
        }
    }

    @Test("A name that cannot be typed as one word, or that hides characters, is not offered")
    func hostile() {
        var desk = desk()
        let names = ["bad name", "b\u{1B}[31m", "b\u{202E}ob", "b\nx", String(repeating: "b", count: 300), ""]
        let messages = names.enumerated().map { message(UInt64($0.offset + 10), "x", from: $0.element) }
        desk.receive(messages)
        #expect(desk.model.namesToComplete == ["Bert", "bob", "carol"])
    }

    @Test("Each short name of an emoji stands for one that takes two columns")
    func emoji() {
        #expect(EmojiCode.all.count > 150)
        #expect(Set(EmojiCode.all.map(\.name)).count == EmojiCode.all.count)
        for (name, emoji) in EmojiCode.all {
            #expect(emoji.count == 1 && SafeText(emoji).width == 2, "\(name)")
            #expect(EmojiCode.beginning(with: name[...]).first == emoji, "\(name)")
        }
    }
}
