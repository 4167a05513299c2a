import Relay
import Terminal
import Testing

@testable import Parley

/// A terminal whose person does one thing after the other, and sees what is drawn in between.
private final class StepScreen: ChatScreen {
    var size = Size(rows: 24, columns: 100)
    var hasPendingFrame: Bool { false }
    var linkUse = LinkUse.auto
    private(set) var rows: [String] = []
    private(set) var titles: [String] = []
    private var steps: [(StepScreen) -> [TerminalSession.Wake]]
    private var instant = Desk.start

    init(_ steps: [(StepScreen) -> [TerminalSession.Wake]]) { self.steps = steps.reversed() }

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
        guard let step = steps.popLast() else { return [.hangUp] }
        return step(self)
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
    private static func keys(_ text: String) -> TerminalSession.Wake {
        .input(text.map { .key($0 == "\n" ? Key(.enter) : .plain($0)) })
    }

    private static func press(_ keys: Key...) -> TerminalSession.Wake { .input(keys.map { .key($0) }) }

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
            steps: [(StepScreen) -> [TerminalSession.Wake]]
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
        func say(_ text: String, at sequence: UInt64 = 1) -> [TerminalSession.Wake] {
            _ = queues[1].offer(.topic("chat.team", .messages([message(sequence, text, topic: "chat.team")])))
            return [.woken]
        }
    }

    @Test(
        "B69 Each stands in the sidebar with its state; what is unread elsewhere is a key away, and each keeps its text"
    )
    func between() {
        let window = Window()
        let (screen, loop) = window.run(steps: [
            { _ in [Self.keys("dear")] },
            { screen in
                #expect(screen.side("● HOME") != nil && screen.side("● WORK") != nil)
                #expect(screen.side("chat.team") != nil && screen.shows("> dear"))
                return window.say("shall we?")
            },
            { screen in
                #expect(screen.side("chat.team")?.contains("1") == true, "\(screen.rows)")
                #expect(screen.titles.last == "(1) parley alice@home" && !screen.shows("shall we?"))
                return [Self.press(.alt("a"))]
            },
            { screen in
                #expect(screen.shows("── chat.team") && screen.shows("shall we?") && !screen.shows("> dear"))
                #expect(screen.side("chat.family")?.contains("✎") == true)
                #expect(screen.titles.last == "parley alice@work")
                return [Self.keys("yes\n")]
            },
            { _ in [Self.press(.control("g"))] },
            { _ in [Self.keys("family\n")] },
            { screen in
                #expect(screen.shows("── chat.family") && screen.shows("> dear"), "\(screen.rows)")
                return []
            },
        ])
        #expect(loop.front == 0 && !screen.rows.isEmpty)
        func lines(_ effects: [CoreEffect]) -> [String] {
            effects.compactMap {
                if case .topics(.publish(_, let topic, let text)) = $0 { "\(topic): \(text)" } else { nil }
            }
        }
        #expect(lines(window.asked[0]).isEmpty && lines(window.asked[1]) == ["chat.team: yes"])
    }

    @Test("B69 What is out of sight counts as unread, and the outage of one says nothing of the other")
    func apart() {
        let window = Window()
        window.run(steps: [
            { _ in window.say("one") },
            { _ in
                _ = window.queues[1].offer(.statusChanged(ConnectionStatus(state: .reconnecting, attempt: 2)))
                return [.woken]
            },
            { screen in
                #expect(screen.side("↻ WORK") != nil && screen.side("● HOME") != nil && screen.shows("● CONNECTED"))
                #expect(screen.side("chat.team")?.contains("1") == true)
                return [Self.keys("still here\n")]
            },
            { screen in
                #expect(screen.shows("still here"))
                return []
            },
        ])
    }

    @Test("The sidebar's rows lead to any network's topics and letters, by keys and by the mouse")
    func rows() {
        let window = Window()
        let (_, loop) = window.run(steps: [
            { _ in [Self.press(Key(.function(2)))] },
            { screen in
                // Down to the heading of the other network and on to its topic.
                [Self.press(Key(.end), Key(.up), Key(.enter))]
            },
            { screen in
                #expect(screen.shows("── chat.team"), "\(screen.rows)")
                let row = screen.rows.firstIndex { $0.contains("chat.family") } ?? 0
                return [.input([.mouse(MouseEvent(kind: .press, button: .left, row: row, column: 3))])]
            },
            { screen in
                #expect(screen.shows("── chat.family"))
                return []
            },
        ])
        #expect(loop.front == 0)
    }

    @Test("/connect opens the chat of another profile, brings one in front that is open, and says why where it cannot")
    func opening() {
        let window = Window()
        let (_, loop) = window.run(steps: [
            { _ in [Self.keys("/connect club\n")] },
            { screen in
                #expect(screen.side("● CLUB") != nil && screen.shows("── chat.dance"), "\(screen.rows)")
                return [Self.keys("/connect work\n")]
            },
            { screen in
                #expect(screen.shows("── chat.team"))
                return [Self.keys("/connect nowhere\n")]
            },
            { screen in
                #expect(screen.shows("There is no profile “nowhere”."))
                return []
            },
        ])
        #expect(window.opened == ["club"] && loop.chats.map(\.name) == ["home", "work", "club"])
    }

    @Test("A network that cannot be gone to at all is told and leaves the window; the other one goes on")
    func failing() {
        let window = Window()
        let (_, loop) = window.run(
            connect: { throw CommandFailure(78, "The profile has no servers.") },
            steps: [
                { _ in [.woken] },
                { screen in
                    #expect(screen.shows("work: The profile has no servers.") && screen.side("WORK") == nil)
                    #expect(screen.side("TOPICS") != nil)
                    return [Self.keys("on\n")]
                },
                { screen in
                    #expect(screen.shows("on"))
                    return []
                },
            ])
        #expect(loop.chats.count == 1)
    }

    @Test("B69 Whoever quits is asked by each network that has something unsent, and stays where they say no")
    func quitting() {
        for answer in ["n", "y"] {
            var work = Desk.joined("chat.team", state: .reconnecting)
            work.enter("not sent yet")
            let window = Window()
            var wasAsked = false
            let (_, loop) = window.run(
                work: work,
                steps: [
                    { _ in [Self.press(.control("q"))] },
                    { screen in
                        wasAsked =
                            screen.shows("1 message is not sent yet. Quit anyway?") && screen.shows("── chat.team")
                        return [Self.keys(answer)]
                    },
                    { _ in
                        // Only who has said no comes here.
                        [Self.keys("x")]
                    },
                ])
            #expect(wasAsked)
            #expect(loop.model.compose.text == (answer == "n" ? "x" : ""))
        }
    }

    @Test("The terminal's focus is told to all networks, and so is that the person does something again")
    func focus() {
        // A terminal that says that it reports, and whose report of a return is lost.
        let reports = InputEvent.reply(.mode(number: 1004, state: 1))
        let window = Window()
        window.run(steps: [
            { _ in [.input([reports])] }, { _ in [.input([.focusOut])] }, { _ in [Self.keys("x")] },
        ])
        for asked in window.asked.prefix(2) {
            let told = asked.compactMap { if case .connection(.setActive(let isActive)) = $0 { isActive } else { nil } }
            #expect(told == [false, true])
        }
    }

    @Test("A network that is opened later knows what the terminal has said of its focus")
    func openedLater() {
        let window = Window()
        let (_, loop) = window.run(steps: [
            { _ in [.input([.reply(.mode(number: 1004, state: 1))])] }, { _ in [Self.keys("/connect club\n")] },
            { _ in [.input([.focusOut])] },
        ])
        #expect(loop.chats.allSatisfy { !$0.model.attention.tracker.isForeground })
    }

    @Test("B69 The time limit of one network's first connection leaves the others alone")
    func timeLimit() {
        let window = Window()
        let (_, loop) = window.run(steps: [
            { _ in
                let end = ConnectionStatus(state: .disconnected, reason: .timeLimit(.seconds(20)))
                _ = window.queues[1].offer(.statusChanged(end))
                return [.woken]
            },
            { screen in
                #expect(screen.side("✕ WORK") != nil)
                return [Self.keys("still here")]
            },
        ])
        #expect(loop.model.compose.text == "still here")
    }

    @Test("Alt-a leads back to where it began when nothing is unread any more")
    func back() {
        let window = Window()
        let (_, loop) = window.run(steps: [
            { _ in window.say("one") }, { _ in [Self.press(.alt("a"))] },
            { screen in
                #expect(screen.shows("── chat.team"))
                return [Self.press(.alt("a"))]
            },
        ])
        #expect(loop.front == 0)
    }

    @Test("Who leaves a network by its sidebar finds the text with the keys on return; others are not told of typing")
    func leaving() {
        let window = Window()
        let (_, loop) = window.run(steps: [
            { _ in [Self.keys("dear ")] }, { _ in [Self.press(Key(.function(2)))] },
            { _ in [Self.press(Key(.end), Key(.up), Key(.enter))] }, { _ in [Self.press(.control("g"))] },
            { _ in [Self.keys("family\n")] }, { _ in [Self.keys("all")] },
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
            { _ in [Self.keys("/search build\n")] },
            { screen in
                for asked in window.asked.prefix(2) {
                    let finds = asked.compactMap { effect -> (UInt64, Int?)? in
                        guard case .search(.find(let request, _, _, let asker)) = effect else { return nil }
                        return (request, asker)
                    }
                    #expect(finds.count == 1)
                    request = finds.first?.0 ?? 0
                }
                let own = [item("chat.family", "build 9", minutes: 9), item("chat.family", "build 1", minutes: 1)]
                _ = window.queues[0].offer(.search(.found(request: request, own, isComplete: true)))
                #expect(screen.shows("Searching …"))
                return [.woken]
            },
            { screen in
                #expect(screen.shows("Searching …"))
                // It has more behind these, so that what is older elsewhere comes with the next portion.
                let others = [item("chat.team", "build 8", minutes: 8), item("chat.team", "build 5", minutes: 5)]
                let news = ChatEvent.SearchNews.found(request: request, others, isComplete: false, asker: 0)
                _ = window.queues[1].offer(.search(news))
                return [.woken]
            },
            { screen in
                let found = screen.rows.filter { $0.contains("build ") && $0.contains("bob") }
                #expect(found.count == 3 && found[0].contains("build 9") && found[2].contains("build 5"), "\(found)")
                #expect(found[1].contains("work: chat.team") && !found[0].contains("home"))
                return [Self.press(Key(.down), Key(.enter))]
            },
            { screen in
                #expect(screen.shows("chat.team ─ around"), "\(screen.rows)")
                return []
            },
        ])
        #expect(loop.front == 1)
    }

    @Test("What one network cannot look through is no reason to show nothing of the others")
    func searchingInPart() {
        let window = Window()
        window.run(steps: [
            { _ in [Self.keys("/search build\n")] },
            { _ in
                for (index, asker) in [nil, 0].enumerated() {
                    for case .search(.find(let request, _, _, _)) in window.asked[index] {
                        let news = ChatEvent.SearchNews.failed(request: request, "Nothing is kept.", asker: asker)
                        _ = window.queues[index].offer(.search(news))
                    }
                }
                return [.woken]
            },
            { screen in
                #expect(screen.shows("Nothing was found on this machine."), "\(screen.rows)")
                return []
            },
        ])
    }

    @Test("The sidebar's cursor stays on its row whatever changes above it")
    func cursor() {
        let window = Window()
        let (_, loop) = window.run(steps: [
            // At the other network, on the first one's only topic.
            { _ in [Self.keys("/connect work\n")] }, { _ in [Self.press(Key(.function(2)))] },
            { _ in [Self.press(Key(.home), Key(.down))] },
            { _ in
                // It has another one now, and stands by activity.
                _ = window.queues[0].offer(.topic("chat.family", .messages([message(1, "x", topic: "chat.family")])))
                return [.woken]
            },
            { _ in [Self.press(Key(.enter))] },
        ])
        #expect(loop.front == 0 && loop.model.screen.view == .conversation("chat.family"))
    }
}
