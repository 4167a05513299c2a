import Relay
import Terminal
import Testing

@testable import Parley

@Suite("The postbox's filter and sort")
struct InboxFilterTests {
    private static func desk() -> Desk {
        Desk.inbox([
            letter(1, "Lunch on Friday?", from: "bob"), letter(2, "The build is green", from: "carol", box: "b2"),
            letter(3, "Straße and 日本", from: "Bob"), letter(4, "lunch again\nwith carol", from: "dave"),
        ])
    }

    @Test(
        "Letters are shown that have all words, in sender, text or postbox, in any case, or in the part that is named",
        arguments: [
            ("bob", ["l1", "l3"]), ("LUNCH", ["l1", "l4"]), ("lunch carol", ["l4"]), ("work", ["l2"]),
            ("日本", ["l3"]), ("straße", ["l3"]), ("s1", []), ("nobody", []), ("is:unr", ["l1", "l2", "l3", "l4"]),
            ("from:bob", ["l1", "l3"]), ("from:carol", ["l2"]), ("FROM:Dave lunch", ["l4"]), ("from:carol lunch", []),
            ("in:work", ["l2"]), ("in:pers from:dave", ["l4"]), ("persona:s1", ["l1", "l2", "l3", "l4"]),
            ("persona:other", []), ("from:", ["l1", "l2", "l3", "l4"]), ("lunch in:", ["l1", "l4"]),
        ] as [(String, [String])])
    func words(text: String, shown: [String]) {
        var desk = Self.desk()
        desk.press(.alt("l"))
        desk.type(text)
        #expect(desk.letterIDs == shown)
        // A longer one is cut.
        if text.count < 16 { #expect(desk.shows("filter: \(text)") && desk.shows("\(shown.count) of 4")) }
        #expect(desk.text.isEmpty && desk.inbox.marked.isEmpty)
        if shown.isEmpty { #expect(desk.shows("No letter matches.")) }
    }

    @Test("A character with any number of marks above it is not looked through to its end")
    func marksAbove() {
        let hostile = "e" + String(repeating: "\u{301}", count: 20_000) + " needle"
        var desk = Desk.inbox([letter(1, hostile, from: "bob", subject: hostile), letter(2, "e needle")])
        desk.press(.alt("l"))
        desk.type("needle")
        #expect(desk.letterIDs == ["l2"])
    }

    @Test("Enter keeps a filter, typing goes to the text again, and Escape ends it")
    func keys() {
        var desk = Self.desk()
        desk.press(.alt("l"))
        #expect(desk.shows("Enter keeps, Esc ends"))
        desk.type("luncx")
        desk.press(.backspace)
        desk.type("h")
        #expect(desk.letterIDs == ["l1", "l4"])
        desk.press(.enter)
        #expect(desk.inbox.open == nil && desk.shows("Esc ends") && !desk.shows("Enter keeps"))
        desk.press(.enter)
        #expect(desk.inbox.open == "l1")
        desk.type("hi")
        #expect(desk.text == "hi" && desk.letterIDs == ["l1", "l4"])
        desk.press(.control("c"), .function(3), .escape)
        #expect(desk.inbox.open == nil && desk.letterIDs == ["l1", "l4"])
        desk.press(.escape)
        #expect(desk.letterIDs == ["l1", "l2", "l3", "l4"] && desk.focus == .main)
        desk.press(.alt("l"))
        desk.paste("green\n")
        #expect(desk.letterIDs == ["l2"] && desk.text.isEmpty)
    }

    /// Answers the portion that is looked through.
    @discardableResult
    private func answer(_ letters: [PostboxMessage], next: String?, _ desk: inout Desk) -> ChatEffects {
        guard let request = desk.inbox.finding?.sweep.request else { return [] }
        var portion = LetterPortion(letters: letters, nextToken: next)
        portion.source = .store
        return desk.send(.postbox(.portion(request: request, portion)))
    }

    private func reads(_ effects: ChatEffects, _ token: String?, from source: LetterPortion.Source?) -> Bool {
        effects.core.contains { effect in
            if case .letters(.readPortion(_, nil, token, source, .newestFirst)) = effect { true } else { false }
        }
    }

    /// The first of several pages, and the letters of all of them: each fifth is about lunch.
    private static func long() -> (desk: Desk, letters: [PostboxMessage]) {
        let letters = (1...250).reversed().map { letter($0, $0.isMultiple(of: 5) ? "Lunch?" : "The build is green.") }
        var desk = Desk.inbox(Array(letters.prefix(19)), next: "t2")
        desk.send(.postbox(.counts(["b1": 250])))
        return (desk, letters)
    }

    @Test("A filter finds letters on every page, and says how far it has looked")
    func everyPage() {
        let (begun, letters) = Self.long()
        var desk = begun
        desk.press(.alt("l"))
        #expect(reads(desk.press(.plain("l")), nil, from: nil))
        // One portion at a time, however quickly somebody types.
        desk.type("unc")
        #expect(!reads(desk.press(.plain("h")), nil, from: nil))
        #expect(desk.letterIDs == ["l250", "l245", "l240", "l235"])
        // What comes for the first letters is looked for no more.
        for token in [nil, "p2"] {
            let effects = answer(Array(letters.prefix(100)), next: "p2", &desk)
            #expect(reads(effects, token, from: .store))
        }
        #expect(desk.letterIDs.count == 20 && desk.shows("20, 100 of 250 looked at"))
        answer(Array(letters[100..<200]), next: "p3", &desk)
        let last = answer(Array(letters[200...]), next: nil, &desk)
        #expect(last == [] && desk.letterIDs == stride(from: 250, through: 5, by: -5).map { "l\($0)" })
        #expect(desk.shows("50 of 250") && desk.shows("postbox ─ filtered"))
        // A letter of another page is read, deleted and marked as any.
        desk.press(.enter, .end, .enter)
        #expect(desk.shows("Lunch?") && desk.inbox.openLetter?.id == "l5")
        desk.press(.insert, .delete)
        #expect(desk.inbox.deletion.contains("l5"))
        // There are no pages to turn; a letter that comes is looked at, too.
        #expect(desk.press(.alt("n")) == [] && desk.notice.contains("no pages"))
        desk.send(.postbox(.created(letter(251, "Lunch again?"))))
        desk.send(.postbox(.created(letter(252, "The build is red."))))
        #expect(desk.letterIDs.first == "l251" && desk.letterIDs.count == 51)
        // Without it the page is back.
        desk.press(.escape, .escape)
        #expect(desk.inbox.filter == nil && desk.letterIDs.first == "l252" && desk.letterIDs.contains("l249"))
    }

    @Test("A portion that was read before a deletion was over is read again, so that nothing is found that is gone")
    func outdated() {
        let (begun, letters) = Self.long()
        var desk = begun
        desk.press(.delete)
        desk.wait(.seconds(5))
        desk.press(.alt("l"), .plain("l"), .enter)
        desk.send(.postbox(.deleted(BulkDeletion(deleted: ["l250"]))))
        var effects = answer(Array(letters.prefix(100)), next: "p2", &desk)
        #expect(reads(effects, nil, from: nil))
        effects = answer(Array(letters[1..<101]), next: "p2", &desk)
        #expect(reads(effects, "p2", from: .store))
        #expect(desk.letterIDs.first == "l249" && !desk.inbox.letters.contains { $0.id == "l250" })
    }

    @Test("A filter that cannot look elsewhere says that it has this page alone")
    func pageAlone() throws {
        var desk = Self.long().desk
        desk.press(.alt("l"), .plain("l"))
        let request = try #require(desk.inbox.finding?.sweep.request)
        desk.send(.postbox(.portionFailed(request: request, .notConnected)))
        #expect(desk.shows(", on this page alone"))
        #expect(reads(desk.press(.plain("u")), nil, from: nil))
    }

    @Test("Letters that were found are bounded, and it says that there are more")
    func tooMany() {
        var desk = Self.long().desk
        desk.press(.alt("l"), .plain("b"))
        for part in 0..<10 {
            let numbers = (part * 100 + 1...part * 100 + 100).reversed()
            answer(numbers.map { letter(2_000 - $0, "build") }, next: "p", &desk)
        }
        #expect(desk.inbox.finding?.end == .full && desk.shows("the first 1,0"))
    }

    @Test("While a filter is typed, the keys that edit a text are for its words and not for the letters")
    func editing() {
        var desk = Self.desk()
        desk.press(.alt("l"))
        desk.type("xlunch")
        desk.press(.control("a"), .delete)
        #expect(desk.shows("filter: lunch") && desk.letterIDs == ["l1", "l4"])
        desk.press(.end)
        desk.type(" carolx")
        desk.press(.alt("b"), .alt("d"))
        #expect(desk.inbox.filter?.editor.text == "lunch ")
        #expect(desk.inbox.sort == .list && desk.inbox.deletion.steps.isEmpty && desk.inbox.marked.isEmpty)
        desk.press(.home)
        #expect(desk.inbox.filter?.editor.cursor == 0 && desk.letterIDs == ["l1", "l4"])
        // The rows are gone through as before.
        desk.press(.down)
        #expect(desk.inbox.selectedLetter?.id == "l4")
    }

    @Test("Keys that mean something everywhere change a filter's words where they stand before them")
    func editingBefore() {
        var desk = Self.desk()
        desk.press(.alt("l"))
        desk.type("lunch")
        desk.press(.control("a"), .alt("u"))
        #expect(desk.inbox.filter?.editor.text == "LUNCH" && desk.notice.isEmpty)
        desk.press(.alt("b"), .right, .control("k"))
        #expect(desk.inbox.filter?.editor.text == "L" && desk.model.palette == nil)
        desk.press(.control("k"))
        #expect(desk.model.palette != nil)
    }

    @Test("What is unread is shown, and an unread letter stays while it is read")
    func unread() {
        var desk = Self.desk()
        desk.press(.enter, .enter, .alt("l"))
        desk.enter("is:unread")
        #expect(desk.letterIDs == ["l2", "l3", "l4"])
        desk.press(.enter)
        desk.send(.postbox(.created(letter(5))))
        #expect(desk.letterIDs == ["l5", "l2", "l3", "l4"] && desk.inbox.selectedLetter?.id == "l2")
        desk.press(.enter, .down)
        desk.send(.postbox(.created(letter(6))))
        #expect(desk.letterIDs == ["l6", "l5", "l3", "l4"])
    }

    @Test("Marks outlive the filter, and all on the page means what is shown")
    func marks() {
        var desk = Self.desk()
        desk.press(.insert, .alt("l"))
        desk.enter("carol")
        desk.press(.control("a"))
        #expect(desk.inbox.marked == ["l1", "l2", "l4"])
        desk.press(.control("a"))
        #expect(desk.inbox.marked == ["l1"])
        desk.press(.escape)
        #expect(desk.screen().count { $0.contains("*") } == 1)
    }

    @Test("The page is sorted by sender, by postbox and by age again, and the cursor stays on its letter")
    func sort() {
        var desk = Self.desk()
        desk.press(.down, .alt("b"))
        #expect(desk.letterIDs == ["l1", "l3", "l2", "l4"] && desk.shows("by sender"))
        #expect(desk.inbox.selectedLetter?.id == "l2")
        desk.press(.alt("b"))
        #expect(desk.letterIDs == ["l1", "l3", "l4", "l2"] && desk.shows("by postbox"))
        // A letter that comes is sorted in.
        desk.send(.postbox(.created(letter(5, box: "b1"))))
        #expect(desk.letterIDs == ["l5", "l1", "l3", "l4", "l2"])
        desk.press(.alt("b"))
        #expect(desk.letterIDs == ["l5", "l1", "l2", "l3", "l4"])
    }

    @Test("A letter's number is that of its row, whatever is filtered, sorted or has come since")
    func numbers() {
        var desk = Self.desk()
        desk.filter("lunch")
        desk.enter("/read 2")
        #expect(desk.shows("lunch again") && desk.shows("from dave"))
        desk.press(.escape)
        desk.enter("/delete 3")
        #expect(desk.overlay == nil && desk.notice == "The list has 2 letters.")
        var sorted = Self.desk()
        sorted.press(.alt("b"))
        sorted.enter("/read 2")
        #expect(sorted.shows("from Bob"))
        var newer = Self.desk()
        newer.send(.postbox(.created(letter(9, "the newest", from: "erin"))))
        newer.enter("/read 1")
        #expect(newer.shows("the newest") && newer.shows("from erin"))
    }

    @Test("B51: where there are several personas, letters are found by theirs")
    func personas() {
        var other = letter(5)
        other.sudoId = "shopping"
        var desk = Desk.inbox([letter(1), other])
        var box = postbox("b2", "work")
        box.sudoId = "shopping"
        desk.send(.postbox(.boxes([postbox("b1", "personal"), box])))
        desk.press(.alt("l"))
        desk.type("shop")
        #expect(desk.letterIDs == ["l5"])
        desk.press(.escape, .alt("l"))
        desk.type("persona:s1")
        #expect(desk.letterIDs == ["l1"])
    }

    @Test("Another postbox begins without a filter")
    func otherBox() {
        var desk = Self.desk()
        desk.press(.alt("l"))
        desk.type("carol")
        desk.press(.function(2), .down, .enter)
        desk.answerPage([letter(1)])
        #expect(desk.letterIDs == ["l1"] && desk.inbox.filter == nil)
    }

    @Test("A filter that was still being typed is kept in another postbox where it says is:unread alone")
    func typedElsewhere() {
        for (text, isKept) in [("is:unread", true), ("is:unread lunch", false), ("is:unr", false)] {
            var inbox = Inbox()
            var filter = Inbox.Filter()
            filter.insert(text)
            inbox.setFilter(filter)
            inbox.reset()
            #expect(inbox.filter?.isUnreadAlone ?? false == isKept, "\(text)")
        }
    }

    @Test("That unread letters alone are shown stays from postbox to postbox")
    func unreadElsewhere() {
        var desk = Self.desk()
        desk.filter("is:unread")
        desk.press(.function(2), .down, .enter)
        desk.send(.postbox(.read(["l1"], counts: nil)))
        desk.answerPage([letter(1), letter(3)])
        #expect(desk.letterIDs == ["l3"] && desk.shows("filter: is:unread"))
        desk.press(.escape)
        #expect(desk.letterIDs == ["l1", "l3"])
    }
}
