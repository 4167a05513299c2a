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

    private func loop(_ screen: RehearsedScreen, _ desk: Desk) -> ChatLoop {
        ChatLoop(screen, queue: screen.queue, model: desk.model, clock: { screen.now() }, send: { _ in true })
    }

    private func key(_ character: Character) -> TerminalSession.Wake { .input([.key(Key(.character(character)))]) }

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

    @Test("What was written in the editor stands in the text, to be sent or written on")
    func editing() {
        let screen = RehearsedScreen()
        let keys = [Key(.character("o")), Key(.character("k")), .alt("e")]
        screen.inputs = keys.enumerated().map {
            (at: Desk.start + .milliseconds(10 + $0.offset), wake: .input([.key($0.element)]))
        }
        var loop = loop(screen, desk)
        loop.begin()
        loop.run()
        #expect(loop.model.compose.text == "ok, edited")
    }

    @Test("A message that is copied goes to the terminal's clipboard")
    func copying() {
        let screen = RehearsedScreen()
        screen.news = [(Desk.start + .milliseconds(1), .topic("chat.lobby", .messages([message(1, "take this")])))]
        let keys = [Key(.backTab), Key(.up), Key(.character("y"))]
        screen.inputs = keys.enumerated().map {
            (at: Desk.start + .milliseconds(10 + $0.offset), wake: .input([.key($0.element)]))
        }
        var loop = loop(screen, desk)
        loop.begin()
        loop.run()
        #expect(screen.copies == ["take this"])
    }

    @Test("B27: before the process stops the core is told, and the connection let go")
    func suspending() {
        for wake in [TerminalSession.Wake.suspending, .input([.key(.control("z"))])] {
            let screen = RehearsedScreen()
            screen.inputs = [(at: Desk.start + .seconds(1), wake: wake)]
            var steps: [String] = []
            var loop = ChatLoop(
                screen, queue: screen.queue, model: desk.model, clock: { screen.now() },
                send: { effect in
                    if case .connection(.setActive(let isActive)) = effect { steps.append("active \(isActive)") }
                    return true
                },
                letGo: { steps.append("let go, \(screen.suspensions)") })
            loop.begin()
            loop.run()
            #expect(steps == ["active false", "let go, 0", "active true"] && screen.suspensions == 1)
        }
    }

    @Test("What was typed has gone to the core when the person's editor gets the terminal")
    func typedBeforeEditing() {
        let screen = RehearsedScreen()
        screen.inputs = [(at: Desk.start, wake: .input([.key(.plain("o")), .key(.plain("k")), .key(.alt("e"))]))]
        let typing = desk
        typing.model.network.keepsDesk = true
        var told: [CoreEffect] = []
        var toldBefore: [CoreEffect] = []
        screen.whenEditing = { toldBefore = told }
        var loop = ChatLoop(
            screen, queue: screen.queue, model: typing.model, clock: { screen.now() },
            send: { effect in
                told.append(effect)
                return true
            })
        loop.begin()
        loop.run()
        #expect(
            toldBefore.contains { if case .store(.keepDraft(let draft)) = $0 { draft.text == "ok" } else { false } })
    }

    @Test("Of a terminal that is detached, and of one that is attached again, the core is told")
    func attaching() {
        let screen = RehearsedScreen()
        screen.inputs = [
            (at: Desk.start + .seconds(1), wake: .attached(false)),
            (at: Desk.start + .seconds(9), wake: .attached(true)),
        ]
        var told: [CoreEffect] = []
        var loop = ChatLoop(
            screen, queue: screen.queue, model: desk.model, clock: { screen.now() },
            send: { effect in
                if case .connection(.setActive) = effect { told.append(effect) }
                return true
            })
        loop.begin()
        loop.run()
        #expect(told == [.connection(.setActive(false)), .connection(.setActive(true))])
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
            var loop = ChatLoop(
                screen, queue: screen.queue, model: idle.model, clock: { screen.now() },
                send: { effect in
                    switch effect {
                    case .connection(.setActive), .connection(.probe): told.append(effect)
                    default: break
                    }
                    return true
                })
            loop.begin()
            loop.run()
            #expect(told == way.told, "\(way.wake)")
        }
    }

    @Test("A notification goes to the terminal while it is out of focus, and the bell of all reasons rings once")
    func notifying() {
        for (methods, bells) in [([NotificationMethod.osc99], 1), ([.bell], 1), ([.bell, .osc9], 1)] {
            let screen = RehearsedScreen()
            screen.methods = methods
            screen.inputs = [
                (at: Desk.start + .milliseconds(1), wake: .input([.focusIn])),
                (at: Desk.start + .milliseconds(2), wake: .input([.focusOut])),
            ]
            let call = message(1, "alice: look")
            screen.news = [(Desk.start + .milliseconds(5), .topic("chat.lobby", .messages([call])))]
            var loop = loop(screen, desk)
            loop.begin()
            loop.run()
            #expect(screen.notifications == [TerminalNotification(title: "bob in chat.lobby", body: "alice: look")])
            #expect(screen.bells == bells)
        }
    }

    @Test("What was held back is notified when its time has come, with its bell, with nothing else happening")
    func notifyingLater() {
        for method in [NotificationMethod.bell, .osc99] {
            let screen = RehearsedScreen()
            screen.methods = [method]
            screen.inputs = [
                (at: Desk.start + .milliseconds(1), wake: .input([.focusIn])),
                (at: Desk.start + .milliseconds(2), wake: .input([.focusOut])),
                (at: Desk.start + .seconds(30), wake: .hangUp),
            ]
            screen.news = [5, 6].map { number in
                let call = message(UInt64(number), "alice: \(number)")
                return (Desk.start + .milliseconds(number), .topic("chat.lobby", .messages([call])))
            }
            var loop = loop(screen, desk)
            loop.begin()
            loop.run()
            #expect(screen.notifications.map(\.body) == ["alice: 5", "alice: 6"])
            #expect(screen.bells == 2, "\(method)")
        }
    }

    @Test(
        "What came while the process was stopped is on the screen once all of it is here, with nothing else happening")
    func absenceIsDrawn() {
        let screen = RehearsedScreen()
        screen.inputs = [
            (at: Desk.start + .milliseconds(1), wake: .suspending),
            (at: Desk.start + .milliseconds(2), wake: .resumed),
            (at: Desk.start + .seconds(30), wake: .hangUp),
        ]
        screen.news = [(Desk.start + .milliseconds(5), .topic("chat.lobby", .messages([message(1, "missed")])))]
        var loop = loop(screen, desk)
        loop.begin()
        loop.run()
        #expect(screen.frame(with: "1 new in 1 topic") != nil)
        let continuations = loop.model.network.log.entries.filter { $0.event == .life(.continued) }
        #expect(continuations.count == 1)
    }

    @Test(
        "Many lines that come at once without brackets are in the text, and none is sent; one line is sent in a moment")
    func quickLines() {
        func keys(_ text: String) -> [InputEvent] {
            text.map { .key(Key($0 == "\n" ? .enter : .character($0))) }
        }
        for (text, sent) in [((1...30).map { "line \($0)\n" }.joined(), 0), ("hello there\n", 1), ("hello\nyou\n", 2)] {
            let screen = RehearsedScreen()
            screen.inputs = [
                (at: Desk.start + .milliseconds(1), wake: .input(keys(text))),
                (at: Desk.start + .seconds(5), wake: .hangUp),
            ]
            var count = 0
            var loop = ChatLoop(
                screen, queue: screen.queue, model: desk.model, clock: { screen.now() },
                send: { effect in
                    if case .topics(.publish) = effect { count += 1 }
                    return true
                })
            loop.begin()
            loop.run()
            #expect(count == sent)
            #expect((screen.frame(with: "line 30") != nil) == (sent == 0))
            #expect(loop.model.compose.isEmpty == (sent > 0))
        }
    }

    @Test("The test of a notification says by what it was sent")
    func testingNotifications() {
        let screen = RehearsedScreen()
        screen.methods = [.osc777]
        let keys = "/notify test".map { Key(.character($0)) } + [Key(.enter)]
        screen.inputs = [
            (at: Desk.start + .milliseconds(1), wake: .input(keys.map { .key($0) })),
            (at: Desk.start + .seconds(1), wake: .hangUp),
        ]
        var loop = loop(screen, desk)
        loop.begin()
        loop.run()
        #expect(screen.notifications.map(\.title) == ["Parley"])
        #expect(loop.model.notices.shown?.text.hasPrefix("Sent by OSC 777. ") == true)
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
        var loop = loop(screen, desk)
        loop.begin()
        loop.run()

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
        var loop = loop(screen, desk)
        loop.begin()
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
        var loop = loop(screen, desk)
        loop.begin()
        loop.run()
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
        var loop = loop(screen, desk)
        loop.begin()
        loop.run()
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
        var loop = loop(screen, desk)
        loop.begin()
        loop.run()
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
        var loop = loop(screen, desk)
        loop.begin()
        loop.run()
        for (text, second) in [("first", 5), ("second", 9)] {
            let frame = try #require(screen.frame(with: text))
            #expect(frame.at - (Desk.start + .seconds(second)) < .milliseconds(1))
        }
        #expect(screen.frames.count == 3)
    }

    @Test("With nothing to do the loop sleeps, and draws nothing")
    func idle() {
        let screen = RehearsedScreen()
        var loop = loop(screen, desk)
        loop.begin()
        loop.run()
        #expect(screen.sleeps == 1 && screen.frames.count == 1)
    }

    @Test("B61 B62 A silence counts on, and word of a recovery goes, though nothing else happens")
    func timePasses() {
        let screen = RehearsedScreen()
        var desk = Desk.joined("chat.lobby")
        for state in [.reconnecting, .connected] as [ConnectionStatus.State] {
            desk.send(.statusChanged(ConnectionStatus(state: state)))
        }
        let silent = ConnectionStatus(state: .connected, silentSince: Desk.start + .seconds(20))
        screen.news = [(at: Desk.start + .seconds(22), event: .statusChanged(silent))]
        screen.inputs = [(at: Desk.start + .milliseconds(25_500), wake: .hangUp)]
        var loop = loop(screen, desk)
        loop.begin()
        loop.run()
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
        var loop = loop(screen, desk)
        loop.begin()
        loop.run()
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
        var loop = loop(screen, desk)
        loop.begin()
        loop.run()
        let late = try #require(screen.frame(with: "behind, catching up"))
        #expect(late.at - Desk.start >= .seconds(1))
        #expect(screen.frames.last?.canvas.rows.contains { $0.contains("behind") } == false)
        #expect(screen.offered == 40_000 && screen.queue.waitingMessages == 0 && !loop.model.screen.isBehind)
    }

    @Test("What a key asks of the core goes there right after its frame, and what the last one asks before the end")
    func requests() {
        let screen = RehearsedScreen()
        let typed: [InputEvent] = [.key(Key(.character("h"))), .key(Key(.character("i"))), .key(Key(.enter))]
        screen.inputs = [
            (at: Desk.start + .seconds(1), wake: .input(typed)),
            (at: Desk.start + .seconds(2), wake: .input(typed)), (at: Desk.start + .seconds(2), wake: .hangUp),
        ]
        var published: [Int] = []
        var loop = ChatLoop(
            screen, queue: screen.queue, model: desk.model, clock: { screen.now() },
            send: { effect in
                if case .topics(.publish(_, "chat.lobby", "hi")) = effect { published.append(screen.frames.count) }
                return true
            })
        loop.begin()
        loop.run()
        // Of the frames the first is that of the beginning, the second that of the keys; the third is not drawn any
        // more.
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
        var loop = ChatLoop(
            screen, queue: screen.queue, model: typing.model, clock: { screen.now() },
            send: { effect in
                if case .store(.keepDraft(let draft)) = effect { kept.append((screen.instant, draft.text)) }
                return true
            })
        loop.begin()
        loop.run()
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
        let begin = Desk.start + .seconds(1)
        let enter = TerminalSession.Wake.input([.key(Key(.enter))])
        screen.inputs = [
            (at: begin, wake: key("h")), (at: begin + .milliseconds(5), wake: key("i")),
            (at: begin + .milliseconds(10), wake: enter), (at: begin + .milliseconds(15), wake: key("Q")),
            (at: begin + .milliseconds(20), wake: key("W")), (at: begin + .milliseconds(25), wake: .hangUp),
        ]
        let typing = desk
        typing.model.network.keepsDesk = true
        var asked: [String] = []
        var loop = ChatLoop(
            screen, queue: screen.queue, model: typing.model, clock: { screen.now() },
            send: { effect in
                switch effect {
                case .store(.keepDraft(let draft)): asked.append("keep “\(draft.text)”")
                case .topics(.publish(_, _, let text)): asked.append("publish \(text)")
                default: break
                }
                return true
            })
        loop.begin()
        loop.run()
        #expect(asked == ["keep “h”", "keep “hi”", "keep “”", "publish hi", "keep “Q”", "keep “QW”"])
    }

    @Test("Until what comes from elsewhere is there, keys count and are drawn")
    func keysMeanwhile() {
        let screen = RehearsedScreen()
        screen.inputs = [
            (at: Desk.start + .seconds(1), wake: key("Q")), (at: Desk.start + .seconds(2), wake: .woken),
            (at: Desk.start + .seconds(3), wake: key("W")),
        ]
        var loop = loop(screen, desk)
        loop.begin()
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
            var loop = loop(screen, desk)
            loop.begin()
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
        loop.begin()
        let isHeard = loop.run(until: { screen.bells > 0 && screen.instant < Desk.start + .seconds(11) ? true : nil })
        #expect(isHeard == true && screen.bells == 1)
        loop.run()
        #expect(screen.bells == 2)
    }
}
