import Relay
import Terminal
import Testing

@testable import Parley

@Suite("The first steps")
struct TourTests {
    private static func first(_ desk: KeptDesk? = KeptDesk(), size: Size = Size(rows: 24, columns: 80)) -> Desk {
        .opened(desk, named: ["chat.lobby"], size: size, state: .connected)
    }

    private func title(_ desk: Desk) -> String? {
        desk.screen().first { $0.contains("First steps:") }.map { row in
            row.firstMatch(of: /(\d) of 4/).map { String($0.1) } ?? "?"
        }
    }

    @Test("Who is here for the first time is led through four steps, each of which goes when it was done")
    func steps() {
        var desk = Self.first()
        #expect(title(desk) == "1" && desk.shows("Write something below and press Enter."))
        desk.enter("hello")
        #expect(title(desk) == "2" && desk.shows("^G goes anywhere"))
        desk.press(.control("g"))
        #expect(title(desk) == nil)
        desk.press(.escape)
        #expect(title(desk) == "3" && desk.shows("F1 shows all keys"))
        desk.press(.function(1), .escape)
        #expect(title(desk) == "4")
        #expect(desk.shows("F9: break the connection and see what happens."))
        desk.press(.function(9))
        #expect(title(desk) == nil && desk.model.screen.tour == nil)
        desk.press(.plain("n"))
        #expect(title(desk) == nil)
    }

    @Test("Escape ends them, and does what it does besides")
    func escape() {
        var desk = Self.first()
        desk.press(.backTab, .escape)
        #expect(title(desk) == nil && desk.focus == .compose)
        desk.enter("hello")
        #expect(title(desk) == nil)
    }

    @Test("Who was here before sees none of it, nor does who keeps nothing")
    func notAgain() {
        for kept in [
            KeptDesk(topics: ["chat.lobby"]), KeptDesk(lines: [KeptLine("hello")]), KeptDesk(drafts: ["": "hel"]), nil,
        ] {
            #expect(title(Self.first(kept)) == nil)
        }
    }

    @Test("They leave room for the conversation, and a small screen is without them")
    func room() {
        for size in [Size(rows: 24, columns: 80), Size(rows: 12, columns: 40), Size(rows: 5, columns: 20)] {
            var desk = Self.first(size: size)
            desk.receive([message(1, "the newest")])
            #expect(desk.screen().contains { $0.hasSuffix("the newest") }, "\(size)")
        }
        #expect(title(Self.first(size: Size(rows: 5, columns: 20))) == nil)
    }

    @Test("They name the keys as they are, and wait for nothing where a step has none")
    func keys() throws {
        var desk = Self.first()
        desk.model.settings.keys = try KeyMap([
            .init(name: "quick-switch", sequences: [try KeySequence(parsing: "Alt-g")]),
            .init(name: "help", sequences: []), .init(name: "open-lab", sequences: []),
        ])
        desk.enter("hello")
        #expect(desk.shows("Alt-g goes anywhere"))
        desk.press(.alt("g"))
        #expect(desk.model.screen.tour == nil)
    }
}
