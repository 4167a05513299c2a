import Relay
import Terminal
import Testing

@testable import Parley

@Suite("The postbox on the screen")
struct InboxViewTests {
    private static let words = "A sentence of some length that goes on and on, to see how much of it there is room for"

    @Test("The open letter is below the table, and beside it where the pane is wide")
    func preview() throws {
        for (columns, isBeside) in [(80, false), (140, false), (150, true)] {
            var desk = Desk.inbox((1...9).map { letter($0, Self.words) }, size: Size(rows: 24, columns: columns))
            desk.press(.enter)
            let rows = desk.screen()
            let heading = try #require(rows.firstIndex { $0.contains("from bob to personal") })
            #expect((heading == 2) == isBeside, "\(columns)")
            // The whole table is in view either way.
            #expect(rows.count { $0.contains("A sentence") } >= 9)
        }
    }

    @Test("A long letter leaves the table a third of the pane, and a short one all that it does not need")
    func rows() {
        var desk = Desk.inbox((1...19).map { letter($0, $0 == 2 ? Self.words : String(repeating: "x\n", count: 99)) })
        desk.press(.enter)
        #expect(desk.screen().count { $0.contains("bob") } == 6 + 1)
        desk.press(.down)
        #expect(desk.screen().count { $0.contains("bob") } == 16 + 1)
    }

    @Test("Columns are as wide as what is in them, and the words have the rest")
    func columns() throws {
        var desk = Desk.inbox([letter(1, Self.words, from: "al"), letter(2, Self.words, from: "bo")])
        desk.send(.postbox(.boxes([postbox("b1", "personal")])))
        // The only postbox needs no column.
        let row = try #require(desk.screen().first { $0.contains("A sentence") })
        #expect(row.contains("• al  A sentence") && row.hasSuffix("…  now"))
        desk.send(.postbox(.boxes([postbox("b1", "personal"), postbox("b2", "work")])))
        #expect(desk.screen(Size(rows: 24, columns: 120)).contains { $0.contains("• personal  al  A sentence") })
    }

    @Test("What letters are about has a column where the pane is wide, as wide as the longest, and none without any")
    func subjects() {
        let wide = Size(rows: 24, columns: 120)
        var desk = Desk.inbox(
            [letter(1, "See below.", subject: "The figures"), letter(2, "Twelve?", subject: "Lunch"), letter(3, "Hi.")])
        #expect(desk.screen(wide).contains { $0.contains("bob  The figures  See below.") })
        #expect(desk.screen(wide).contains { $0.contains("bob  Lunch        Twelve?") })
        #expect(desk.screen(wide).contains { $0.contains("bob               Hi.") })
        #expect(desk.shows("bob  The figures · See below."))
        desk.press(.control("r"))
        desk.answerPage([letter(3, "Hi.")])
        #expect(desk.screen(wide).contains { $0.contains("bob  Hi.") })
    }

    @Test("A letter's age stands at the edge, and nowhere on a pane without room for it")
    func ages() throws {
        var desk = Desk.inbox([letter(0, "new"), letter(-3, "three"), letter(-120, "two"), letter(-1_440, "day")])
        func ends(_ words: String, _ age: String, _ size: Size? = nil) -> Bool {
            desk.screen(size).contains { $0.contains(words) && $0.hasSuffix(" \(age)") }
        }
        #expect(ends("new", "now") && ends("three", "3 min") && ends("two", "2 h") && ends("day", "yesterday"))
        // It grows by itself, and the screen is drawn when it does.
        let next = try #require(desk.model.nextChange(after: desk.model.now.instant))
        #expect(desk.model.now.instant.duration(to: next) == .seconds(60))
        desk.wait(.seconds(60))
        #expect(ends("new", "1 min") && ends("three", "4 min") && ends("two", "2 h"))
        desk.wait(.seconds(14 * 3_600))
        #expect(ends("new", "yesterday") && ends("day", "2 days"))
        desk.wait(.seconds(10 * 86_400))
        #expect(ends("new", "21 Nov") && ends("day", "20 Nov"))
        #expect(!desk.screen(Size(rows: 24, columns: 40)).contains { $0.contains("21 Nov") })
        #expect(desk.screen(Size(rows: 24, columns: 40)).contains { $0.contains("new") })
    }

    @Test("What changes by time alone is drawn again, and nothing is where no ages are in view")
    func ticks() {
        var desk = Desk.inbox([letter(-90)])
        let start = desk.model.now.instant
        #expect(desk.model.nextChange(after: start) == start.advanced(by: .seconds(30 * 60)))
        #expect(desk.model.nextChange(after: start.advanced(by: .seconds(60))) == start.advanced(by: .seconds(30 * 60)))
        #expect(desk.screen().contains { $0.hasSuffix(" 1 h") })
        desk.press(.alt("1"))
        #expect(desk.model.nextChange(after: start) == nil)
        let narrow = Desk.inbox([letter(-90)], size: Size(rows: 24, columns: 40))
        #expect(narrow.model.nextChange(after: start) == nil)
    }

    @Test("The column of what letters are about leaves their first words room, or is none")
    func subjectsAndWords() {
        let long = String(repeating: "x", count: 60)
        var one = letter(1, long, from: long, subject: long)
        one.sudoId = long
        var desk = Desk.inbox([one])
        var other = postbox("b2", "work")
        other.sudoId = "s2"
        desk.send(.postbox(.boxes([postbox("b1", long), other])))
        for columns in 20...200 {
            let widths = InboxColumns(columns: columns, showsBox: true, model: desk.model)
            #expect(widths.subject == 0 || widths.line >= 20, "\(columns)")
        }
        #expect(InboxColumns(columns: 100, showsBox: true, model: desk.model).subject == 0)
        #expect(InboxColumns(columns: 160, showsBox: true, model: desk.model).subject > 0)
    }

    @Test("B51: letters of two personas are told apart, and one persona has no column")
    func personas() {
        var other = letter(2)
        (other.sudoId, other.postboxId) = ("shopping", "b2")
        var desk = Desk.inbox([letter(1), other], size: Size(rows: 24, columns: 120))
        #expect(!desk.shows("shopping"))
        var box = postbox("b2", "work")
        box.sudoId = "shopping"
        desk.send(.postbox(.boxes([postbox("b1", "personal"), box])))
        #expect(desk.shows("s1        personal  bob  a letter"))
        #expect(desk.shows("shopping  work      bob  a letter"))
    }

    @Test("B54: the sidebar has what is unread and, where that is less, all that there are")
    func totals() {
        var desk = Desk.inbox([letter(1)])
        desk.send(.postbox(.counts(["b1": 18, "b2": 0])))
        #expect(desk.screen().contains { $0.hasPrefix("  personal       18 │") })
        desk.send(.postbox(.read([], counts: ["b1": 16])))
        #expect(desk.screen().contains { $0.hasPrefix("  personal     2/18 │") })
        desk.send(.postbox(.boxes([postbox("b1", "a-name-without-room")])))
        #expect(!desk.shows("2/18") && desk.screen().contains { $0.contains(" 2 │") })
    }

    @Test("B53: what is hostile in a persona, a sender or a filter moves nothing at any size")
    func hostile() {
        let attack = "\u{1B}[2J\u{9B}5n\u{202E}evil\n\u{8}字"
        var box = postbox("b2", attack)
        box.sudoId = attack
        for size in [(5, 20), (8, 40), (24, 80), (40, 200)] {
            var other = letter(2, attack, from: attack, box: "b2")
            other.sudoId = attack
            var desk = Desk.inbox([letter(1), other], size: Size(rows: size.0, columns: size.1))
            desk.send(.postbox(.boxes([postbox("b1", "personal"), box])))
            for key in [Key(.down), Key(.enter), .alt("d"), .alt("l")] {
                desk.press(key)
                #expect(desk.screen().isHarmless)
            }
            desk.paste(attack)
            #expect(desk.screen().isHarmless)
        }
    }
}
