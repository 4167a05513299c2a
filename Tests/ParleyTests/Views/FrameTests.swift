import Relay
import Terminal
import Testing

@testable import Parley

@Suite("Frames")
struct FrameTests {
    @Test("B53: hostile text in every remote place moves nothing and reorders nothing")
    func hostile() {
        let attack = "\u{1B}[2J\u{1B}]0;pwned\u{7}\u{9B}5n\u{202E}evil\u{2066}\r\u{8}\u{0}"
        var desk = Desk.inbox([letter(1, attack, from: attack, box: attack)])
        desk.send(.postbox(.boxes([postbox("b1", attack)])))
        desk.press(.enter)
        let postboxScreen = desk.screen()
        desk.receive([message(1, attack, from: attack, id: attack)])
        desk.send(.topic("chat.lobby", .failed(.server(code: 1, attack))))
        desk.becomes(.disconnected, .kicked(by: attack))
        desk.press(.escape, .alt("a"))
        for screen in [postboxScreen, desk.screen()] {
            #expect(screen.isHarmless && screen.contains { $0.contains("evil") })
        }
    }

    @Test("A name takes at most a sixth of the pane, wide characters counted as two")
    func names() {
        var desk = Desk.joined("chat.lobby", size: Size(rows: 10, columns: 120))
        let long = String(repeating: "名", count: 40)
        desk.receive([message(1, "text", from: long), message(2, "other", from: "bob")])
        #expect(desk.screen().contains { $0.hasSuffix("│ 10:00  名名名…名名名名  text") })
        let blanks = String(repeating: " ", count: 14)
        #expect(desk.screen().contains { $0.hasSuffix("│ 10:00  bob\(blanks)other") })
        for columns in [20, 40, 60, 80, 200] {
            let pane = columns >= ScreenLayout.sidebarFrom ? columns - (columns >= 100 ? 25 : 21) : columns
            let cut = desk.conversation("chat.lobby")?.nameColumns(in: pane)
            #expect(cut == min(Conversation.nameColumnLimit, max(4, pane / 6)))
        }
    }

    @Test(
        "Names that are cut stay apart",
        arguments: [
            (["christopher-anderson", "christopher-andrews"], 9, ["chri…rson", "chri…rews"]),
            (["server-eu-1", "server-eu-2", "server-us-1"], 8, ["serv…u-1", "serv…u-2", "serv…s-1"]),
            // The middle alone tells these apart.
            (["team-alpha-bot", "team-gamma-bot"], 8, ["t…alpha-", "t…gamma-"]),
            (["bob", "alice"], 4, ["bob", "al…e"]), (["", "名前の長い人"], 6, ["", "名…人"]),
        ])
    func namesApart(names: [String], columns: Int, shown: [String]) {
        var book = NameBook()
        for name in names { book.meet(name) }
        let cut = NameCut(columns: columns, others: book.long)
        let texts = names.map { cut.text(NameBook.shown($0)) }
        #expect(texts.map(\.description) == shown)
        #expect(texts.allSatisfy { $0.width <= columns })
    }

    @Test("Topics of which the list has no room for the whole name stay apart, whatever stands beside them")
    func topicsApart() {
        let topics = ["backend", "frontend", "mobile"].map { "projects.parley.\($0).alerts" }
        for columns in [120, 100, 80, 60] {
            var desk = Desk(size: Size(rows: 24, columns: columns))
            desk.send(.start(topics: topics + ["chat.lobby"]))
            desk.receive([message(1, "alice: look", topic: topics[1])], in: topics[1])
            desk.send(.topic(topics[2], .failed(.notConnected)))
            let list = desk.screen().filter { $0.contains("│") }.map { String($0.prefix { $0 != "│" }) }
            for part in ["backend", "frontend", "mobile"] {
                #expect(list.count { $0.contains(part) } == 1, "\(part) at \(columns) in \(list)")
            }
            #expect(list.contains { $0.contains("@1 1") } && list.contains { $0.contains("✗") })
            #expect(list.contains { $0.hasPrefix(" chat.lobby ") })
        }
    }

    @Test("Any number of names, however long, costs a bounded number of them")
    func manyNames() {
        var book = NameBook()
        for number in 0..<2_000 { book.meet("somebody-with-a-name-\(number)") }
        book.meet(String(repeating: "long", count: 30_000))
        #expect(book.long.count == NameBook.limit && book.widest == NameBook.characterLimit)
    }

    @Test("A thousand topics scroll, with the cursor always in view")
    func thousandTopics() {
        var desk = Desk(size: Size(rows: 24, columns: 80))
        desk.send(.start(topics: (0..<1000).map { "room.\($0)" }))
        desk.press(.function(2), .end)
        for _ in 0..<30 { desk.press(.up) }
        let frame = render(desk.model, size: desk.model.size, now: desk.model.now.instant)
        let row = frame.cursor?.row ?? 0
        #expect(frame.text(row: row).hasPrefix(" room.970 "))
        #expect(desk.press(.enter) == [])
        #expect(desk.view == .conversation("room.970"))
        #expect(desk.screen().contains { $0.hasPrefix("▌room.970") })
    }

    @Test("On a narrow screen F2 shows the topics in the main pane's place")
    func narrowSidebar() {
        var desk = Desk.joined("chat.lobby", "chat.qa", size: Size(rows: 12, columns: 40))
        #expect(!desk.shows("TOPICS"))
        desk.press(.function(2))
        #expect(desk.shows("TOPICS"))
        desk.press(.down, .enter)
        #expect(desk.view == .conversation("chat.qa"))
        #expect(!desk.shows("TOPICS"))
    }

    @Test("F5 folds the topics away; while they have the keys they are there, and Tab leaves them out")
    func folded() {
        var desk = Desk.joined("chat.lobby", "chat.qa")
        let before = desk.screen()
        desk.press(.function(5))
        #expect(desk.screen()[1].hasPrefix("── chat.lobby ─"))
        #expect(!desk.screen().contains { $0.contains("│") || $0.contains("┴") || $0.contains("TOPICS") })
        desk.press(.tab)
        #expect(desk.focus == .main)
        desk.press(.backTab)
        #expect(desk.focus == .compose)
        desk.press(.function(2))
        #expect(desk.screen()[1].hasPrefix(" TOPICS             │── chat.lobby ─"))
        desk.press(.down, .enter)
        #expect(desk.view == .conversation("chat.qa"))
        #expect(!desk.shows("TOPICS"))
        desk.press(.function(2), .function(5))
        #expect(desk.focus == .compose && desk.shows("TOPICS"))
        desk.press(.alt("1"))
        #expect(desk.screen() == before)
    }

    @Test("On a narrow screen, where the topics are never beside the text, F5 says so")
    func foldedNarrow() {
        var desk = Desk.joined("chat.lobby", size: Size(rows: 12, columns: 40))
        desk.press(.function(5))
        #expect(desk.bottom.contains("The topics have no room beside"))
        desk.send(.resized(Size(rows: 24, columns: 80)))
        #expect(desk.shows("TOPICS"))
    }

    @Test("Every size shows the status and the text being written as long as anything fits", arguments: 5...24)
    func degradation(rows: Int) {
        for columns in 20...80 {
            let size = Size(rows: rows, columns: columns)
            var desk = Desk.joined("chat.lobby", size: size)
            desk.type("abc")
            let screen = desk.screen()
            #expect(screen.first?.contains("● CONNECTED") == true)
            #expect(screen.contains { $0.contains("> abc") })
        }
    }

    @Test("The mouse selects topics and letters, marks, and scrolls")
    func mouse() {
        var desk = Desk.inbox((1...30).map { letter($0) })
        desk.click(row: 3, column: 40)
        #expect(desk.inbox.selected == 1)
        desk.click(row: 3, column: 40)
        #expect(desk.inbox.open == "l2")
        desk.press(.escape)
        desk.click(row: 4, column: 22)
        #expect(desk.inbox.marked == ["l3"])
        desk.send(.input(.mouse(MouseEvent(kind: .scrollDown, button: .none, row: 5, column: 40))))
        #expect(desk.inbox.selected == 5)
        desk.click(row: 2, column: 3)
        #expect(desk.view == .conversation("chat.lobby"))
        #expect(desk.focus == .compose)
        desk.receive((1...60).map { message($0, "m\($0)") })
        desk.send(.input(.mouse(MouseEvent(kind: .scrollUp, button: .none, row: 5, column: 40))))
        #expect(desk.bottom.hasSuffix("↓ 3 below"))
    }

    @Test("Inside a long message the bottom line counts the lines below")
    func longMessage() {
        var desk = Desk.joined("chat.lobby")
        let text = (1...100).map { "line \($0)" }.joined(separator: "\n")
        desk.receive([message(1, "short"), message(2, text)])
        desk.send(.input(.mouse(MouseEvent(kind: .scrollUp, button: .none, row: 5, column: 40))))
        #expect(desk.bottom.hasSuffix("↓ 3 lines"))
    }

    @Test("A name keeps its colour")
    func nameColour() {
        #expect(Theme.standard.style(ofName: "bob") == Theme.standard.style(ofName: "bob"))
        let colours = Set(["bob", "carol", "dave", "erin", "frank"].map { Theme.standard.style(ofName: $0) })
        #expect(colours.count > 1)
    }
}

extension Desk {
    mutating func click(row: Int, column: Int) {
        send(.input(.mouse(MouseEvent(kind: .press, button: .left, row: row, column: column))))
    }
}
