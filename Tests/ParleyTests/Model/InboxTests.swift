import Relay
import Terminal
import Testing

@testable import Parley

@Suite("The postbox")
struct InboxTests {
    @Test("B45: pages are walked forwards and backwards by their tokens")
    func pages() {
        var desk = Desk.inbox([letter(1)], next: "t2")
        #expect(desk.press(.alt("n")).isListing(token: "t2"))
        desk.answerPage([letter(2)], next: nil)
        #expect(desk.shows("postbox ─ page 2 of 2 ─"))
        #expect(desk.press(.alt("n")) == [])
        #expect(desk.press(.alt("p")).isListing(token: nil))
        desk.answerPage([letter(1)], next: "t2")
        #expect(desk.shows("page 1, more ▸"))
    }

    @Test("B47: a page is not fetched twice, and a late answer for another view is not shown")
    func noDoubleFetch() throws {
        var desk = Desk.inbox([letter(1)], next: "t2")
        #expect(desk.press(.alt("n")).core.count == 1)
        #expect(desk.press(.alt("n")) == [])
        let stale = try #require(desk.inbox.fetch?.request)
        desk.send(.postbox(.boxes([postbox("b2", "work")])))
        desk.press(.function(2), .down, .down)
        #expect(desk.press(.enter).isListing(token: nil, box: "b2"))
        desk.send(.postbox(.page(request: stale, ListOutput(items: [letter(9)], nextToken: nil))))
        #expect(desk.inbox.letters.isEmpty)
    }

    @Test("B47: what is pressed while a page is on its way is done once it is here")
    func heldKeys() {
        var desk = Desk.joined("chat.lobby")
        desk.press(.function(3), .down)
        #expect(desk.press(.enter) == [])
        desk.answerPage([letter(1), letter(2), letter(3)], next: "t2")
        #expect(desk.inbox.open == "l2")

        #expect(desk.press(.alt("n")).isListing(token: "t2"))
        for key in [Key.alt("n"), Key(.end), Key(.delete)] { desk.press(key) }
        #expect(desk.inbox.selectedLetter?.id == "l2" && desk.inbox.deletion.steps.isEmpty)
        desk.effects = []
        desk.answerPage([letter(4)], next: "t3")
        #expect(desk.effects.isListing(token: "t3"))
        desk.answerPage([letter(5), letter(6)])
        #expect(desk.inbox.deletion.steps.flatMap(\.ids) == ["l6"] && desk.inbox.selectedLetter?.id == "l5")
        #expect(desk.inbox.marked.isEmpty && desk.inbox.held.isEmpty)
    }

    @Test("What is held for a page is bounded, and gone when the page does not come or the person goes on to write")
    func heldIsDropped() throws {
        var desk = Desk.inbox([letter(1)], next: "t2")
        desk.press(.alt("n"))
        for _ in 0..<100 { desk.press(.down) }
        #expect(desk.inbox.held.count == Inbox.heldLimit)
        let request = try #require(desk.inbox.fetch?.request)
        desk.send(.postbox(.pageFailed(request: request, .notConnected)))
        #expect(desk.inbox.held.isEmpty)

        desk.press(.alt("n"), .delete)
        desk.type("yes, a sentence")
        desk.answerPage([letter(2)])
        #expect(desk.overlay == nil && desk.inbox.deletion.run == nil)
        #expect(desk.text == "yes, a sentence")
    }

    @Test("A page that was emptied shows what comes after it")
    func refill() {
        var desk = Desk.inbox([letter(1)], next: "t2")
        desk.press(.delete)
        desk.wait(.seconds(5))
        let effects = desk.send(.postbox(.deleted(BulkDeletion(deleted: ["l1"]))))
        #expect(effects.core.contains { if case .letters(.listPage) = $0 { true } else { false } })
    }

    @Test("A page of which some letters were deleted has as many as before again, where there are others")
    func refillsRows() {
        func deleted(_ count: Int, next: String? = "t2", _ meanwhile: (inout Desk) -> Void = { _ in }) -> Desk {
            var desk = Desk.inbox((1...19).map { letter($0) }, next: next)
            for _ in 0..<count { desk.press(.insert) }
            desk.press(.delete)
            desk.wait(.seconds(5))
            meanwhile(&desk)
            desk.effects = []
            desk.send(.postbox(.deleted(BulkDeletion(deleted: (1...count).map { "l\($0)" }))))
            return desk
        }
        var desk = deleted(12)
        #expect(desk.effects.isListing(token: nil) && desk.inbox.letters.count == 7)
        desk.answerPage((13...31).map { letter($0) }, next: "t3")
        #expect(desk.inbox.letters.count == 19 && desk.screen().count { $0.contains("a letter") } == 19)
        // Letters of many MiB are fewer on a page; there is no use in asking again.
        desk = deleted(12)
        desk.answerPage((13...20).map { letter($0) }, next: "t3")
        #expect(desk.inbox.fetch == nil)
        // Where there are no others, nothing is listed.
        #expect(!deleted(12, next: nil).effects.isListing(token: nil))

        // Whoever reads a letter meanwhile finds the page full on return.
        desk = deleted(12) { $0.press(.function(4)) }
        #expect(!desk.effects.isListing(token: nil))
        #expect(desk.press(.escape).isListing(token: nil))

        // Nobody sees the page's rows while a filter shows letters of all pages.
        desk = deleted(12) { desk in
            desk.filter("letter")
        }
        #expect(!desk.effects.isListing(token: nil))
        #expect(desk.press(.escape).isListing(token: nil))
    }

    @Test("B51: a letter that was not accepted says why and its text is kept")
    func notAccepted() throws {
        var desk = Desk.inbox([])
        desk.press(.tab)
        guard
            case .letters(.post(let id, "bob", "work", nil, "lunch?")) = try #require(
                desk.enter("/post bob/work lunch?").core.first)
        else {
            Issue.record("no letter")
            return
        }
        desk.published(id, .failed(.postboxNotAccepting("bob/work")))
        #expect(desk.text == "/post bob/work lunch?" && desk.notice.contains("does not accept"))
    }

    @Test("A letter that is on the screen stays read, and counts as read once, whatever else was listed as read since")
    func read() {
        var desk = Desk.inbox([letter(1), letter(2)])
        desk.send(.postbox(.counts(["b1": 9_000])))
        desk.press(.enter)
        #expect(desk.inbox.unreadCount(ofBox: "b1") == 8_999)
        for start in stride(from: 1_001, to: 9_000, by: 100) {
            desk.send(.postbox(.read(["l1"], counts: nil)))
            desk.send(.postbox(.read(Set((start..<start + 100).map { "l\($0)" }), counts: nil)))
            #expect(desk.inbox.letters.map { desk.inbox.isUnread($0) } == [false, true])
        }
        desk.press(.enter, .enter)
        #expect(desk.inbox.unreadCount(ofBox: "b1") == 8_999)
    }

    @Test("A sentence that is typed in the postbox is text, and deletes, marks and turns nothing")
    func sentence() {
        var desk = Desk.inbox([letter(1), letter(2)], next: "t2")
        let words = "delete dry rRDdnp *, jk c y"
        desk.type(words)
        #expect(desk.effects == [])
        #expect(desk.text == words && desk.focus == .compose)
        #expect(desk.inbox.marked.isEmpty && desk.inbox.selected == 0 && desk.overlay == nil)
        // What is half written goes on after a look at the letters, with a space too.
        desk.press(.function(3), .down)
        desk.type(" more")
        #expect(desk.text == words + " more")
        #expect(desk.inbox.marked.isEmpty && desk.inbox.selected == 1)
        desk.press(.function(3), .insert)
        #expect(desk.inbox.marked == ["l2"])
    }

    @Test(
        "Alt-r begins a reply to the sender, without what a hostile name could smuggle in; what follows is the letter")
    func reply() {
        var hostile = Desk.inbox([letter(1, from: "bo b\n\u{1B}[2J/home")])
        hostile.press(.alt("r"))
        #expect(hostile.text == "/post bob[2J/home " && hostile.focus == .compose)
        var desk = Desk.inbox([letter(1, from: "bob")])
        desk.press(.alt("r"))
        #expect(desk.enter("twelve is fine").letters == ["bob/personal: twelve is fine"])
    }

    @Test("New letters come at the top and count")
    func created() {
        var desk = Desk.inbox([letter(1)])
        desk.send(.postbox(.counts(["b1": 1])))
        #expect(desk.send(.postbox(.created(letter(2)))) == [.letters(.count)])
        desk.send(.postbox(.created(letter(2))))
        #expect(desk.letterIDs == ["l2", "l1"])
        #expect(desk.top.hasSuffix("✉ 2"))
    }

    @Test("B54: letters count until they are read, here or earlier on this machine")
    func unread() {
        var desk = Desk.inbox([letter(1), letter(2), letter(3, box: "b2")])
        desk.send(.postbox(.counts(["b1": 2, "b2": 1])))
        #expect(desk.top.hasSuffix("✉ 3"))
        desk.press(.enter)
        #expect(desk.top.hasSuffix("✉ 2"))
        desk.press(.enter, .enter)
        #expect(desk.top.hasSuffix("✉ 2"))
        // What was read stays read when it is deleted, and when all is counted anew.
        desk.press(.delete)
        desk.wait(.seconds(5))
        desk.send(.postbox(.deleted(BulkDeletion(deleted: ["l1"]))))
        desk.send(.postbox(.counts(["b1": 1, "b2": 1])))
        #expect(desk.top.hasSuffix("✉ 2"))
        #expect(desk.screen().contains { $0.hasPrefix("  personal") && $0.contains(" 1 │") })

        desk.send(.postbox(.read(["l3"], counts: ["b2": 1])))
        #expect(desk.top.hasSuffix("✉ 1"))
        #expect(desk.screen().count { $0.contains("•") } == 1)
        // More read than there are, as when another machine has deleted some, is no negative number.
        desk.send(.postbox(.read([], counts: ["b1": 9])))
        #expect(desk.top.hasSuffix("✉ 1"))
    }

    @Test("What is read is kept as that where there is a local store")
    func readIsKept() {
        var desk = Desk.inbox([letter(1), letter(2)])
        #expect(desk.press(.enter) == [])
        desk.model.network.keepsDesk = true
        #expect(desk.press(.down) == [.letters(.keepRead(id: "l2", postbox: "b1"))])
        #expect(desk.press(.up) == [])
    }

    @Test("B48: without a connection the postbox shows what is kept, says as of when, and lists again when connected")
    func keptPage() throws {
        var desk = Desk.joined("chat.lobby", size: Size(rows: 24, columns: 120), state: .reconnecting)
        desk.press(.function(3))
        let request = try #require(desk.inbox.fetch?.request)
        let page = ListOutput(items: [letter(1, "kept here")], nextToken: "t2")
        desk.send(.postbox(.keptPage(request: request, KeptLetters(page: page, asOf: Desk.wall, counts: ["b1": 3]))))
        #expect(desk.shows("kept here"))
        let stamp = CivilTime(Desk.wall, zone: desk.model.zone).shortStamp.drop { $0 == " " }
        #expect(desk.shows("page 1 of about 2 ─ offline, as of \(stamp)"))
        #expect(desk.model.unreadLetters == 3)
        #expect(desk.press(.alt("n")).isListing(token: "t2"))
        let next = try #require(desk.inbox.fetch?.request)
        desk.send(.postbox(.keptPage(request: next, KeptLetters(page: page, asOf: nil))))
        #expect(desk.becomes(.connected).isListing(token: "t2"))
        desk.answerPage([letter(2, "from the network")])
        #expect(!desk.shows("offline"))
    }

    @Test("A failed list says why, and is tried again when connected")
    func failedList() throws {
        var desk = Desk.joined("chat.lobby", state: .reconnecting)
        desk.press(.function(3))
        let request = try #require(desk.inbox.fetch?.request)
        desk.send(.postbox(.pageFailed(request: request, .notConnected)))
        #expect(desk.shows("✗ No letter is kept on this machine, and there is no"))
        #expect(desk.becomes(.connected).isListing(token: nil))
    }
}

extension ChatEffects {
    /// Whether a page is asked for with this token and postbox.
    func isListing(token: String?, box: String? = nil, order: LetterOrder = .newestFirst) -> Bool {
        core.contains { effect in
            guard case .letters(.listPage(_, box, token, _, order)) = effect else { return false }
            return true
        }
    }
}
