import Relay
import Terminal
import Testing

@testable import Parley

@Suite("What stays of the last frame")
struct LastFrameTests {
    private static let people = PresenceRoster(
        users: [
            PresentUser(name: "alice", presence: .here, isTyping: false),
            PresentUser(name: "bob", presence: .here, isTyping: true),
        ])

    /// Everything that can be seen of a conversation and around it, each change for itself.
    private static func changes() throws -> [(name: String, change: (inout Desk) -> Void)] {
        let mutes = [try TopicPattern("chat.qa")]
        let keys = try KeyMap([KeyMap.Change(name: "send-again", sequences: [try KeySequence(parsing: "^X r")])])
        var changes: [(name: String, change: (inout Desk) -> Void)] = []
        func add(_ name: String, _ change: @escaping (inout Desk) -> Void) { changes.append((name, change)) }
        func configure(_ name: String, _ change: @escaping (inout ChatSettings) -> Void) {
            add(name) { desk in
                var settings = desk.model.settings
                change(&settings)
                desk.send(.configuration(.changed(settings)))
            }
        }
        add("a key") { $0.type("x") }
        add("a second line") { $0.press(Key(.enter, .alt)) }
        add("a message") { $0.send(.topic("chat.lobby", .messages([message(50, "hello `code` https://a.b/c")]))) }
        add("one elsewhere") { $0.send(.topic("chat.qa", .messages([message(51, "@alice", topic: "chat.qa")]))) }
        configure("a topic that rests") { $0.followedUnread = 1 }
        configure("no topic that rests") { $0.followedUnread = nil }
        configure("a word that calls") { $0.highlights = Highlights(["hello"]) }
        configure("muted by the configuration") { $0.mutes = mutes }
        configure("a wide list of topics") { $0.layout = LayoutSetting(sidebar: 30) }
        configure("no list of topics") { $0.layout = LayoutSetting(sidebar: 0) }
        configure("the configuration as it was") { $0 = ChatSettings() }
        add("a gap") { $0.send(.topic("chat.lobby", .gap(lost: 7))) }
        add("history") { $0.send(.past("chat.lobby", .history([message(1, "old")], isComplete: false))) }
        add("people") { $0.send(.people(topic: "chat.lobby", people)) }
        configure("who types is not told") { $0.typing = false }
        configure("who types is told") { $0.typing = true }
        add("nobody") { $0.send(.people(topic: "chat.lobby", PresenceRoster(users: []))) }
        add("away") { $0.enter("/away lunch") }
        add("another name") { $0.send(.identified(.init(user: "bob", network: "local"))) }
        add("a postbox") { $0.send(.postbox(.boxes([postbox("b1", "personal"), postbox("b2", "work")]))) }
        add("its letters") { $0.send(.postbox(.counts(["b1": 3, "b2": 1]))) }
        add("a letter") { $0.send(.postbox(.created(letter(4)))) }
        add("a postbox that is off") { $0.send(.postbox(.boxes([postbox("b1", "personal", isEnabled: false)]))) }
        add("muted") { $0.enter("/mute chat.qa") }
        add("ignored") { $0.enter("/ignore bob") }
        add("unignored") { $0.enter("/unignore bob") }
        add("a line") { $0.enter("on its way") }
        add("sent") { $0.send(.published(PublishNews(id: "own-1", state: .acknowledged(sequence: 60)))) }
        add("refused") { $0.send(.published(PublishNews(id: "own-2", state: .failed(.notConnected)))) }
        add("the sidebar") { $0.press(.function(2)) }
        add("its cursor") { $0.press(.down) }
        add("the text again") { $0.press(.escape) }
        add("folded") { $0.press(.function(5)) }
        add("shown") { $0.press(.function(5)) }
        add("by activity") { $0.model.conversations.show(in: .byActivity) }
        add("the conversation") { $0.press(.backTab) }
        configure("other keys") { $0.keys = keys }
        configure("the keys again") { $0.keys = .standard }
        add("a selection") { $0.press(.up) }
        add("the one above") { $0.press(.up) }
        add("found") { $0.enter("/find line") }
        add("scrolled") { $0.press(.pageUp) }
        add("the newest") { $0.press(.end) }
        add("another topic") { $0.press(.alt("2")) }
        add("a text there") { $0.type("half a line") }
        add("back") { $0.press(.alt("1")) }
        add("the help") { $0.press(.function(1)) }
        add("closed") { $0.press(.escape) }
        add("the log") { $0.press(.function(8)) }
        add("closed again") { $0.press(.function(8)) }
        add("the palette") { $0.press(.control("g")) }
        add("closed once more") { $0.press(.escape) }
        add("the tour") { $0.model.tour = Tour() }
        add("no tour") { $0.press(.escape) }
        add("an outage") { $0.send(.statusChanged(ConnectionStatus(state: .reconnecting, attempt: 3))) }
        add("its time") { $0.wait(.seconds(90)) }
        add("its end") { $0.send(.statusChanged(ConnectionStatus(state: .connected))) }
        add("another zone") { $0.model.zone = .fixed(seconds: 7_200) }
        add("another year") { $0.wait(.seconds(60 * 86_400)) }
        add("a pattern") { $0.enter("/join alerts.>") }
        add("made anew") { $0.send(.topic("chat.lobby", .restarted)) }
        add("left") { $0.enter("/leave") }
        add("nothing joined") { for topic in ["chat.qa", "chat.lobby"] { $0.enter("/leave \(topic)") } }
        return changes
    }

    @Test(
        "After any change a frame that begins with what stays of the last one is the frame without it",
        arguments: [Size(rows: 24, columns: 80), Size(rows: 40, columns: 120), Size(rows: 8, columns: 40)])
    func changed(size: Size) throws {
        var desk = Desk.joined("chat.lobby", "chat.qa", size: size)
        desk.send(.topic("chat.lobby", .messages((2...30).map { message($0, "line \($0)", minutes: Int64($0)) })))
        let last = LastFrame()
        let themes = [Theme.standard, Theme(colors: 8), Theme.colorless]
        for (place, (name, change)) in try Self.changes().enumerated() {
            change(&desk)
            // Twice, since only the second one finds the change kept.
            for _ in 0..<2 {
                let now = desk.model.now.instant
                let kept = render(desk.model, size: size, now: now, last: last)
                #expect(kept == render(desk.model, size: size, now: now), "\(name) at \(size)")
            }
            let theme = themes[place % themes.count]
            let now = desk.model.now.instant.advanced(by: .seconds(place))
            let kept = render(desk.model, size: size, now: now, theme: theme, last: last)
            #expect(kept == render(desk.model, size: size, now: now, theme: theme), "\(name) in another theme")
        }
    }

    /// The characters of some that must not be shown at a frame's cursor before they are drawn.
    static func mistakes(of frame: Canvas, _ desk: Desk, _ size: Size) -> String {
        " x/u1:~éωж".filter { character in
            guard let cursor = frame.cursor else { return true }
            var typed = desk
            typed.type(String(character))
            let next = render(typed.model, size: size, now: typed.model.now.instant)
            var expected = Canvas(size: size)
            expected.write(String(character), row: cursor.row, column: cursor.column)
            let isThere = next[cursor.row, cursor.column] == expected[cursor.row, cursor.column]
            let isBehind = next.cursor == Position(row: cursor.row, column: cursor.column + 1)
            return !isThere || !isBehind
        }
    }

    @Test(
        "A character that is typed where the last frame says so stands at the cursor in the next frame",
        arguments: [Size(rows: 24, columns: 80), Size(rows: 40, columns: 120), Size(rows: 8, columns: 40)])
    func nextCharacter(size: Size) throws {
        var desk = Desk.joined("chat.lobby", "chat.qa", size: size)
        let last = LastFrame()
        var count = 0
        for (name, change) in try Self.changes() {
            change(&desk)
            for text in ["", "a", " two words", "字", "a"] {
                desk.type(text)
                let frame = render(desk.model, size: size, now: desk.model.now.instant, last: last)
                guard last.shows(desk.model.writtenText) else { continue }
                count += 1
                #expect(Self.mistakes(of: frame, desk, size).isEmpty, "\(name), behind \(text), at \(size)")
            }
        }
        #expect(count > 100)
    }

    @Test("A character that is typed is shown before its frame only where it belongs to the text in view, at its end")
    func echo() throws {
        var desk = Desk.joined("chat.lobby", "chat.qa")
        let size = desk.model.size
        let last = LastFrame()
        func echoes() -> Bool { last.shows(desk.model.writtenText) }
        func draw() { _ = render(desk.model, size: size, now: desk.model.now.instant, last: last) }
        draw()
        #expect(!echoes(), "The words in the text's place go with a frame.")
        desk.type("one")
        #expect(!echoes(), "It is not drawn yet.")
        draw()
        #expect(echoes())
        desk.send(.topic("chat.lobby", .messages([message(50, "hello")])))
        #expect(echoes(), "What comes leaves the text as it is.")
        desk.press(Key(.left))
        draw()
        #expect(!echoes(), "The cursor is before the text's end.")
        desk.press(Key(.right))
        draw()
        #expect(echoes())
        let prefixes: [(Key, end: Key)] = [
            (Key(.function(1)), end: Key(.character("q"))), (.control("r"), .control("g")),
            (Key(.function(2)), Key(.escape)), (.control("v"), Key(.character("x"))),
            (.alt("0"), Key(.character("x"))), (.control("]"), .control("e")),
        ]
        for (begin, end) in prefixes {
            desk.press(begin)
            draw()
            #expect(!echoes(), "\(begin)")
            desk.press(end)
            draw()
            #expect(echoes(), "\(end) after \(begin)")
        }
        desk.press(.alt("2"))
        desk.type("two")
        draw()
        desk.press(.alt("1"))
        #expect(!echoes(), "Another topic was in view.")
        draw()
        desk.type("\u{0605}")
        draw()
        #expect(!echoes(), "It joins the letter behind it.")
        desk.type("字")
        draw()
        #expect(echoes())
        desk.type(String(repeating: "x", count: size.columns))
        draw()
        var rowBegins = true
        while desk.model.compose.editor.utf8Count < 4 * size.columns {
            let before = render(desk.model, size: size, now: desk.model.now.instant, last: last)
            let isEchoed = echoes()
            desk.type("x")
            let after = render(desk.model, size: size, now: desk.model.now.instant, last: last)
            let next = before.cursor.map { Position(row: $0.row, column: $0.column + 1) }
            #expect(isEchoed ? after.cursor == next : after.cursor != next || rowBegins)
            rowBegins = after.cursor != next
        }
    }

    @Test("While a deletion can be undone, no letter is shown before its frame: one may be the key for that")
    func pendingDeletion() {
        var desk = Desk.inbox([letter(1), letter(2)])
        let last = LastFrame()
        func echoes() -> Bool {
            _ = render(desk.model, size: desk.model.size, now: desk.model.now.instant, last: last)
            return last.shows(desk.model.writtenText)
        }
        desk.type("one")
        #expect(echoes())
        desk.press(.function(3))
        desk.press(Key(.delete))
        desk.type("x")
        #expect(!desk.model.inbox.deletion.steps.isEmpty && !echoes())
        desk.wait(.seconds(6))
        desk.type("y")
        #expect(desk.model.inbox.deletion.steps.isEmpty && echoes())
    }

    @Test("What a copy of the model has become is not taken for what another one has")
    func copies() {
        var one = Desk.joined("chat.lobby")
        var other = one
        one.send(.topic("chat.lobby", .messages([message(1, "this")])))
        other.send(.topic("chat.lobby", .messages([message(1, "that")])))
        let last = LastFrame()
        for desk in [one, other, one] {
            let now = desk.model.now.instant
            #expect(
                render(desk.model, size: desk.model.size, now: now, last: last)
                    == render(desk.model, size: desk.model.size, now: now))
        }
    }

    @Test("A key that is typed leaves the look as it is, and so does reading what is read already")
    func look() {
        var desk = Desk.joined("chat.lobby", "chat.qa")
        desk.send(.topic("chat.lobby", .messages((1...30).map { message($0, "line \($0)") })))
        func look() -> FrameLook? {
            let layout = desk.model.layout(on: desk.model.size)
            return FrameLook(
                Frame(model: desk.model, theme: .standard, layout: layout, now: desk.model.now.instant))
        }
        desk.type("h")
        let before = look()
        #expect(before != nil)
        desk.type("ello")
        desk.press(.backspace)
        #expect(look() == before)
        desk.send(.topic("chat.qa", .messages([message(40, "elsewhere", topic: "chat.qa")])))
        #expect(look() != before)
    }
}
