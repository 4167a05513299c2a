import Relay
import Terminal
import Testing

@testable import Parley

@Suite("Away and back")
struct AbsenceTests {
    private static func moment(minutes: Int64) -> Moment {
        Moment(
            instant: Desk.start + .seconds(minutes * 60),
            wall: Timestamp(milliseconds: Desk.wall.milliseconds + minutes * 60_000))
    }

    private static func lines(_ sequences: ClosedRange<UInt64>, minutes: Int64 = 0) -> [StoredLine] {
        sequences.map {
            StoredLine(
                id: "m\($0)", topic: "a", sequence: $0, name: "bob", text: "hello",
                time: moment(minutes: minutes).wall, isOwn: false, isRecovered: false)
        }
    }

    // MARK: The sentence

    @Test("Nothing new is worth a word only where the connection was suspended, and a moment elsewhere is worth none")
    func worth() {
        var quiet = Absence(leftAt: Desk.start)
        quiet.end(at: Self.moment(minutes: 14), isConnected: true, topics: [])
        #expect(!quiet.isWorthTelling)
        var suspended = Absence(leftAt: Desk.start)
        suspended.rests(.suspended)
        suspended.end(at: Self.moment(minutes: 14), isConnected: true, topics: [])
        #expect(suspended.isWorthTelling && suspended.sentence == "away 14 min: nothing new")
        var short = Absence(leftAt: Desk.start)
        short.take(Self.lines(1...3), in: "a")
        short.end(at: Moment(instant: Desk.start + .seconds(59), wall: Desk.wall), isConnected: true, topics: [])
        #expect(!short.isWorthTelling)
        // A quick look at the shell is worth a word where something came, as the connection was let go for it.
        for (seconds, lines, isWorth) in [(10, UInt64(0), false), (10, 3, true), (60, 0, true)] {
            var stopped = Absence(leftAt: Desk.start)
            stopped.rests(.stopped)
            stopped.rests(.suspended)
            if lines > 0 { stopped.take(Self.lines(1...lines), in: "a") }
            let back = Moment(instant: Desk.start + .seconds(seconds), wall: Desk.wall)
            stopped.end(at: back, isConnected: true, topics: [])
            #expect(stopped.isWorthTelling == isWorth)
        }
    }

    @Test("One of each has its own form, and what did not come is left out")
    func forms() {
        var absence = Absence(leftAt: Desk.start)
        absence.take(Self.lines(1...1), in: "a")
        absence.end(at: Self.moment(minutes: 200), isConnected: true, topics: [])
        #expect(absence.sentence == "away 3 h: 1 new in 1 topic")
        var letters = Absence(leftAt: Desk.start)
        letters.take(letter(1))
        letters.end(at: Self.moment(minutes: 1), isConnected: true, topics: [])
        #expect(letters.isWorthTelling && letters.sentence == "away 60 s: 1 letter")
    }

    @Test("What was missed is waited for until each topic is live, and not for long")
    func waiting() {
        var absence = Absence(leftAt: Desk.start)
        absence.rests(.suspended)
        let back = Self.moment(minutes: 14)
        absence.end(at: back, isConnected: false, topics: ["a", "b"])
        #expect(absence.due == nil)
        absence.connected(at: back.instant + .seconds(3))
        #expect(absence.due == back.instant + .seconds(8))
        absence.disconnected()
        #expect(absence.due == nil)
        absence.connected(at: back.instant + .seconds(3))
        absence.take(Self.lines(1...2, minutes: 5), in: "a")
        absence.take(Self.lines(3...3, minutes: 15), in: "a")
        absence.caughtUp("a")
        absence.caughtUp("b")
        #expect(absence.due == back.instant + .seconds(4))
        #expect(absence.sentence == "away 14 min: 2 new in 1 topic")
    }

    @Test("A moment in front of the screen without a key ends no absence, a key or a minute does")
    func goingOn() {
        func returned() -> Absence {
            var absence = Absence(leftAt: Desk.start)
            absence.take(Self.lines(1...2), in: "a")
            absence.end(at: Self.moment(minutes: 14), isConnected: true, topics: [])
            return absence
        }
        var quick = returned()
        let goesOn = quick.goOn(at: Self.moment(minutes: 14).instant + .seconds(5))
        #expect(goesOn)
        quick.take(Self.lines(3...3), in: "a")
        quick.end(at: Self.moment(minutes: 16), isConnected: true, topics: [])
        #expect(quick.sentence == "away 16 min: 3 new in 1 topic")
        var typed = returned()
        typed.personTypes()
        let hasTyped = !typed.goOn(at: Self.moment(minutes: 14).instant + .seconds(5))
        var read = returned()
        let hasRead = !read.goOn(at: Self.moment(minutes: 15).instant)
        #expect(hasTyped && hasRead)
    }

    // MARK: On the screen

    private static func say(_ sequences: ClosedRange<UInt64>, in topic: String, minutes: Int64 = 1) -> ChatEvent {
        .topic(topic, .messages(sequences.map { message($0, "news \($0)", topic: topic, minutes: minutes) }))
    }

    @Test("B21: on return one row says what came, once, and a key goes to the first of it")
    func told() {
        var desk = Desk.joined("chat.lobby", "chat.qa", "chat.ops")
        desk.loseFocus()
        desk.send(Self.say(1...2, in: "chat.qa", minutes: 2))
        desk.send(Self.say(1...3, in: "chat.ops", minutes: 1))
        desk.send(.postbox(.created(letter(1))))
        desk.wait(.seconds(14 * 60))
        desk.send(.input(.focusIn))
        let words = "away 14 min: 5 new in 2 topics, 1 letter"
        #expect(desk.shows("─ \(words) · Alt-a ─"))
        #expect(desk.screen().filter { $0.lowercased().contains(words) }.count == 1 && desk.model.notices.shown == nil)
        // Without that row the bottom of the pane says it.
        var tiny = Desk.joined("chat.lobby", "chat.qa", size: Size(rows: 6, columns: 40))
        tiny.loseFocus()
        tiny.send(Self.say(1...2, in: "chat.qa", minutes: 2))
        tiny.wait(.seconds(14 * 60))
        tiny.send(.input(.focusIn))
        #expect(tiny.notice == "Away 14 min: 2 new in 1 topic. Alt-a goes to the first.")
        desk.press(.alt("a"))
        #expect(desk.view == .conversation("chat.ops"))
        #expect(!desk.screen().contains { $0.contains(words) && $0.hasPrefix("─") })
        // And from there on as ever.
        desk.press(.alt("a"))
        #expect(desk.view == .conversation("chat.qa"))
    }

    @Test("In front of many new messages the key shows the first of them")
    func scrolled() {
        var desk = Desk.joined("chat.lobby", "chat.qa")
        desk.loseFocus()
        desk.send(Self.say(1...100, in: "chat.qa"))
        desk.wait(.seconds(120))
        desk.send(.input(.focusIn))
        desk.press(.alt("a"))
        #expect(desk.screen().contains { $0.hasSuffix("news 1") || $0.contains("news 1 ") })
    }

    @Test("The row goes with Escape, and with what is sent")
    func dismissed() {
        let ways: [(inout Desk) -> Void] = [{ _ = $0.press(.escape) }, { _ = $0.enter("hello") }]
        for dismiss in ways {
            var desk = Desk.joined("chat.lobby", "chat.qa")
            desk.loseFocus()
            desk.send(Self.say(1...2, in: "chat.qa"))
            desk.wait(.seconds(120))
            desk.send(.input(.focusIn))
            #expect(desk.shows("away 2 min: 2 new in 1 topic · Alt-a"))
            dismiss(&desk)
            #expect(!desk.screen().contains { $0.hasPrefix("─") && $0.contains("away 2 min") })
        }
    }

    @Test("What is muted and what was sent from elsewhere is not counted, and nothing at all is said without news")
    func notCounted() {
        var desk = Desk.joined("chat.lobby", "chat.qa")
        desk.enter("/mute chat.qa")
        desk.loseFocus()
        desk.send(Self.say(1...2, in: "chat.qa"))
        desk.receive([message(1, "from my other device", from: "alice")])
        desk.wait(.seconds(600))
        desk.send(.input(.focusIn))
        #expect(desk.model.attention.absence == nil && desk.model.notices.shown == nil)
    }

    private static func suspended(_ desk: inout Desk, _ seconds: Int) {
        desk.loseFocus()
        desk.wait(.seconds(120))
        desk.becomes(.suspended, .backgrounded)
        desk.wait(.seconds(seconds - 120))
        desk.send(.input(.focusIn))
    }

    private static func reconnect(_ desk: inout Desk, _ topics: String...) {
        desk.becomes(.connecting, attempt: 1)
        desk.becomes(.connected)
        for topic in topics { desk.send(.topic(topic, .live)) }
        desk.wait(.seconds(1))
    }

    @Test("B21: what a slow link brings long after a short stop has its row, once it is here")
    func lateRow() {
        var desk = Desk.joined("chat.lobby", "chat.qa")
        desk.model.attention.suspension.isExplained = true
        desk.send(.suspending)
        desk.wait(.seconds(10))
        desk.send(.resumed)
        desk.becomes(.connecting, attempt: 1)
        desk.becomes(.connected)
        desk.wait(.seconds(30))
        #expect(desk.model.absenceWords == nil)
        desk.send(Self.say(1...3, in: "chat.lobby", minutes: 0))
        for topic in ["chat.lobby", "chat.qa"] { desk.send(.topic(topic, .live)) }
        desk.wait(.seconds(1))
        #expect(desk.model.absenceWords == "away 10 s: 3 new in 1 topic · Alt-a")
    }

    @Test("B21: what was missed while the connection was suspended is counted as it comes, and marked as new")
    func late() {
        var desk = Desk.joined("chat.lobby", "chat.qa")
        desk.model.attention.suspension.isExplained = true
        Self.suspended(&desk, 840)
        #expect(desk.model.absenceWords == nil)
        desk.send(Self.say(1...3, in: "chat.lobby", minutes: 5))
        Self.reconnect(&desk, "chat.lobby", "chat.qa")
        #expect(desk.shows("─ away 14 min: 3 new in 1 topic · Alt-a ─") && desk.shows("── new ─"))
        // Also behind the sentence.
        desk.send(Self.say(1...1, in: "chat.qa", minutes: 6))
        desk.send(.postbox(.created(letter(1))))
        #expect(desk.shows("─ away 14 min: 4 new in 2 topics, 1 letter · Alt-a ─"))
        // What is said from now on was not missed.
        desk.send(Self.say(4...4, in: "chat.lobby", minutes: 20))
        #expect(desk.shows("─ away 14 min: 4 new in 2 topics, 1 letter · Alt-a ─"))
    }

    @Test("What was said before the person left is not counted, though it comes as a topic that rested is opened")
    func rested() {
        var desk = Desk.joined("chat.lobby", "chat.qa")
        desk.model.attention.suspension.isExplained = true
        desk.model.settings.followedUnread = 2
        desk.send(Self.say(1...2, in: "chat.qa", minutes: 0))
        #expect(desk.model.network.resting.topics == ["chat.qa"])
        Self.suspended(&desk, 840)
        Self.reconnect(&desk, "chat.lobby")
        #expect(desk.model.absenceWords == "away 14 min: nothing new")
        desk.model.show(.conversation("chat.qa"))
        desk.send(Self.say(3...50, in: "chat.qa", minutes: 0))
        desk.send(Self.say(1...1, in: "chat.lobby", minutes: 5))
        #expect(desk.model.absenceWords == "away 14 min: 1 new in 1 topic · Alt-a")
    }

    @Test("B21: whoever detaches from tmux or screen is away, and back when a terminal is attached")
    func detached() {
        var desk = Desk.joined("chat.lobby", "chat.qa")
        desk.model.attention.suspension.isExplained = true
        #expect(desk.send(.attached(false)) == [.connection(.setActive(false))])
        // tmux passes on that nobody looks, too.
        #expect(desk.send(.input(.focusOut)) == [])
        desk.wait(.seconds(120))
        desk.becomes(.suspended, .backgrounded)
        desk.wait(.seconds(720))
        #expect(desk.send(.attached(true)).core.first == .connection(.setActive(true)))
        desk.send(Self.say(1...3, in: "chat.lobby", minutes: 5))
        Self.reconnect(&desk, "chat.lobby", "chat.qa")
        #expect(desk.model.absenceWords == "away 14 min: 3 new in 1 topic · Alt-a")
        desk.press(.function(8))
        let words = ["the terminal was detached", "a terminal is attached"]
        #expect(words.allSatisfy { word in desk.screen().contains { $0.contains(word) } })
    }

    @Test("/notify on keeps no connection for a terminal that is detached, unless none is ever to be suspended")
    func detachedWithNotifications() {
        var desk = Desk.joined("chat.lobby")
        desk.enter("/notify on")
        #expect(
            desk.send(.attached(false)) == [
                .connection(.setSuspension(.suspend(after: .seconds(120)))), .connection(.setActive(false)),
            ])
        #expect(desk.send(.attached(true)) == [.connection(.setSuspension(.ignore)), .connection(.setActive(true))])
        desk.enter("/suspend-after never")
        desk.enter("/notify on")
        #expect(desk.send(.attached(false)) == [.connection(.setActive(false))])
    }

    @Test("With idleAfter whoever does nothing for so long is away, and back with the next key; without it nobody is")
    func idle() throws {
        var desk = Desk.joined("chat.lobby", "chat.qa")
        desk.wait(.seconds(86_400))
        #expect(desk.effects == [] && desk.model.attention.tracker.isForeground)
        desk.model.settings.idleTime = .seconds(600)
        desk.press(.plain("x"))
        desk.wait(.seconds(599))
        let due = try #require(desk.model.nextChange(after: desk.model.now.instant))
        #expect(due <= desk.model.now.instant + .seconds(1))
        desk.effects = []
        desk.wait(.seconds(1))
        #expect(desk.effects == [.connection(.setActive(false))])
        // That is said once.
        desk.wait(.seconds(3_600))
        #expect(desk.effects == [.connection(.setActive(false))])
        desk.send(Self.say(1...2, in: "chat.qa", minutes: 2))
        #expect(desk.press(.plain("y")).core.first == .connection(.setActive(true)))
        #expect(desk.model.absenceWords?.contains("2 new in 1 topic") == true)
        desk.wait(.seconds(599))
        #expect(desk.model.attention.tracker.isForeground)
        desk.wait(.seconds(1))
        #expect(!desk.model.attention.tracker.isForeground)
    }

    @Test("B26 without handleAppLifecycle neither the focus nor idleness counts, and ^Z suspends all the same")
    func unwatched() {
        var desk = Desk.joined("chat.lobby")
        desk.model.attention.isWatched = false
        desk.model.settings.idleTime = .seconds(600)
        desk.loseFocus()
        desk.wait(.seconds(3_600))
        #expect(desk.effects == [] && desk.model.attention.tracker.isForeground)
        #expect(desk.send(.suspending) == [.connection(.setActive(false))])
        #expect(desk.send(.resumed) == ChatEffects(core: [.connection(.setActive(true))], screen: [.redraw]))
    }

    @Test("B26 whoever is away by /away stays so for others when the focus returns, until /back")
    func awayByHand() {
        var desk = Desk.joined("chat.lobby")
        #expect(desk.enter("/away lunch") == [.people(.setPresence(.away("lunch")))])
        desk.loseFocus()
        desk.wait(.seconds(840))
        let effects = desk.send(.input(.focusIn))
        let tellsOthers = effects.core.contains { if case .people(.setPresence) = $0 { true } else { false } }
        #expect(effects.contains(.connection(.setActive(true))) && !tellsOthers)
        #expect(desk.model.network.people.own == .away("lunch"))
        #expect(desk.enter("/back") == [.people(.setPresence(.here))])
    }

    // MARK: The choice

    @Test("The first suspension says that there is a choice, once and for all")
    func explained() {
        var desk = Desk.opened(KeptDesk(topics: ["chat.lobby"], lines: [KeptLine("hello")]), state: .connected)
        desk.send(.topic("chat.lobby", .live))
        desk.effects = []
        Self.suspended(&desk, 840)
        Self.reconnect(&desk, "chat.lobby")
        let words = "The connection rested meanwhile; /notify on keeps it, /notify off does not."
        #expect(desk.notice == words && words.count < 78)
        #expect(desk.shows("away 14 min: nothing new"))
        #expect(desk.effects.contains(.store(.keepChoice(.suspensionExplained, true))))
        desk.press(.plain("x"))
        Self.suspended(&desk, 840)
        Self.reconnect(&desk, "chat.lobby")
        #expect(desk.model.absenceWords == "away 14 min: nothing new" && desk.model.notices.shown == nil)
    }

    @Test("/notify on keeps the connection, at later starts too; /notify off does not any more")
    func kept() {
        var desk = Desk.opened(KeptDesk(topics: ["chat.lobby"]), state: .connected)
        let on = desk.enter("/notify on")
        #expect(
            on.contains(.connection(.setSuspension(.ignore)))
                && on.contains(.store(.keepChoice(.keepsConnection, true))))
        let off = desk.enter("/notify off")
        #expect(off.contains(.connection(.setSuspension(.suspend(after: .seconds(120))))))
        #expect(off.contains(.store(.keepChoice(.keepsConnection, false))))

        let choices = DeskChoices(["keeps-connection": true])
        let again = Desk.opened(KeptDesk(topics: ["chat.lobby"], choices: choices), state: .connected)
        #expect(again.effects.contains(.connection(.setSuspension(.ignore))) && again.effects.choices.isEmpty)
    }

    @Test(
        "/suspend-after takes a time, and never",
        arguments: [
            ("300", Duration.seconds(300)), ("5m", .seconds(300)), ("2h", .seconds(7_200)), ("90s", .seconds(90)),
            ("never", nil), ("0", nil), ("off", nil),
        ] as [(String, Duration?)])
    func times(_ text: String, _ time: Duration?) throws {
        var desk = Desk.joined("chat.lobby")
        let policy = time.map { LifecyclePolicy.suspend(after: $0) } ?? .ignore
        #expect(desk.enter("/suspend-after \(text)") == [.connection(.setSuspension(policy))])
        #expect(desk.model.attention.suspension.time == time)
        let flag = try #require(SuspensionTime(argument: text))
        #expect(flag.time == time)
    }

    @Test("/suspend-after alone says what counts, a time ends /notify on, and what is no time is refused")
    func suspendAfter() {
        var desk = Desk.joined("chat.lobby")
        desk.enter("/suspend-after")
        #expect(desk.notice == "The connection is suspended after 2 min out of focus.")
        desk.enter("/notify on")
        desk.enter("/suspend-after")
        #expect(desk.notice.contains("/notify off ends that"))
        desk.enter("/suspend-after 5m")
        #expect(desk.model.attention.suspension.effectiveTime == .seconds(300))
        for text in ["soon", "-1", "5 m", "1e12"] {
            desk.enter("/suspend-after \(text)")
            #expect(desk.model.notices.shown?.kind == .failure, "\(text)")
            desk.press(.control("c"))
            #expect(SuspensionTime(argument: text) == nil)
        }
    }
}
