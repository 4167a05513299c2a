import Relay
import Terminal
import TestSupport
import Testing

@testable import Parley

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

@Suite("What is done with a letter")
struct LetterTests {
    @Test("Alt-q begins a reply with what the letter says, and the answer goes below it")
    func quote() {
        var desk = Desk.inbox([letter(1, "When?\nAt noon, or\u{1B}[2J later.", from: "bob")])
        desk.press(.alt("q"))
        #expect(desk.model.compose.text == "/post bob/personal > When?\n> At noon, or[2J later.\n\n")
        guard case .postLetter(_, "bob", "personal", let text)? = desk.enter("Noon.").first else {
            Issue.record("no letter: \(desk.model.notice?.text ?? "")")
            return
        }
        #expect(text == "> When?\n> At noon, or[2J later.\n\nNoon.")
        var long = Desk.inbox([letter(1, (1...99).map { "line \($0)" }.joined(separator: "\n"))])
        long.press(.alt("q"))
        #expect(long.model.compose.text.contains("> line 40 …\n\n") && !long.model.compose.text.contains("line 41"))
    }

    @Test("Alt-f sends a letter on: its address is asked for, and it is not sent without one")
    func forward() {
        var desk = Desk.inbox([letter(1, "The notes.", from: "bob")])
        desk.press(.alt("f"))
        #expect(desk.model.compose.text.hasPrefix("/post \n\nForwarded: from bob to b1, "))
        #expect(desk.model.notice?.text == "To whom? Write USER/POSTBOX here.")
        #expect(desk.press(.enter) == [])
        #expect(desk.model.notice?.text.contains("/post USER/POSTBOX TEXT") == true)
        desk.type("carol/work")
        guard case .postLetter(_, "carol", "work", let text)? = desk.press(.enter).first else {
            Issue.record("no letter: \(desk.model.notice?.text ?? "")")
            return
        }
        #expect(text == letter(1, "The notes.", from: "bob").forwarded(under: nil))
        // What is being written is not lost to it.
        desk.type("half a line")
        desk.press(.function(3))
        desk.press(.alt("f"))
        #expect(desk.model.compose.text == "half a line")
    }

    @Test("What a letter is about stands in its row, above it, where it is read whole, and in what is sent on")
    func subject() {
        var desk = Desk.inbox([letter(1, "See below.", subject: "The\nfigures"), letter(2, "none")])
        func shows(_ words: String) -> Bool { desk.screen().contains { $0.contains(words) } }
        #expect(shows("The figures · See below."))
        desk.press(.enter)
        #expect(shows("10:01 · The figures"))
        desk.press(.function(4))
        #expect(shows("from bob in personal, 21 Nov 10:01 · The figures"))
        desk.press(.escape)
        desk.press(.alt("l"))
        desk.type("figures")
        #expect(desk.model.inbox.letters.map(\.id) == ["l1"])
        desk.press(.enter)
        desk.press(.alt("f"))
        #expect(desk.model.compose.text.hasPrefix("/post \n\nAbout: Fwd: The figures\nForwarded: from bob to b1, "))
    }

    @Test("A letter is saved under the name that is proposed, or another; over a file only after a question")
    func save() {
        var desk = Desk.inbox([letter(1, "one"), letter(2, "two", from: "carol")])
        desk.press(.alt("s"))
        #expect(desk.model.compose.text == "/save \(letter(1, "one").fileName)")
        #expect(
            desk.press(.enter) == [.saveLetter(text: "one", path: letter(1, "one").fileName, overwrites: false)])
        desk.press(.function(3))
        desk.press(.down)
        #expect(desk.enter("/save a b.txt") == [.saveLetter(text: "two", path: "a b.txt", overwrites: false)])
        desk.send(.postbox(.saving(.isThere(text: "two", path: "a b.txt"))))
        #expect(desk.screen().last?.hasPrefix(" a b.txt is there already. Write over it? y/N") == true)
        #expect(desk.press(.enter) == [])
        desk.send(.postbox(.saving(.isThere(text: "two", path: "a b.txt"))))
        #expect(desk.press(.character("y")) == [.saveLetter(text: "two", path: "a b.txt", overwrites: true)])
        desk.send(.postbox(.saving(.saved(path: "a b.txt"))))
        #expect(desk.model.notice?.text == "Saved as a b.txt.")
        desk.send(.postbox(.saving(.failed("no room"))))
        #expect(desk.model.notice?.kind == .failure)
        var elsewhere = Desk.joined("chat.lobby")
        #expect(elsewhere.enter("/save x") == [])
        #expect(elsewhere.model.notice?.text.hasPrefix("Open the postbox first") == true)
    }

    @Test("/save writes the letter that is read: a sent one, a found one, and never another behind it")
    func saveRead() {
        var desk = Desk.inbox([letter(1, "received")])
        desk.enter("/sent")
        let sent = KeptLetter(
            direction: .sent, id: "s1", person: "bob", postbox: "personal", time: Desk.wall, text: "sent")
        desk.send(.postboxes(.sent([sent])))
        desk.press(.enter)
        #expect(desk.enter("/save x") == [.saveLetter(text: "sent", path: "x", overwrites: false)])
        desk.press(.function(3))
        desk.enter("/search found")
        let found = KeptLetter(
            direction: .received, id: "l9", person: "carol", postbox: "b1", time: Desk.wall, text: "found")
        desk.answer([.letter(found)])
        #expect(desk.enter("/save x") == [])
        desk.enter("/open 1")
        let name = LetterFile.name(of: "carol", at: Desk.wall)
        #expect(desk.enter("/save") == [.saveLetter(text: "found", path: name, overwrites: false)])
        // A search keeps the beginning of a long letter, which is not passed off as all of it.
        desk.enter("/search long")
        var long = found
        long.text = String(repeating: "x", count: 20_000)
        desk.answer([FoundItem(.letter(long))])
        desk.enter("/open 1")
        #expect(desk.enter("/save x") == [])
        #expect(desk.model.notice?.text.contains("only the letter's beginning") == true)
    }

    @Test("A file that is there stays until it is written over whole; links and folders are never written over")
    func files() throws {
        let folder = try TemporaryDirectory()
        let path = folder.path("letter.txt")
        #expect(LetterFile.save("one", to: path, overwrites: false) == .saved(path: path))
        #expect(LetterFile.save("two", to: path, overwrites: false) == .isThere(text: "two", path: path))
        #expect(try String(contentsOfFile: path, encoding: .utf8) == "one")
        #expect(LetterFile.save("two", to: path, overwrites: true) == .saved(path: path))
        #expect(try String(contentsOfFile: path, encoding: .utf8) == "two")
        #expect(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int == 0o600)
        let link = folder.path("link.txt")
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: folder.path("elsewhere"))
        for taken in [link, folder.path, folder.path("none/letter.txt")] {
            guard case .failed = LetterFile.save("x", to: taken, overwrites: false) else {
                Issue.record("\(taken) was taken")
                continue
            }
        }
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() == ["letter.txt", "link.txt"])
    }
}
