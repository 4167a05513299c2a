import Relay
import Terminal
import TestSupport
import Testing

@testable import Parley

/// A terminal, a network and a clock in one: what is to happen has its time, and time goes on with every look at the
/// clock and with every sleep.
private final class RehearsedScreen: ChatScreen {
    let queue: EventQueue
    private let flag: WakeFlag
    /// By how much each look at the clock is later than the one before it.
    private let pace: Duration
    private(set) var instant = Desk.start

    /// What the person does, and the news that come, each at its time, earliest first.
    var inputs: [(at: ContinuousClock.Instant, wake: TerminalSession.Wake)] = []
    var news: [(at: ContinuousClock.Instant, event: ChatEvent)] = []
    private(set) var offered = 0
    private(set) var inputsTaken = 0

    var size = Size(rows: 24, columns: 80)
    var hasPendingFrame = false
    var linkUse = LinkUse.auto
    /// Whether frames stay with the terminal until `inputs` has `.shown`.
    var takesNoOutput = false
    private(set) var frames: [(at: ContinuousClock.Instant, canvas: Canvas, waiting: Int)] = []
    private(set) var titles: [String] = []
    private(set) var copies: [String] = []
    private(set) var bells = 0
    private(set) var notifications: [TerminalNotification] = []
    private(set) var suspensions = 0
    /// By what the terminal shows notifications.
    var methods: [NotificationMethod] = [.osc99]
    private(set) var sleeps = 0
    /// Whether the process stands still in its sleep, so that deadlines pass unseen until the next input.
    var standsStill = false
    /// How long the person's editor has the terminal.
    var editingTime = Duration.zero
    var whenEditing: () -> Void = {}

    init(pace: Duration = .microseconds(10)) {
        let flag = WakeFlag()
        self.flag = flag
        self.pace = pace
        queue = EventQueue { flag.raise() }
    }

    /// The time, which is later at every look.
    func now() -> Moment {
        instant += pace
        offerNews()
        return Moment(instant: instant, wall: Desk.wall)
    }

    private func offerNews() {
        while offered < news.count, news[offered].at <= instant, queue.offer(news[offered].event) { offered += 1 }
    }

    func wait(until deadline: ContinuousClock.Instant?) -> [TerminalSession.Wake] {
        var hasSlept = false
        while true {
            offerNews()
            var wakes: [TerminalSession.Wake] = []
            while inputsTaken < inputs.count, inputs[inputsTaken].at <= instant {
                if inputs[inputsTaken].wake == .shown { (hasPendingFrame, takesNoOutput) = (false, false) }
                wakes.append(inputs[inputsTaken].wake)
                inputsTaken += 1
            }
            if flag.take() { wakes.append(.woken) }
            if !wakes.isEmpty { return wakes }
            if let deadline, deadline <= instant { return [.timedOut] }
            if !hasSlept { sleeps += 1 }
            hasSlept = true
            var next = deadline
            if inputsTaken < inputs.count {
                let input = inputs[inputsTaken].at
                next = standsStill ? input : min(next ?? input, input)
            }
            if offered < news.count, news[offered].at > instant {
                next = min(next ?? news[offered].at, news[offered].at)
            }
            // Nothing would ever happen again.
            guard let next else { return [.hangUp] }
            instant = max(instant, next)
        }
    }

    func present(_ canvas: Canvas) {
        frames.append((instant, canvas, queue.waitingMessages))
        hasPendingFrame = takesNoOutput
    }

    func redraw() {}
    func bell() { bells += 1 }
    func notify(_ notification: TerminalNotification, by use: NotificationUse) -> [NotificationMethod] {
        notifications.append(notification)
        return methods
    }
    func setTitle(_ title: String) { titles.append(title) }
    func copy(_ text: String) { copies.append(text) }
    func edit(_ text: String) -> TextEditor.Outcome {
        whenEditing()
        instant += editingTime
        return .written(text + ", edited")
    }
    func suspend() -> Bool {
        suspensions += 1
        return true
    }

    /// The first frame that shows a text.
    func frame(with text: String) -> (at: ContinuousClock.Instant, canvas: Canvas, waiting: Int)? {
        frames.first { $0.canvas.rows.contains { $0.contains(text) } }
    }
}

extension ChatLoop {
    /// The loop of one chat.
    fileprivate init(
        _ screen: RehearsedScreen, queue: EventQueue, model: ChatModel, clock: @escaping () -> Moment,
        send: @escaping (CoreEffect) -> Bool, letGo: @escaping () -> Void = {}
    ) {
        let run = EngineRun(queue: queue) { request in
            if case .effect(let effect) = request { return send(effect) }
            letGo()
            if case .letGo(let gate) = request { gate.open() }
            return true
        }
        self.init(screen, [WindowChat(name: "local", model: model, run: run)], clock: clock)
    }
}

@Suite("The screen's loop")
struct ChatLoopTests {
    private static let topics = ["chat.lobby", "chat.qa", "chat.ops", "chat.dev"]

    /// Runs a chat until nothing more happens; `send` is given what goes to the core.
    @discardableResult
    private func run(
        _ screen: RehearsedScreen, _ desk: Desk? = nil, send: @escaping (CoreEffect) -> Void = { _ in },
        letGo: @escaping () -> Void = {}
    ) -> ChatLoop {
        var loop = loop(screen, desk, send: send, letGo: letGo)
        loop.run()
        return loop
    }

    /// The loop of a chat that has begun.
    private func loop(
        _ screen: RehearsedScreen, _ desk: Desk? = nil, send: @escaping (CoreEffect) -> Void = { _ in },
        letGo: @escaping () -> Void = {}
    ) -> ChatLoop {
        var loop = ChatLoop(
            screen, queue: screen.queue, model: (desk ?? self.desk).model, clock: { screen.now() },
            send: { effect in
                send(effect)
                return true
            }, letGo: letGo)
        loop.begin()
        return loop
    }

    /// Keys that come at once, so long after the beginning.
    private func keys(_ keys: Key..., at time: Duration = .zero) -> (
        at: ContinuousClock.Instant, wake: TerminalSession.Wake
    ) {
        (Desk.start + time, .input(keys.map { .key($0) }))
    }

    private func key(_ character: Character) -> TerminalSession.Wake { .input([.key(.plain(character))]) }

    /// Messages of four topics in turns, all at once or one after another.
    private func flood(_ count: Int, every wait: Duration = .zero) -> [(at: ContinuousClock.Instant, event: ChatEvent)]
    {
        (0..<count).map { index in
            let topic = Self.topics[index % Self.topics.count]
            let news = message(UInt64(index + 1), "line \(index + 1)", topic: topic)
            return (Desk.start + wait * index + .milliseconds(1), .topic(topic, .messages([news])))
        }
    }

    private var desk: Desk {
        let topics = Self.topics
        return Desk.joined(topics[0], topics[1], topics[2], topics[3])
    }

    @Test(
        "What was typed is kept when the editor gets the terminal; what was written there is to be sent or written on")
    func editing() {
        let screen = RehearsedScreen()
        screen.inputs = [keys(.plain("o"), .plain("k"), .alt("e"))]
        let typing = desk
        typing.model.network.keepsDesk = true
        var told: [CoreEffect] = []
        var toldBefore: [CoreEffect] = []
        screen.whenEditing = { toldBefore = told }
        let loop = run(screen, typing) { told.append($0) }
        #expect(
            toldBefore.contains { if case .store(.keepDraft(let draft)) = $0 { draft.text == "ok" } else { false } })
        #expect(loop.model.compose.text == "ok, edited")
    }

    @Test("A message that is copied goes to the terminal's clipboard")
    func copying() {
        let screen = RehearsedScreen()
        screen.news = [(Desk.start + .milliseconds(1), .topic("chat.lobby", .messages([message(1, "take this")])))]
        screen.inputs = [keys(.backTab, .up, .plain("y"), at: .milliseconds(10))]
        run(screen)
        #expect(screen.copies == ["take this"])
    }

    @Test("B27: before the process stops the core is told, and the connection let go")
    func suspending() {
        for wake in [TerminalSession.Wake.suspending, .input([.key(.control("z"))])] {
            let screen = RehearsedScreen()
            screen.inputs = [(at: Desk.start + .seconds(1), wake: wake)]
            var steps: [String] = []
            run(
                screen,
                send: { effect in
                    if case .connection(.setActive(let isActive)) = effect { steps.append("active \(isActive)") }
                }, letGo: { steps.append("let go, \(screen.suspensions)") })
            #expect(steps == ["active false", "let go, 0", "active true"] && screen.suspensions == 1)
        }
    }

    @Test("Of a terminal that is detached, and of one that is attached again, the core is told")
    func attaching() {
        let screen = RehearsedScreen()
        screen.inputs = [
            (at: Desk.start + .seconds(1), wake: .attached(false)),
            (at: Desk.start + .seconds(9), wake: .attached(true)),
        ]
        var told: [Bool] = []
        run(screen) { if case .connection(.setActive(let isActive)) = $0 { told.append(isActive) } }
        #expect(told == [false, true])
    }

    @Test("Whoever comes back to a process that stood still, or from the editor, is not taken for away by idleAfter")
    func comingBack() {
        let ways: [(seconds: Int, wake: TerminalSession.Wake, told: [CoreEffect])] = [
            (3_600, .resumed, [.connection(.probe)]), (3_600, key("x"), []), (3_600, .input([.focusIn]), []),
            (3_600, .attached(true), []), (1, .input([.key(.alt("e"))]), []),
            // A terminal's size is nobody's sign of life.
            (3_600, .resized(Size(rows: 30, columns: 90)), [.connection(.setActive(false))]),
        ]
        for way in ways {
            let idle = desk
            idle.model.settings.idleTime = .seconds(600)
            let screen = RehearsedScreen()
            screen.standsStill = true
            screen.editingTime = .seconds(3_599)
            screen.inputs = [
                (at: Desk.start + .seconds(way.seconds), wake: way.wake),
                (at: Desk.start + .seconds(3_700), wake: .hangUp),
            ]
            var told: [CoreEffect] = []
            run(screen, idle) { effect in
                switch effect {
                case .connection(.setActive), .connection(.probe): told.append(effect)
                default: break
                }
            }
            #expect(told == way.told, "\(way.wake)")
        }
    }

    @Test(
        "Out of focus notifications go to the terminal, the next when its time has come, and one bell rings for each",
        arguments: [[.osc99], [.bell], [.bell, .osc9]] as [[NotificationMethod]])
    func notifying(methods: [NotificationMethod]) {
        let screen = RehearsedScreen()
        screen.methods = methods
        screen.inputs = [
            (at: Desk.start + .milliseconds(1), wake: .input([.focusIn])),
            (at: Desk.start + .milliseconds(2), wake: .input([.focusOut])),
            (at: Desk.start + .seconds(30), wake: .hangUp),
        ]
        screen.news = [5, 6].map { number in
            let call = message(UInt64(number), "alice: \(number)")
            return (Desk.start + .milliseconds(number), .topic("chat.lobby", .messages([call])))
        }
        run(screen)
        #expect(screen.notifications.first == TerminalNotification(title: "bob in chat.lobby", body: "alice: 5"))
        #expect(screen.notifications.map(\.body) == ["alice: 5", "alice: 6"] && screen.bells == 2)
    }

    @Test(
        "What came while the process was stopped is on the screen once all of it is here, with nothing else happening")
    func absenceIsDrawn() {
        let screen = RehearsedScreen()
        screen.inputs = [
            (at: Desk.start + .milliseconds(1), wake: .suspending), (at: Desk.start + .milliseconds(2), wake: .resumed),
            (at: Desk.start + .seconds(30), wake: .hangUp),
        ]
        screen.news = [(Desk.start + .milliseconds(5), .topic("chat.lobby", .messages([message(1, "missed")])))]
        let loop = run(screen)
        #expect(screen.frame(with: "1 new in 1 topic") != nil)
        #expect(loop.model.network.log.entries.count { $0.event == .life(.continued) } == 1)
    }

    @Test(
        "Many lines that come at once without brackets are in the text, and none is sent; one line is sent in a moment",
        arguments: [((1...30).map { "line \($0)\n" }.joined(), 0), ("hello there\n", 1), ("hello\nyou\n", 2)])
    func quickLines(text: String, sent: Int) {
        let screen = RehearsedScreen()
        screen.inputs = [
            (at: Desk.start + .milliseconds(1), wake: .input(text.map { .key($0 == "\n" ? .enter : .plain($0)) })),
            (at: Desk.start + .seconds(5), wake: .hangUp),
        ]
        var count = 0
        let loop = run(screen) { if case .topics(.publish) = $0 { count += 1 } }
        #expect(count == sent)
        #expect((screen.frame(with: "line 30") != nil) == (sent == 0) && loop.model.compose.isEmpty == (sent > 0))
    }

    @Test("The test of a notification says by what it was sent")
    func testingNotifications() {
        let screen = RehearsedScreen()
        screen.methods = [.osc777]
        let typed = "/notify test".map { Key.plain($0) } + [.enter]
        screen.inputs = [
            (at: Desk.start + .milliseconds(1), wake: .input(typed.map { .key($0) })),
            (at: Desk.start + .seconds(1), wake: .hangUp),
        ]
        run(screen)
        #expect(screen.notifications.map(\.title) == ["Parley"] && screen.frame(with: "Sent by OSC 777. ") != nil)
    }

    @Test(
        "B54: a key that comes while 50,000 messages wait is drawn after one portion at most, and none of them is lost",
        .processorBound)
    func keyInFlood() throws {
        let screen = RehearsedScreen()
        screen.news = flood(50_000)
        // Each in the middle of the flood, wherever the loop is then.
        let letters: [Character] = ["Q", "W", "Z"]
        let times = (1...letters.count).map { Desk.start + Duration.milliseconds(2 * $0) }
        screen.inputs = zip(times, letters).map { (at: $0, wake: key($1)) }
        let loop = run(screen)

        for (time, text) in zip(times, ["> Q", "> QW", "> QWZ"]) {
            let drawn = try #require(screen.frame(with: text))
            // A portion, its last event, and the steps around it, of which each looks at the clock a few times.
            #expect(drawn.at - time <= ScreenPace.portionTime + .milliseconds(1), "\(text) after \(drawn.at - time)")
        }
        let first = try #require(screen.frame(with: "> Q"))
        #expect(first.waiting > 1_000, "the flood was over")
        #expect(screen.offered == 50_000 && screen.queue.waitingMessages == 0)
        let conversations = loop.model.network.conversations
        for (index, topic) in Self.topics.enumerated() {
            let newest = conversations.named(topic)?.rows.last?.position.sequence
            #expect(newest == UInt64(49_997 + index))
            // One is in view, so nothing of it is unread.
            #expect(conversations.named(topic)?.unread == (index == 0 ? 0 : 12_500))
        }
    }

    @Test("Between a key and its frame no more than one portion of the news is taken", .processorBound)
    func portions() throws {
        // Time stands still for the loop, so that the number alone bounds a portion.
        let screen = RehearsedScreen(pace: .nanoseconds(1))
        screen.news = flood(20_000)
        var loop = loop(screen)
        screen.inputs = [(at: Desk.start + .milliseconds(1) + .nanoseconds(100), wake: key("Q"))]
        var before = 0
        while screen.frame(with: "> Q") == nil {
            before = taken(screen)
            loop.takeStep()
            #expect(taken(screen) - before <= ScreenPace.portionMessages + EventQueue.batch)
            #expect(screen.inputsTaken == 0 || screen.frame(with: "> Q") != nil || taken(screen) == before)
            try #require(taken(screen) < 20_000)
        }
        #expect(before > 2_000, "the key came before the flood")
    }

    private func taken(_ screen: RehearsedScreen) -> Int { screen.offered - screen.queue.waitingMessages }

    @Test("Messages that come one by one wake the screen once for each frame, and all are shown")
    func gathering() throws {
        let screen = RehearsedScreen()
        screen.news = flood(1_000, every: .milliseconds(1))
        run(screen)
        // A second, of which each frame takes a thirtieth; and one for the beginning.
        #expect((25...33).contains(screen.frames.count), "\(screen.frames.count)")
        #expect(screen.sleeps < 110, "\(screen.sleeps)")
        #expect(screen.frames.last?.canvas.rows.contains { $0.hasSuffix("line 997") } == true)
        #expect(screen.titles.count <= screen.frames.count)
    }

    @Test(
        "What is kept of the topic in view is on the screen at once, however shortly after another frame it comes")
    func answers() throws {
        let screen = RehearsedScreen()
        let kept = KeptTopic(messages: [message(7, "what was kept")], readThrough: 7)
        screen.news = [
            (Desk.start + .milliseconds(2), .topic("chat.lobby", .live)),
            (Desk.start + .milliseconds(5), .past("chat.lobby", .kept(kept))),
        ]
        run(screen)
        let frame = try #require(screen.frame(with: "what was kept"))
        #expect(frame.at - Desk.start < .milliseconds(6), "after \(frame.at - Desk.start)")
    }

    @Test("Answers for topics that are not in view come with the next frame of news")
    func answersElsewhere() {
        let screen = RehearsedScreen()
        screen.news = (1...200).map { number in
            let topic = Self.topics[1 + number % 3]
            let news = ChatEvent.past(topic, .keptHistory([], gaps: []))
            return (Desk.start + .milliseconds(number), news)
        }
        run(screen)
        #expect(screen.frames.count < 12, "\(screen.frames.count)")
        #expect(screen.offered == 200 && screen.queue.take() == nil)
    }

    @Test("A message after a pause is shown at once")
    func single() throws {
        let screen = RehearsedScreen()
        screen.news = [
            (Desk.start + .seconds(5), .topic("chat.lobby", .messages([message(1, "first")]))),
            (Desk.start + .seconds(9), .topic("chat.lobby", .messages([message(2, "second")]))),
        ]
        run(screen)
        for (text, second) in [("first", 5), ("second", 9)] {
            let frame = try #require(screen.frame(with: text))
            #expect(frame.at - (Desk.start + .seconds(second)) < .milliseconds(1))
        }
        #expect(screen.frames.count == 3)
    }

    @Test("With nothing to do the loop sleeps, and draws nothing")
    func idle() {
        let screen = RehearsedScreen()
        run(screen)
        #expect(screen.sleeps == 1 && screen.frames.count == 1)
    }

    @Test("B61 B62 A silence counts on, and word of a recovery goes, though nothing else happens")
    func timePasses() {
        let screen = RehearsedScreen()
        var desk = Desk.joined("chat.lobby")
        for state in [.reconnecting, .connected] as [ConnectionStatus.State] {
            desk.becomes(state)
        }
        let silent = ConnectionStatus(state: .connected, silentSince: Desk.start + .seconds(20))
        screen.news = [(at: Desk.start + .seconds(22), event: .statusChanged(silent))]
        screen.inputs = [(at: Desk.start + .milliseconds(25_500), wake: .hangUp)]
        run(screen, desk)
        func titles(_ seconds: Range<Int>) -> [String] {
            screen.frames.filter {
                $0.at >= Desk.start + .seconds(seconds.lowerBound) && $0.at < Desk.start + .seconds(seconds.upperBound)
            }.compactMap { $0.canvas.rows.first }
        }
        #expect(titles(0..<8).last?.contains("back after") == true)
        #expect(titles(8..<22).last?.contains("back after") == false)
        for second in 2...5 {
            #expect(titles(20 + second..<21 + second).last?.contains("no answer for \(second) s") == true, "\(second)")
        }
    }

    @Test(
        "While the terminal takes no output, messages are taken and not drawn; what comes last is shown then",
        .processorBound)
    func blockedTerminal() throws {
        let screen = RehearsedScreen()
        screen.news = flood(8_000, every: .microseconds(500))
        screen.inputs = [
            (at: Desk.start + .seconds(1), wake: key("Q")), (at: Desk.start + .seconds(3), wake: .shown),
        ]
        screen.takesNoOutput = true
        run(screen)
        let blocked = screen.frames.filter { $0.at < Desk.start + .seconds(3) }
        // The first frame, and the key's.
        #expect(blocked.count == 2 && blocked.last?.canvas.rows.contains { $0.contains("> Q") } == true)
        #expect(screen.frames.count > 10 && screen.offered == 8_000 && screen.queue.waitingMessages == 0)
        #expect(screen.frame(with: "line 7997") != nil)
    }

    @Test("A screen that does not keep up says so until it has, and takes everything in the end", .processorBound)
    func lagging() throws {
        // Each event costs 10 ms of the screen's thread.
        let screen = RehearsedScreen(pace: .milliseconds(10))
        screen.news = flood(40_000)
        let loop = run(screen)
        let late = try #require(screen.frame(with: "behind, catching up"))
        #expect(late.at - Desk.start >= .seconds(1))
        #expect(screen.frames.last?.canvas.rows.contains { $0.contains("behind") } == false)
        #expect(screen.offered == 40_000 && screen.queue.waitingMessages == 0 && !loop.model.screen.isBehind)
    }

    @Test("What a key asks of the core goes there right after its frame, and what the last one asks before the end")
    func requests() {
        let screen = RehearsedScreen()
        screen.inputs = [
            keys(.plain("h"), .plain("i"), .enter, at: .seconds(1)),
            keys(.plain("h"), .plain("i"), .enter, at: .seconds(2)), (at: Desk.start + .seconds(2), wake: .hangUp),
        ]
        var published: [Int] = []
        run(screen) { if case .topics(.publish(_, "chat.lobby", "hi")) = $0 { published.append(screen.frames.count) } }
        // The first frame is that of the beginning, the second that of the keys; the third is not drawn any more.
        #expect(published == [2, 2])
    }

    @Test("Of a text that is typed quickly each state is kept within a moment, and not each key for itself")
    func drafts() throws {
        let screen = RehearsedScreen()
        let text = Array("a sentence of some length")
        let gap = Duration.milliseconds(100)
        let times = text.indices.map { Desk.start + .seconds(1) + gap * $0 }
        screen.inputs = zip(times, text).map { (at: $0, wake: key($1)) }
        let typing = desk
        typing.model.network.keepsDesk = true
        var kept: [(at: ContinuousClock.Instant, text: String)] = []
        run(screen, typing) { if case .store(.keepDraft(let draft)) = $0 { kept.append((screen.instant, draft.text)) } }
        for (place, time) in times.enumerated() {
            let state = String(text[...place])
            let first = try #require(kept.first { $0.text.hasPrefix(state) }, "\(state)")
            #expect(first.at - time <= EngineRun.draftPause + .milliseconds(2), "\(state) after \(first.at - time)")
        }
        // The first key goes at once, as does one behind a pause.
        #expect(kept.first?.text == "a" && kept.last?.text == String(text))
        #expect(kept.count <= 2 + text.count / 3, "\(kept)")
    }

    @Test("What follows a text goes to the core behind it and takes it along, and so does the end")
    func draftsInOrder() {
        let screen = RehearsedScreen()
        let typed: [Key] = [.plain("h"), .plain("i"), .enter, .plain("Q"), .plain("W")]
        let begin = Desk.start + .seconds(1)
        screen.inputs = typed.enumerated().map {
            (at: begin + .milliseconds(5 * $0.offset), wake: .input([.key($0.element)]))
        }
        screen.inputs.append((at: begin + .milliseconds(25), wake: .hangUp))
        let typing = desk
        typing.model.network.keepsDesk = true
        var asked: [String] = []
        run(screen, typing) { effect in
            switch effect {
            case .store(.keepDraft(let draft)): asked.append("keep “\(draft.text)”")
            case .topics(.publish(_, _, let text)): asked.append("publish \(text)")
            default: break
            }
        }
        #expect(asked == ["keep “h”", "keep “hi”", "keep “”", "publish hi", "keep “Q”", "keep “QW”"])
    }

    @Test("Until what comes from elsewhere is there, keys count and are drawn")
    func keysMeanwhile() {
        let screen = RehearsedScreen()
        screen.inputs = [
            (at: Desk.start + .seconds(1), wake: key("Q")), (at: Desk.start + .seconds(2), wake: .woken),
            (at: Desk.start + .seconds(3), wake: key("W")),
        ]
        var loop = loop(screen)
        let found = loop.run(until: { screen.instant >= Desk.start + .seconds(2) ? "there" : nil })
        #expect(found == "there" && screen.frame(with: "> Q") != nil && loop.model.compose.text == "Q")
        loop.run()
        #expect(loop.model.compose.text == "QW")
    }

    @Test("An end that comes before what is awaited from elsewhere is the end")
    func endMeanwhile() {
        let ends: [(wake: TerminalSession.Wake, signal: Int32?)] = [
            (.input([.key(.control("q"))]), nil), (.terminate(signal: 15), 15), (.hangUp, nil),
        ]
        for (wake, signal) in ends {
            let screen = RehearsedScreen()
            screen.inputs = [
                (at: Desk.start + .seconds(1), wake: wake), (at: Desk.start + .seconds(2), wake: .woken),
            ]
            var loop = loop(screen)
            let found = loop.run(until: { screen.instant >= Desk.start + .seconds(2) ? "there" : nil })
            loop.run()
            #expect(found == nil && loop.endingSignal == signal && screen.inputsTaken == 1, "\(wake)")
        }
    }

    @Test("The bell rings once for a frame and once with what was held back, however many messages ask for it")
    func bell() {
        let screen = RehearsedScreen()
        var away = desk
        away.loseFocus()
        screen.news = (0..<50).map { index in
            let news = message(UInt64(index + 1), "@alice \(index)", topic: Self.topics[index % 4])
            return (Desk.start + .seconds(1), .topic(Self.topics[index % 4], .messages([news])))
        }
        var loop = loop(screen, away)
        let isHeard = loop.run(until: { screen.bells > 0 && screen.instant < Desk.start + .seconds(11) ? true : nil })
        #expect(isHeard == true && screen.bells == 1)
        loop.run()
        #expect(screen.bells == 2)
    }
}
