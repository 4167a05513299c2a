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
        add("history") { $0.send(.topic("chat.lobby", .history([message(1, "old")], isComplete: false))) }
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

    @Test("What is typed into a text is shown in the last frame, as the frame after shows it")
    func echo() throws {
        var desk = Desk.joined("chat.lobby")
        let size = desk.model.size
        let last = LastFrame()
        func draw() -> Canvas { render(desk.model, size: size, now: desk.model.now.instant, last: last) }
        _ = draw()
        #expect(desk.model.echo(on: last, size: size) == nil, "No text was shown yet.")
        desk.type("字")
        #expect(desk.model.echo(on: last, size: size) == nil, "The words in the text's place go with a frame.")
        _ = draw()
        for key in [Key(.character("a")), Key(.character("👍")), Key(.left), Key(.character(" ")), Key(.backspace)] {
            desk.press(key)
            let echo = try #require(desk.model.echo(on: last, size: size), "\(key)")
            #expect(echo == draw(), "\(key)")
        }
        desk.type(String(repeating: "x", count: size.columns))
        #expect(desk.model.echo(on: last, size: size) == nil, "The pane is higher now.")
        _ = draw()
        desk.type("y")
        #expect(desk.model.echo(on: last, size: size) == draw())
        #expect(desk.model.echo(on: last, size: Size(rows: 30, columns: 100)) == nil)
        desk.press(.function(1))
        #expect(desk.model.echo(on: last, size: size) == nil, "The help lies over the panes.")
    }

    @Test("A character that is typed is not shown in a frame of which it leaves something else untrue")
    func staleFrame() {
        var desk = Desk.joined("chat.lobby", "chat.qa")
        let size = desk.model.size
        let last = LastFrame()
        func echoes() -> Bool { desk.model.echo(on: last, size: size) != nil }
        func draw() { _ = render(desk.model, size: size, now: desk.model.now.instant, last: last) }
        desk.type("one")
        desk.press(.alt("2"))
        desk.type("two")
        draw()
        desk.press(.alt("1"))
        desk.type("x")
        #expect(!echoes(), "Another topic was in view.")
        for (begin, end) in [(Key(.function(1)), Key(.character("q"))), (.control("r"), .control("g"))] {
            draw()
            desk.type("y")
            #expect(echoes())
            desk.press(begin)
            draw()
            desk.press(end)
            desk.type("x")
            #expect(!echoes(), "\(begin)")
        }
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
