import Relay
import Terminal
import Testing

@testable import Parley

/// What a person at a window does, or looks at.
private enum Step {
    case does(() -> [TerminalSession.Wake])
    case sees((StepScreen) -> Void)

    /// Types a text, in which a line's end is Enter.
    static func type(_ text: String) -> Step {
        .does { [.input(text.map { .key($0 == "\n" ? .enter : .plain($0)) })] }
    }

    static func press(_ keys: Key...) -> Step { .does { [.input(keys.map { .key($0) })] } }
    static func input(_ event: InputEvent) -> Step { .does { [.input([event])] } }

    /// Something comes from a network.
    static func hears(_ queue: EventQueue, _ event: @escaping () -> ChatEvent) -> Step {
        .does {
            _ = queue.offer(event())
            return [.woken]
        }
    }
}

/// A terminal whose person does one thing after the other, and sees what is drawn in between.
private final class StepScreen: ChatScreen {
    var size = Size(rows: 24, columns: 100)
    var hasPendingFrame: Bool { false }
    var linkUse = LinkUse.auto
    private(set) var rows: [String] = []
    private(set) var titles: [String] = []
    private var steps: [Step]
    private var instant = Desk.start

    init(_ steps: [Step]) { self.steps = steps.reversed() }

    func now() -> Moment {
        instant += .milliseconds(1)
        return Moment(instant: instant, wall: Desk.wall)
    }

    func wait(until deadline: ContinuousClock.Instant?) -> [TerminalSession.Wake] {
        if let deadline, deadline <= instant + .milliseconds(100) {
            instant = max(instant, deadline)
            return [.timedOut]
        }
        instant += .milliseconds(100)
        while let step = steps.popLast() {
            switch step {
            case .does(let act): return act()
            case .sees(let look): look(self)
            }
        }
        return [.hangUp]
    }

    func present(_ canvas: Canvas) { rows = canvas.rows }
    func redraw() {}
    func bell() {}
    func notify(_ notification: TerminalNotification, by use: NotificationUse) -> [NotificationMethod] { [] }
    func setTitle(_ title: String) { titles.append(title) }
    func edit(_ text: String) -> TextEditor.Outcome { .written(text) }
    func copy(_ text: String) {}
    func suspend() -> Bool { true }

    func shows(_ text: String) -> Bool { rows.contains { $0.contains(text) } }

    /// The row of the sidebar that has a text.
    func side(_ text: String) -> String? {
        rows.compactMap { $0.split(separator: "│").first.map(String.init) }.first { $0.contains(text) }
    }
}

@Suite("Several networks in one window")
struct SeveralNetworksTests {
    /// The chats of two networks, and what was asked of each.
    private final class Window {
        let queues = [EventQueue {}, EventQueue {}]
        var asked: [[CoreEffect]] = [[], [], []]
        var opened: [String] = []

        /// Runs the window until its person has done everything, or has left it.
        ///
        /// - Returns: the loop at its end.
        @discardableResult
        func run(
            home: Desk = .joined("chat.family"), work: Desk = .joined("chat.team"), connect: (() throws -> Bool)? = nil,
            steps: [Step]
        ) -> (screen: StepScreen, loop: ChatLoop) {
            let screen = StepScreen(steps)
            let models = [home.model, work.model]
            for index in models.indices { models[index].size = screen.size }
            let chats = ["home", "work"].enumerated().map { index, name in
                let run = EngineRun(queue: queues[index]) { [self] in
                    if case .effect(let effect) = $0 { asked[index].append(effect) }
                    return true
                }
                return WindowChat(
                    name: name, profile: name, model: models[index], run: run, connect: index == 1 ? connect : nil)
            }
            var loop = ChatLoop(
                screen, chats, clock: { screen.now() },
                open: { [self] name in
                    guard name == "club" else { throw CommandFailure(78, "There is no profile “\(name)”.") }
                    opened.append(name)
                    let model = Desk.joined("chat.dance").model
                    model.size = screen.size
                    let run = EngineRun(queue: EventQueue {}, standIn: { _ in true })
                    return WindowChat(name: name, profile: name, model: model, run: run)
                })
            loop.begin()
            loop.run()
            return (screen, loop)
        }

        /// A message at the second network.
        func says(_ text: String) -> Step {
            .hears(queues[1]) { .topic("chat.team", .messages([message(1, text, topic: "chat.team")])) }
        }
    }

    @Test(
        "B69 Each stands in the sidebar with its state; what is unread elsewhere is a key away, and each keeps its text"
    )
    func between() {
        let window = Window()
        let (_, loop) = window.run(steps: [
            .type("dear"),
            .sees { screen in
                #expect(screen.side("● HOME") != nil && screen.side("● WORK") != nil)
                #expect(screen.side("chat.team") != nil && screen.shows("> dear"))
            },
            window.says("shall we?"),
            .sees { screen in
                #expect(screen.side("chat.team")?.contains("1") == true, "\(screen.rows)")
                #expect(screen.titles.last == "(1) parley alice@home" && !screen.shows("shall we?"))
            },
            .press(.alt("a")),
            .sees { screen in
                #expect(screen.shows("── chat.team") && screen.shows("shall we?") && !screen.shows("> dear"))
                #expect(screen.side("chat.family")?.contains("✎") == true)
                #expect(screen.titles.last == "parley alice@work")
            },
            .type("yes\n"), .press(.control("g")), .type("family\n"),
            .sees { screen in #expect(screen.shows("── chat.family") && screen.shows("> dear"), "\(screen.rows)") },
        ])
        #expect(loop.front == 0 && ChatEffects(core: window.asked[0]).lines.isEmpty)
        #expect(ChatEffects(core: window.asked[1]).lines == ["chat.team: yes"])
    }

    @Test("B69 What is out of sight counts as unread, and the outage of one says nothing of the other")
    func apart() {
        let window = Window()
        window.run(steps: [
            window.says("one"),
            .hears(window.queues[1]) { .statusChanged(ConnectionStatus(state: .reconnecting, attempt: 2)) },
            .sees { screen in
                #expect(screen.side("↻ WORK") != nil && screen.side("● HOME") != nil && screen.shows("● CONNECTED"))
                #expect(screen.side("chat.team")?.contains("1") == true)
            },
            .type("still here\n"), .sees { screen in #expect(screen.shows("still here")) },
        ])
    }

    @Test("The sidebar's rows lead to any network's topics and letters, by keys and by the mouse")
    func rows() {
        var row = 0
        let (_, loop) = Window().run(steps: [
            // Down to the heading of the other network and on to its topic.
            .press(.function(2)), .press(.end, .up, .enter),
            .sees { screen in
                #expect(screen.shows("── chat.team"), "\(screen.rows)")
                row = screen.rows.firstIndex { $0.contains("chat.family") } ?? 0
            },
            .does { [.input([.mouse(MouseEvent(kind: .press, button: .left, row: row, column: 3))])] },
            .sees { screen in #expect(screen.shows("── chat.family")) },
        ])
        #expect(loop.front == 0)
    }

    @Test("/connect opens the chat of another profile, brings one in front that is open, and says why where it cannot")
    func opening() {
        let window = Window()
        let (_, loop) = window.run(steps: [
            .type("/connect club\n"),
            .sees { screen in
                #expect(screen.side("● CLUB") != nil && screen.shows("── chat.dance"), "\(screen.rows)")
            },
            .type("/connect work\n"), .sees { screen in #expect(screen.shows("── chat.team")) },
            .type("/connect nowhere\n"), .sees { screen in #expect(screen.shows("There is no profile “nowhere”.")) },
        ])
        #expect(window.opened == ["club"] && loop.chats.map(\.name) == ["home", "work", "club"])
    }

    @Test("A network that cannot be gone to at all is told and leaves the window; the other one goes on")
    func failing() {
        let (_, loop) = Window().run(
            connect: { throw CommandFailure(78, "The profile has no servers.") },
            steps: [
                .does { [.woken] },
                .sees { screen in
                    #expect(screen.shows("work: The profile has no servers.") && screen.side("WORK") == nil)
                    #expect(screen.side("TOPICS") != nil)
                },
                .type("on\n"), .sees { screen in #expect(screen.shows("on")) },
            ])
        #expect(loop.chats.count == 1)
    }

    @Test(
        "B69 Whoever quits is asked by each network that has something unsent, and stays where they say no",
        arguments: ["n", "y"])
    func quitting(answer: String) {
        var work = Desk.joined("chat.team", state: .reconnecting)
        work.enter("not sent yet")
        var wasAsked = false
        let (_, loop) = Window().run(
            work: work,
            steps: [
                .press(.control("q")),
                .sees { wasAsked = $0.shows("1 message is not sent yet. Quit anyway?") && $0.shows("── chat.team") },
                // Only who has said no comes behind the answer.
                .type(answer), .type("x"),
            ])
        #expect(wasAsked && loop.model.compose.text == (answer == "n" ? "x" : ""))
    }

    @Test("The terminal's focus is told to all networks, and so is that the person does something again")
    func focus() {
        // A terminal that says that it reports, and whose report of a return is lost.
        let window = Window()
        window.run(steps: [.input(.reply(.mode(number: 1004, state: 1))), .input(.focusOut), .type("x")])
        for asked in window.asked.prefix(2) {
            let told = asked.compactMap { if case .connection(.setActive(let isActive)) = $0 { isActive } else { nil } }
            #expect(told == [false, true])
        }
    }

    @Test("A network that is opened later knows what the terminal has said of its focus")
    func openedLater() {
        let (_, loop) = Window().run(steps: [
            .input(.reply(.mode(number: 1004, state: 1))), .type("/connect club\n"), .input(.focusOut),
        ])
        #expect(loop.chats.allSatisfy { !$0.model.attention.tracker.isForeground })
    }

    @Test("B69 The time limit of one network's first connection leaves the others alone")
    func timeLimit() {
        let window = Window()
        let (_, loop) = window.run(steps: [
            .hears(window.queues[1]) {
                .statusChanged(ConnectionStatus(state: .disconnected, reason: .timeLimit(.seconds(20))))
            },
            .sees { screen in #expect(screen.side("✕ WORK") != nil) }, .type("still here"),
        ])
        #expect(loop.model.compose.text == "still here")
    }

    @Test("Alt-a leads back to where it began when nothing is unread any more")
    func back() {
        let window = Window()
        let (_, loop) = window.run(steps: [
            window.says("one"), .press(.alt("a")), .sees { screen in #expect(screen.shows("── chat.team")) },
            .press(.alt("a")),
        ])
        #expect(loop.front == 0)
    }

    @Test("Who leaves a network by its sidebar finds the text with the keys on return; others are not told of typing")
    func leaving() {
        let window = Window()
        let (_, loop) = window.run(steps: [
            .type("dear "), .press(.function(2)), .press(.end, .up, .enter), .press(.control("g")), .type("family\n"),
            .type("all"),
        ])
        #expect(loop.front == 0 && loop.model.compose.text == "dear all")
        let typing = window.asked[0].compactMap {
            if case .people(.typing(let topic)) = $0 { topic ?? "-" } else { nil }
        }
        #expect(typing == ["chat.family", "-", "chat.family"])
    }

    @Test("/search looks through what is kept of all networks, the newest first, and goes to what another one has")
    func searching() {
        func item(_ topic: String, _ text: String, minutes: Int64) -> FoundItem {
            let place = KeptPlace(stream: StreamIdentity(name: "s", incarnation: 1), sequence: UInt64(minutes))
            let time = Timestamp(milliseconds: Desk.wall.milliseconds + minutes * 60_000)
            return .message(FoundMessage(topic: topic, place: place, id: text, from: "bob", time: time, text: text))
        }
        let window = Window()
        var request: UInt64 = 0
        let (_, loop) = window.run(steps: [
            .type("/search build\n"),
            .sees { screen in
                for asked in window.asked.prefix(2) {
                    let finds = asked.compactMap { if case .search(.find(let id, _, _, _)) = $0 { id } else { nil } }
                    #expect(finds.count == 1)
                    request = finds.first ?? 0
                }
                #expect(screen.shows("Searching …"))
            },
            .hears(window.queues[0]) {
                let own = [item("chat.family", "build 9", minutes: 9), item("chat.family", "build 1", minutes: 1)]
                return .search(.found(request: request, own, isComplete: true))
            },
            .sees { screen in #expect(screen.shows("Searching …")) },
            .hears(window.queues[1]) {
                // It has more behind these, so that what is older elsewhere comes with the next portion.
                let others = [item("chat.team", "build 8", minutes: 8), item("chat.team", "build 5", minutes: 5)]
                return .search(.found(request: request, others, isComplete: false, asker: 0))
            },
            .sees { screen in
                let found = screen.rows.filter { $0.contains("build ") && $0.contains("bob") }
                #expect(found.count == 3 && found[0].contains("build 9") && found[2].contains("build 5"), "\(found)")
                #expect(found[1].contains("work: chat.team") && !found[0].contains("home"))
            },
            .press(.down, .enter), .sees { screen in #expect(screen.shows("chat.team ─ around"), "\(screen.rows)") },
        ])
        #expect(loop.front == 1)
    }

    @Test("What one network cannot look through is no reason to show nothing of the others")
    func searchingInPart() {
        let window = Window()
        window.run(steps: [
            .type("/search build\n"),
            .does {
                for (index, asker) in [nil, 0].enumerated() {
                    for case .search(.find(let request, _, _, _)) in window.asked[index] {
                        let news = ChatEvent.SearchNews.failed(request: request, "Nothing is kept.", asker: asker)
                        _ = window.queues[index].offer(.search(news))
                    }
                }
                return [.woken]
            },
            .sees { screen in #expect(screen.shows("Nothing was found on this machine."), "\(screen.rows)") },
        ])
    }

    @Test("The sidebar's cursor stays on its row whatever changes above it")
    func cursor() {
        let window = Window()
        let (_, loop) = window.run(steps: [
            // At the other network, on the first one's only topic.
            .type("/connect work\n"), .press(.function(2)), .press(.home, .down),
            // It has another one now, and stands by activity.
            .hears(window.queues[0]) { .topic("chat.family", .messages([message(1, "x", topic: "chat.family")])) },
            .press(.enter),
        ])
        #expect(loop.front == 0 && loop.model.screen.view == .conversation("chat.family"))
    }
}
