import Platform
import Relay
import Terminal
import TestSupport
import Testing

@testable import Parley

@Suite("What is done with a letter")
struct LetterTests {
    @Test("Alt-q and /reply begin a reply with what the letter says, and the answer goes below it")
    func quote() {
        var desk = Desk.inbox([letter(1, "When?\nAt noon, or\u{1B}[2J later.", from: "bob")])
        desk.press(.alt("q"))
        #expect(desk.text == "/post bob/personal > When?\n> At noon, or[2J later.\n\n")
        #expect(desk.enter("Noon.").letters == ["bob/personal: > When?\n> At noon, or[2J later.\n\nNoon."])
        // The list has the keys again, and so it has behind a letter that was written by hand or saved.
        #expect(desk.focus == .main && desk.text.isEmpty)
        desk.enter("/post carol hello")
        #expect(desk.focus == .main)
        desk.press(.alt("s"), .enter)
        #expect(desk.focus == .main)
        var long = Desk.inbox([letter(1, (1...99).map { "line \($0)" }.joined(separator: "\n"))])
        long.enter("/reply")
        #expect(long.text.hasPrefix("/post bob/personal > line 1\n"))
        #expect(long.text.contains("> line 40 …\n\n") && !long.text.contains("line 41"))
        #expect(long.notice == "The quotation is cut: it has the first 40 lines of 99.")
    }

    @Test("Alt-f sends a letter on: its address is asked for, and it is not sent without one")
    func forward() {
        var desk = Desk.inbox([letter(1, "The notes.", from: "bob")])
        desk.press(.alt("f"))
        #expect(desk.text.hasPrefix("/post \n\nForwarded: from bob to b1, "))
        #expect(desk.notice == "To whom? Write USER/POSTBOX here.")
        #expect(desk.press(.enter) == [])
        #expect(desk.notice.contains("/post USER[/POSTBOX] [TEXT]"))
        let whole = letter(1, "The notes.", from: "bob").forwarded(under: nil)
        #expect(desk.enter("carol/work").letters == ["carol/work: \(whole)"])
        // What is being written is not lost to it.
        desk.type("half a line")
        desk.press(.function(3), .alt("f"))
        #expect(desk.text == "half a line")
    }

    @Test("A letter that is sent on keeps its subject, marked once; words that are added to it stand above it")
    func forwardedWithWords() {
        let sent = letter(1, "See below.", subject: "Figures")
        // Alone, behind the address, and on the free line below it.
        for (behind, below) in [("", ""), (" Please look", ""), ("", "Please look")] {
            var desk = Desk.inbox([sent])
            desk.press(.alt("f"))
            desk.type("carol/work" + behind)
            if !below.isEmpty {
                desk.press(.down)
                desk.type(below)
            }
            let body = sent.forwarded(under: behind.isEmpty && below.isEmpty ? nil : "Please look")
            #expect(desk.press(.enter).letters == ["carol/work [Fwd: Figures]: \(body)"])
        }
    }

    @Test("What a letter is about stands in its row, above it, where it is read whole, and in what is sent on")
    func subject() {
        var desk = Desk.inbox([letter(1, "See below.", subject: "The\nfigures"), letter(2, "none")])
        #expect(desk.shows("The figures · See below."))
        desk.press(.enter)
        #expect(desk.shows("10:01 · The figures"))
        desk.press(.function(4))
        #expect(desk.shows("from bob in personal, 21 Nov 10:01 · The figures"))
        desk.press(.escape, .alt("l"))
        desk.type("figures")
        #expect(desk.letterIDs == ["l1"])
        desk.press(.enter, .alt("f"))
        #expect(desk.text.hasPrefix("/post \n\nSubject: Fwd: The figures\nForwarded: from bob to b1, "))
    }

    @Test(
        "A letter that is written says what it is about before a stroke, or in its first line",
        arguments: [
            ("Twelve?", nil, "Twelve?"), ("Subject: Lunch | Twelve?", "Lunch", "Twelve?"),
            ("SUBJECT:  Lunch now  |  Twelve?\nOr one?", "Lunch now", "Twelve?\nOr one?"),
            ("Subject: Lunch\n\nTwelve? | or one", "Lunch", "Twelve? | or one"),
            ("Subject: a|b | c", "a|b", "c"), ("Subject: | Subject: x", nil, "Subject: x"),
            ("The Subject: x | y", nil, "The Subject: x | y"),
        ] as [(String, String?, String)])
    func split(letter: String, subject: String?, text: String) {
        #expect(LetterSubject.split(letter).subject == subject)
        #expect(LetterSubject.split(letter).text == text)
        let again = LetterSubject.split(LetterSubject.joined(subject, text))
        #expect(again.subject == subject && again.text == text)
    }

    @Test("A subject of another's is written as one line that is taken apart as it was put together")
    func hostileSubject() {
        // Where nothing parts the two it is all subject.
        #expect(LetterSubject.split("subject:Lunch |Twelve?").text.isEmpty)
        let written = LetterSubject.joined("a | b\nc\u{1B}[2J", "text")
        #expect(LetterSubject.split(written).text == "text" && !written.contains("\u{1B}"))
        #expect(LetterSubject.split(written).subject?.hasPrefix("a / b c") == true)
    }

    @Test("/post sends a letter with its subject, and one that is not accepted comes back with it")
    func post() {
        var desk = Desk.joined("chat.lobby")
        let command = "/post bob/work Subject: Lunch | Twelve?"
        #expect(desk.enter(command).letters == ["bob/work [Lunch]: Twelve?"])
        desk.published("own-1", .failed(.postboxNotAccepting("bob/work")))
        #expect(desk.text == command)
        desk.press(.control("c"))
        // What has a subject and no text, or too long a subject, stays and says why.
        let long = "/post bob/work Subject: \(String(repeating: "x", count: 257)) | text"
        for (typed, words) in [
            ("/post bob/work Subject: Lunch", "Write it as /post USER/POSTBOX Subject: WORDS | TEXT"),
            (long, "The subject has 257 bytes, it can have 256."),
        ] {
            #expect(desk.enter(typed) == [] && desk.text == typed && desk.notice == words)
            desk.press(.control("c"))
        }
    }

    @Test("A reply is about the same, marked once, and the answer is typed behind it")
    func replySubject() {
        var desk = Desk.inbox([
            letter(1, "Twelve?", subject: "Lunch"), letter(2, "One?", subject: "re: Lunch | Friday"),
        ])
        desk.press(.alt("r"))
        #expect(desk.text == "/post bob/personal Subject: Re: Lunch | ")
        #expect(desk.enter("Yes.").letters == ["bob/personal [Re: Lunch]: Yes."])
        desk.press(.function(3), .down, .alt("q"))
        #expect(desk.text == "/post bob/personal Subject: re: Lunch / Friday\n> One?\n\n")
        #expect(desk.enter("No.").letters == ["bob/personal [re: Lunch / Friday]: > One?\n\nNo."])
    }

    @Test("What a letter that is sent on contains is no subject of it, and comes back as it was")
    func containedSubject() {
        let text = "Forwarded: from bob to b1\n\nSubject: Lunch\nForwarded: from carol to b1\n\nTwelve?"
        #expect(LetterSubject.split(text).subject == nil && LetterSubject.split(text).text == text)
        let pasted = "Look\nSubject: Lunch\nForwarded: from carol to b1\n\nTwelve?"
        #expect(LetterSubject.split(pasted).subject == "Lunch")
        let again = LetterSubject.split(LetterSubject.joined(nil, pasted))
        #expect(again.subject == nil && again.text == pasted)
    }

    @Test("A letter that was begun is there after the next start, its subject too")
    func draft() {
        let begun = "/post bob/personal Subject: Lunch | Twel"
        var desk = Desk.inbox([letter(1)])
        desk.model.network.keepsDesk = true
        desk.press(.alt("c"), .control("u"))
        desk.paste(begun)
        #expect(desk.effects.contains(.store(.keepDraft(Draft(text: begun)))))

        var again = Desk.opened(KeptDesk(topics: ["chat.lobby"], drafts: ["": begun]))
        again.press(.function(3))
        again.answerPage([letter(1)])
        #expect(again.text == begun)
        again.model.screen.focus = .compose
        #expect(again.enter("ve?").letters == ["bob/personal [Lunch]: Twelve?"])
    }

    @Test("Without a connection a letter waits, says so, and is handed over once")
    func offline() {
        var desk = Desk.joined("chat.lobby", state: .reconnecting)
        #expect(desk.enter("/post bob/work Subject: Lunch | Twelve?").letters == ["bob/work [Lunch]: Twelve?"])
        #expect(desk.bottom.contains("The letter to bob/work goes when connected."))
        #expect(desk.screen()[0].contains("⇅ 1") && desk.text.isEmpty)
        desk.becomes(.connected)
        #expect(desk.published("own-1", .acknowledged(sequence: 4)).letters.isEmpty)
        #expect(desk.bottom.contains("✓ bob/work has the letter.") && desk.screen()[0].contains("⇅ 0"))
    }

    @Test("A letter is saved under the name that is proposed, or another; over a file only after a question")
    func save() {
        var desk = Desk.inbox([letter(1, "one"), letter(2, "two", from: "carol")])
        desk.press(.alt("s"))
        #expect(desk.text == "/save \(letter(1, "one").fileName)")
        #expect(
            desk.press(.enter) == [.letters(.save(text: "one", path: letter(1, "one").fileName, overwrites: false))])
        desk.press(.function(3), .down)
        #expect(desk.enter("/save a b.txt") == [.letters(.save(text: "two", path: "a b.txt", overwrites: false))])
        desk.send(.postbox(.saving(.isThere(text: "two", path: "a b.txt"))))
        #expect(desk.bottom.hasPrefix(" a b.txt is there already. Write over it? y/N"))
        #expect(desk.press(.enter) == [])
        desk.send(.postbox(.saving(.isThere(text: "two", path: "a b.txt"))))
        #expect(desk.press(.plain("y")) == [.letters(.save(text: "two", path: "a b.txt", overwrites: true))])
        desk.send(.postbox(.saving(.saved(path: "a b.txt"))))
        #expect(desk.notice == "Saved as a b.txt.")
        desk.send(.postbox(.saving(.failed("no room"))))
        #expect(desk.model.notices.shown?.kind == .failure)
        var elsewhere = Desk.joined("chat.lobby")
        #expect(elsewhere.enter("/save x") == [])
        #expect(elsewhere.notice.hasPrefix("Open the postbox first"))
    }

    @Test("/save writes the letter that is read: a sent one, a found one, and never another behind it")
    func saveRead() {
        var desk = Desk.inbox([letter(1, "received")])
        desk.enter("/sent")
        let sent = KeptLetter(
            direction: .sent, id: "s1", person: "bob", postbox: "personal", time: Desk.wall, text: "sent")
        desk.send(.postboxes(.sent([sent])))
        desk.press(.enter)
        #expect(desk.enter("/save x") == [.letters(.save(text: "sent", path: "x", overwrites: false))])
        desk.press(.function(3))
        desk.enter("/search found")
        let found = KeptLetter(
            direction: .received, id: "l9", person: "carol", postbox: "b1", time: Desk.wall, text: "found")
        desk.answer([.letter(found)])
        #expect(desk.enter("/save x") == [])
        desk.enter("/open 1")
        let name = LetterFile.name(of: "carol", at: Desk.wall)
        #expect(desk.enter("/save") == [.letters(.save(text: "found", path: name, overwrites: false))])
        // A search keeps the beginning of a long letter, which is not passed off as all of it.
        desk.enter("/search long")
        var long = found
        long.text = String(repeating: "x", count: 20_000)
        desk.answer([FoundItem(.letter(long))])
        desk.enter("/open 1")
        #expect(desk.enter("/save x") == [])
        #expect(desk.notice.contains("only the letter's beginning"))
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
