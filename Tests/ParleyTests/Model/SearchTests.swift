import Relay
import Terminal
import Testing

@testable import Parley

@Suite("Search in the chat")
struct SearchTests {
    private static let stream = StreamIdentity(name: "local_stream", incarnation: 7)

    /// A message as the store finds it.
    private static func item(
        _ sequence: UInt64, _ text: String, from name: String = "bob", topic: String = "chat.lobby", minutes: Int64 = 0
    ) -> FoundItem {
        let time = Timestamp(milliseconds: Desk.wall.milliseconds + minutes * 60_000)
        return .message(
            FoundMessage(
                topic: topic, place: KeptPlace(stream: stream, sequence: sequence), id: "m\(sequence)", from: name,
                time: time, text: text))
    }

    private static func letterItem(_ text: String) -> FoundItem {
        .letter(
            KeptLetter(
                direction: .received, id: "l1", person: "carol", postbox: "b1", time: Desk.wall, text: text))
    }

    /// A conversation with messages 101 to 140, and a search that has found something.
    private static func found(
        _ items: [FoundItem], words: String = "build", isComplete: Bool = true,
        size: Size = Size(rows: 24, columns: 80)
    ) -> Desk {
        var desk = Desk.joined("chat.lobby", size: size)
        desk.receive((101...140).map { message($0, "the build number \($0)") })
        desk.enter("/search \(words)")
        desk.answer(items, isComplete: isComplete)
        desk.effects = []
        return desk
    }

    /// The messages around one that was found.
    private static func around(_ sequence: UInt64) -> Desk {
        var desk = found([item(sequence, "x")])
        desk.press(.enter)
        desk.answerAround(.around, sequence - 20...sequence + 20)
        desk.effects = []
        return desk
    }

    @Test("/search asks the local store for a portion, and lists what it has, the newest first as the store gives it")
    func list() throws {
        var desk = Desk.joined("chat.lobby")
        let effects = desk.enter("/search build from:bob")
        let request = try #require(desk.search?.request)
        #expect(effects == [.search(.find(request: request, SearchQuery("build from:bob"), limit: 100))])
        #expect(desk.text.isEmpty)
        #expect(desk.screen()[1].contains("── search: build from:bob ─ searching …"))
        #expect(desk.shows("Searching …"))
        desk.answer([Self.item(9, "the build is green", minutes: 5), Self.item(3, "a build\nof two lines")])
        let screen = desk.screen()
        #expect(screen[1].contains("── search: build from:bob ─ 2 found ─"))
        #expect(screen[2].contains("▌ 21 Nov 10:05  bob"))
        #expect(screen[2].contains("the build is green"))
        #expect(screen[3].contains("a build of two lines"))
        #expect(screen.last?.hasSuffix("1/2") == true)
        #expect(screen.last?.contains("Enter go to it") == true)
    }

    @Test("Also where there is little room, each row says in which topic it was found", arguments: [40, 60, 80])
    func topicInRow(columns: Int) {
        let desk = Self.found([Self.item(9, "the build is green")], size: Size(rows: 12, columns: columns))
        let row = desk.screen().first { $0.contains("the bu") }
        #expect(row?.contains("chat") == true && row?.contains("bby") == true, "\(desk.screen())")
    }

    @Test("A number that the list does not have is answered with how many were found")
    func numberBeyond() {
        var desk = Self.found([Self.letterItem("a build")])
        desk.enter("/open 2")
        #expect(desk.notice == "1 thing was found; there is no 2.")
    }

    @Test("What was looked for is bold and underlined in each row")
    func marked() {
        let desk = Self.found([Self.item(9, "nothing"), Self.item(3, "the Build is green")])
        let frame = render(desk.model, size: desk.model.size, now: desk.model.now.instant)
        let marked = (0..<80).filter { frame[3, $0].style.attributes.isSuperset(of: [.bold, .underline]) }
        #expect(marked.count == 5)
        let row = Array(frame.text(row: 3))
        #expect(marked.map { String(row[$0]) }.joined() == "Build")
    }

    @Test("Each part of a text that is looked for is found once, and filters alone find no part")
    func parts() {
        func parts(_ words: String, _ text: String) -> [String] {
            SearchMatch(SearchQuery(words)).parts(of: text).map { String(text.unicodeScalars[$0]) }
        }
        #expect(parts("build green", "Build, builds: green? rebuild") == ["Build", "builds", "green"])
        #expect(parts("\"is green\"", "it is green is greener") == ["is green"])
        #expect(parts("from:bob", "bob") == [])
        #expect(parts("x", String(repeating: "x ", count: 900)).count == 64)
    }

    @Test("What was looked for far behind a text's beginning is brought into the row")
    func excerptOfText() {
        let text = String(repeating: "long ", count: 60) + "needle " + String(repeating: "more ", count: 9)
        for columns in [20, 40, 80, 120] {
            let desk = Self.found([Self.item(3, text)], words: "needle", size: Size(rows: 24, columns: columns))
            #expect(desk.screen().contains { $0.contains("…") && $0.contains("needl") }, "\(columns)")
        }
    }

    @Test(
        "A search that cannot be meant says why, and stays in the text",
        arguments: [
            ("/search", "Write it as /search WORDS"), ("/search !!!", "There is nothing to look for"),
            ("/search -only", "There is nothing to look for"),
            ("/search x before:tomorrow", "before:tomorrow is no date."), ("/search in:a..b", "a..b is no topic."),
            ("/search from:", "from: needs a name right behind it"), ("/search x in: chat.qa", "in: needs a topic"),
            ("/search BEFORE: 2026-11-20", "before: needs a date"),
        ])
    func mistakes(_ text: String, _ words: String) {
        var desk = Desk.joined("chat.lobby")
        #expect(desk.enter(text) == [])
        #expect(desk.bottom.contains(words))
        #expect(desk.text == text)
        #expect(desk.search == nil)
    }

    @Test("Days begin where the person is")
    func zone() {
        var desk = Desk.joined("chat.lobby")
        desk.model.zone = .fixed(seconds: 3_600)
        desk.enter("/search x before:2026-11-20")
        #expect(desk.search?.query.before == Timestamp(iso8601: "2026-11-19T23:00:00Z"))
    }

    @Test("Nothing found, a failure and a missing connection are said in words")
    func words() throws {
        var desk = Self.found([])
        #expect(desk.shows("Nothing was found on this machine."))
        desk.enter("/search other")
        desk.answer([], isComplete: false)
        #expect(desk.shows("before: with a date"))
        desk.enter("/search third")
        let request = try #require(desk.search?.request)
        desk.send(.search(.failed(request: request, "The local store cannot be used")))
        #expect(desk.shows("✗ The local store cannot be used"))
        desk.enter("/search fourth")
        desk.answer([])
        desk.becomes(.connecting)
        #expect(desk.screen()[1].contains("offline, as of 21 Nov 10:00"))
    }

    @Test("Up, Down, Home, End, the page keys, the wheel and clicks move; an answer to an earlier search is not shown")
    func moving() throws {
        let items = (1...60).map { Self.item(UInt64($0), "build \($0)") }
        var desk = Self.found(items)
        for (key, place) in [(Key.down, 1), (.up, 0), (.up, 0), (.pageDown, 18), (.end, 59), (.pageUp, 41), (.home, 0)]
        {
            desk.press(key)
            #expect(desk.bottom.hasSuffix("\(place + 1)/60"), "\(key)")
            #expect(desk.screen().contains { $0.contains("▌ ") && $0.contains("build \(place + 1)") })
        }
        desk.send(.input(.mouse(MouseEvent(kind: .scrollDown, button: .none, row: 5, column: 40))))
        #expect(desk.bottom.hasSuffix("4/60"))
        desk.click(row: 4, column: 40)
        #expect(desk.bottom.hasSuffix("3/60"))
        desk.enter("/search other")
        let stale = try #require(desk.search?.request)
        desk.enter("/search third")
        desk.send(.search(.found(request: stale, items, isComplete: true)))
        #expect(desk.search?.items.isEmpty == true)
    }

    @Test("At the list's end the next portion is asked for, once; each item comes once, and the list has an end")
    func portions() throws {
        let first = (0..<100).map { Self.item(1_000 - UInt64($0), "build", minutes: $0 < 98 ? 500 - Int64($0) : 1) }
        var desk = Self.found(first, isComplete: false)
        #expect(desk.screen()[1].contains("100 found, more ▸"))
        #expect(desk.bottom.hasSuffix("1/100+"))
        let effects = desk.press(.end)
        let request = try #require(desk.search?.request)
        var query = SearchQuery("build")
        query.before = Timestamp(milliseconds: Desk.wall.milliseconds + 60_001)
        // Two have the last moment, and come again.
        #expect(effects == [.search(.find(request: request, query, limit: 102))])
        #expect(desk.press(.down) == [])
        desk.answer(Array(first.suffix(2)) + [Self.item(5, "build")])
        #expect(desk.search?.items.count == 101)
        #expect(desk.press(.end) == [])
        #expect(desk.bottom.hasSuffix("101/101"))
        // A store that has only the same again has no more.
        var other = Self.found(first, isComplete: false)
        other.press(.end)
        other.answer(Array(first.suffix(2)), isComplete: false)
        #expect(other.search?.hasMore == false)
    }

    @Test("Enter leads to a message that the conversation has, marks it there, and Escape leads back and then away")
    func jump() {
        var desk = Self.found([Self.item(140, "x"), Self.item(105, "the build number 105")])
        desk.press(.down)
        #expect(desk.press(.enter) == [])
        #expect(desk.view == .conversation("chat.lobby"))
        #expect(
            desk.screen().contains { $0.contains("▌") && $0.contains("the build number 105") },
            "\(desk.screen().joined(separator: "\n"))")
        #expect(!desk.shows("the build number 140"))
        #expect(desk.bottom.contains("Esc back"))
        desk.press(.escape)
        #expect(desk.search?.selected == 1)
        desk.press(.escape)
        #expect(desk.view == .conversation("chat.lobby") && desk.focus == .compose)
        #expect(desk.model.screen.marks.found == nil && desk.model.screen.trail.isEmpty)
        // The person was at the newest message.
        #expect(desk.conversation("chat.lobby")?.scroll == .bottom)
    }

    @Test("Up begins at the message that a search has led to, also where it stands above others in view")
    func selectionBeginsThere() {
        var desk = Self.found([Self.item(120, "the build number 120")])
        desk.press(.enter, .up)
        #expect(desk.model.selectedRow?.text == "the build number 120")
        desk.press(.up)
        #expect(desk.model.selectedRow?.text == "the build number 119")
    }

    @Test("Where the conversation has not loaded the message, the store is read around it, and on at both ends")
    func excerpt() throws {
        var desk = Self.found([Self.item(50, "the build number 50")])
        let effects = desk.press(.enter)
        let place = KeptPlace(stream: Self.stream, sequence: 50)
        let request = try #require(desk.excerpt?.request)
        #expect(
            effects == [
                .search(.readAround(request: request, topic: "chat.lobby", place, .around, limit: Excerpt.portion))
            ])
        #expect(desk.shows("Loading …"))
        desk.answerAround(.around, 30...70)
        let screen = desk.screen()
        #expect(screen[1].contains("── chat.lobby ─ around 21 Nov 10:00, as stored here"))
        let row = try #require(screen.firstIndex { $0.contains("the build number 50") })
        #expect(screen[row].contains("▌") && (6...16).contains(row))
        // Up and down to the ends, where more is read.
        desk.effects = []
        for _ in 0..<40 { desk.press(.up) }
        let older = desk.effects.core.filter { if case .search(.readAround) = $0 { true } else { false } }
        #expect(older.count == 1)
        desk.answerAround(.before, 20...29, isOldest: true)
        desk.press(.home)
        #expect(desk.screen().contains { $0.contains("▌") && $0.contains("the build number 50") })
        desk.effects = []
        for _ in 0..<3 { desk.press(.pageDown) }
        #expect(desk.effects.core.count == 1)
        desk.answerAround(.after, 71...90, isNewest: true)
        #expect(desk.shows("the build number 70"))
        #expect(desk.excerpt?.conversation.rows.count == 71)
        desk.press(.escape)
        #expect(desk.search?.items.count == 1)
    }

    @Test("What is gone between the messages of an excerpt is said in its place")
    func gaps() throws {
        var desk = Self.found([Self.item(50, "x")])
        desk.press(.enter)
        let request = try #require(desk.excerpt?.request)
        let messages = (Array(40...42) + Array(46...52)).map { message($0, "the build number \($0)") }
        let part = ExcerptPart(direction: .around, messages: messages, gaps: [KeptGap(end: 46, lost: 3)])
        desk.send(.search(.around(request: request, part)))
        let screen = desk.screen()
        let row = try #require(screen.firstIndex { $0.contains("── 3 messages ") })
        #expect(screen[row - 1].contains("the build number 42") && screen[row + 1].contains("the build number 46"))
    }

    @Test("From an excerpt End leads to the conversation's newest message, and a line that is sent is seen there")
    func leaving() {
        var desk = Self.around(50)
        desk.press(.end)
        #expect(desk.view == .conversation("chat.lobby") && desk.model.screen.trail.isEmpty)
        #expect(desk.shows("the build number 140"))
        desk = Self.around(50)
        #expect(desk.enter("said from there").lines == ["chat.lobby: said from there"])
        #expect(desk.view == .conversation("chat.lobby") && desk.shows("said from there"))
    }

    @Test("Around what was found /find goes up from there, n and N go on, and y and q are for what it has led to")
    func findAround() {
        var desk = Self.around(50)
        // What was found itself, before anything is looked for.
        #expect(desk.press(.plain("y")) == .screen(.copy("the build number 50")))
        desk.enter("/find NUMBER 4")
        #expect(desk.excerpt != nil && desk.model.selectedRow?.text == "the build number 49")
        #expect(desk.press(.plain("n"), .plain("y")) == .screen(.copy("the build number 48")))
        desk.press(.plain("N"))
        desk.enter("/find")
        #expect(desk.model.selectedRow?.text == "the build number 48")
        for _ in 0..<9 { desk.press(.plain("n")) }
        #expect(desk.model.selectedRow?.text == "the build number 40" && desk.shows("the build number 40"))
        #expect(desk.notice == "No message above has NUMBER 4; /history loads older ones.")
        desk.press(.plain("q"))
        #expect(desk.text == "> bob: the build number 40\n" && desk.focus == .compose)
    }

    @Test("Back at what was found, y and q are for that again, and nothing is looked for any more")
    func findAroundAndBack() {
        var desk = Self.around(50)
        desk.enter("/find number 3")
        #expect(desk.model.selectedRow?.text == "the build number 39")
        desk.press(.home)
        #expect(desk.model.selectedRow == nil && desk.model.screen.marks.find == nil)
        #expect(desk.press(.plain("y")) == .screen(.copy("the build number 50")))
    }

    @Test("What stands only below what was found is found too, and what stands nowhere is said to be nowhere")
    func findBelow() {
        var desk = Self.around(50)
        desk.enter("/find number 6")
        #expect(desk.model.selectedRow?.text == "the build number 60")
        desk.press(.plain("N"))
        #expect(desk.model.selectedRow?.text == "the build number 61")
        desk.enter("/find dragons")
        #expect(desk.notice == "No message that is loaded here has dragons. /search looks through all that is kept.")
        // Where nothing is looked for, n and N are letters of the text.
        desk.type("n")
        #expect(desk.text == "n")
    }

    @Test("What was selected around one thing that was found is not selected around another, nor in the conversation")
    func findElsewhere() {
        var desk = Self.found([Self.item(50, "x"), Self.item(45, "x")])
        desk.press(.enter)
        desk.answerAround(.around, 30...70)
        desk.enter("/find number 4")
        desk.press(.escape)
        #expect(desk.search != nil && desk.model.screen.marks.selection == nil && desk.model.screen.marks.find == nil)
        desk.press(.down, .enter)
        desk.answerAround(.around, 30...70)
        #expect(desk.model.selectedRow == nil)
        #expect(desk.press(.plain("y")) == .screen(.copy("the build number 45")))
        desk.enter("/find number 4")
        desk.press(.end)
        #expect(desk.view == .conversation("chat.lobby"))
        #expect(desk.model.screen.marks.selection == nil && desk.model.screen.marks.find == nil)
    }

    @Test("/find reads the found letter that is open, from its first line that has it; n and N go on, y copies it")
    func findInLetter() {
        var desk = Self.found([Self.letterItem("Lunch?\nThe build can wait.\nThe build is red.")])
        desk.enter("/find build")
        #expect(desk.notice == "Open what was found first; /find looks through that.")
        desk.press(.escape)
        #expect(desk.search == nil)
        desk = Self.found([Self.letterItem("Lunch?\nThe build can wait.\nThe build is red.")])
        desk.press(.enter)
        desk.enter("/find nothing")
        #expect(desk.search?.openLetter != nil && desk.notice == "Nothing in this letter has nothing.")
        desk.enter("/find build")
        guard case .reader(let reader) = desk.view else {
            Issue.record("not read whole")
            return
        }
        #expect(reader.find?.line?.part == 1 && desk.focus == .main)
        desk.press(.plain("n"), .plain("n"))
        #expect(desk.notice == "No line below has build.")
        #expect(desk.press(.plain("y")) == .screen(.copy("Lunch?\nThe build can wait.\nThe build is red.")))
        desk.press(.escape)
        #expect(desk.search?.openLetter != nil)
    }

    @Test("A message of a topic that is not joined is shown all the same; End joins the topic")
    func notJoined() {
        var desk = Self.found([Self.item(50, "x", topic: "chat.old")])
        desk.press(.enter)
        desk.answerAround(.around, 49...51, topic: "chat.old")
        #expect(desk.screen()[1].contains("chat.old ─ around"))
        #expect(desk.conversation("chat.old") == nil)
        desk.enter("lost?")
        #expect(desk.bottom.contains("chat.old is not joined."))
        #expect(desk.text == "lost?")
        desk.press(.control("c"), .tab, .tab)
        #expect(desk.press(.end).contains(.topics(.subscribe(topic: "chat.old"))))
        #expect(desk.view == .conversation("chat.old"))
    }

    @Test("A message that is no longer kept, and a store that cannot be read, are said in words")
    func gone() throws {
        var desk = Self.found([Self.item(50, "x")])
        desk.press(.enter)
        desk.answerAround(.around, 60...61)
        #expect(desk.shows("✗ The message is no longer kept on this machine."))
        desk.press(.escape, .enter)
        let request = try #require(desk.excerpt?.request)
        desk.send(.search(.aroundFailed(request: request, "It is damaged")))
        #expect(desk.shows("✗ It is damaged"))
    }

    @Test("A letter is a result too: Enter opens it under the list, and Escape closes first it and then the list")
    func letters() {
        var desk = Self.found([Self.letterItem("Lunch?\nThe build can wait.")])
        desk.send(.postbox(.boxes([postbox("b1", "personal")])))
        #expect(desk.screen()[2].contains("✉ carol"))
        desk.press(.enter)
        #expect(desk.shows("── from carol to personal, 21 Nov 10:00"))
        #expect(desk.screen().contains { $0.contains("The build can wait.") && !$0.contains("Lunch") })
        desk.press(.escape)
        #expect(desk.search?.openLetter == nil && desk.search != nil)
        desk.press(.escape)
        #expect(desk.view == .conversation("chat.lobby"))
    }

    @Test("Typing while the list is open goes to the text, and what is no command is not sent anywhere")
    func typing() {
        var desk = Self.found([Self.item(50, "x")])
        #expect(desk.enter("hello").isEmpty)
        #expect(desk.bottom.contains("This is what was found"))
        #expect(desk.text == "hello")
        desk.press(.escape)
        #expect(desk.view == .conversation("chat.lobby"))
        #expect(desk.text == "hello")
    }

    @Test("Going elsewhere ends the way back")
    func elsewhere() {
        var desk = Self.found([Self.item(50, "x")])
        desk.press(.function(3))
        #expect(desk.view == .inbox(nil) && desk.model.screen.trail.isEmpty)
        desk.press(.escape)
        #expect(desk.view == .inbox(nil))
    }

    @Test("Tab completes the command, and the topic behind in:")
    func completion() {
        var desk = Desk.joined("chat.lobby", "chat.quality")
        desk.type("/sea")
        desk.press(.tab)
        #expect(desk.text == "/search ")
        desk.type("word in:chat.q")
        desk.press(.tab)
        #expect(desk.text == "/search word in:chat.quality")
    }

    @Test("B53: hostile text moves nothing at any size, in the list, a letter and an excerpt")
    func hostile() {
        let attack = "\u{1B}[2J\u{9B}5n\u{202E}build\u{2066}\r\n\u{8}\u{0}日本語"
        for size in [(1, 1), (3, 10), (5, 20), (6, 20), (8, 39), (12, 40), (24, 59), (24, 80), (40, 120)] {
            let size = Size(rows: size.0, columns: size.1)
            var desk = Self.found(
                [Self.letterItem(attack), Self.item(50, attack, from: attack, topic: "chat.old")], size: size)
            var frames = [desk.screen()]
            desk.press(.enter)
            frames.append(desk.screen())
            desk.press(.enter, .down, .enter)
            let request = desk.excerpt?.request ?? 0
            let part = ExcerptPart(direction: .around, messages: [message(50, attack, from: attack, topic: "chat.old")])
            desk.send(.search(.around(request: request, part)))
            frames.append(desk.screen())
            for frame in frames { #expect(frame.count == size.rows && frame.isHarmless, "\(size)") }
        }
    }

    @Test("A store's hits become rows of bounded length, and what cannot be read says so")
    func items() {
        let long = KeptLetter(
            direction: .sent, id: "l", person: "bob", postbox: "b", time: Desk.wall,
            text: String(repeating: "x", count: 100_000))
        guard case .letter(let letter) = FoundItem(.letter(long)) else {
            Issue.record("no letter")
            return
        }
        #expect(letter.text == String(repeating: "x", count: 16_384) + "\n… it goes on")
        let kept = KeptMessage(
            place: KeptPlace(stream: Self.stream, sequence: 5), topic: "a", time: Desk.wall, payload: [0xC1])
        guard case .message(let found) = FoundItem(.message(kept)) else {
            Issue.record("no message")
            return
        }
        #expect(found.text == "(a message of 1 bytes that cannot be read)" && found.id == "unreadable-5")
    }
}

extension Desk {
    /// The search in view.
    var search: Search? {
        guard case .search(let search) = model.screen.view else { return nil }
        return search
    }

    /// The excerpt in view.
    var excerpt: Excerpt? {
        guard case .excerpt(let excerpt) = model.screen.view else { return nil }
        return excerpt
    }

    /// Answers the search in view.
    mutating func answer(_ items: [FoundItem], isComplete: Bool = true) {
        guard let request = search?.request else { return }
        send(.search(.found(request: request, items, isComplete: isComplete)))
    }

    /// Answers the excerpt in view with messages of these sequences.
    mutating func answerAround(
        _ direction: ExcerptPart.Direction, _ range: ClosedRange<UInt64>, topic: String = "chat.lobby",
        isOldest: Bool = false, isNewest: Bool = false
    ) {
        guard let request = excerpt?.request else { return }
        let part = ExcerptPart(
            direction: direction, messages: range.map { message($0, "the build number \($0)", topic: topic) },
            isOldest: isOldest, isNewest: isNewest)
        send(.search(.around(request: request, part)))
    }
}
