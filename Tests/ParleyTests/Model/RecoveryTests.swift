import Relay
import Terminal
import Testing

@testable import Parley

@Suite("What is told of an outage that is over")
struct RecoveryTests {
    private static let lost = ConnectionStatus(state: .reconnecting, reason: .connectionLost("reset"))

    private static func outage(_ desk: inout Desk, lasting duration: Duration = .milliseconds(100)) {
        desk.send(.statusChanged(lost))
        desk.wait(duration)
        desk.becomes(.connected)
        desk.send(.statusChanged(ConnectionStatus(state: .connected, roundTripTime: .microseconds(300))))
    }

    private static func rule(_ desk: Desk, _ size: Size? = nil) -> [String] {
        desk.screen(size).filter { row in ["lost ", "─ back after", "─ outage "].contains { row.contains($0) } }
    }

    @Test("B62 A dim rule stands in the conversation, and the title tells of it for some seconds")
    func told() {
        var desk = Desk.joined("chat.lobby")
        desk.receive([message(1, "before")])
        Self.outage(&desk)
        desk.receive([message(2, "after", isRecovered: true)])
        #expect(desk.texts("chat.lobby") == ["1 before", "outage 1", "2 after"])
        let rules = Self.rule(desk)
        #expect(rules.count == 1 && rules[0].contains("│── connection lost 10:00:00, back after 0.1 s ───"))
        #expect(desk.screen()[0].contains("● CONNECTED 0.3 ms · back after 0.1 s   ⇅ 0"))
        let frame = render(desk.model, size: desk.model.size, now: desk.model.now.instant)
        let row = frame.rows.firstIndex { $0.contains("connection lost") } ?? 0
        #expect(frame[row, 30].style == Theme.standard.dimmed && frame[row, 78].style == Theme.standard.rule)
        #expect(desk.model.nextChange(after: desk.model.now.instant) == desk.model.now.instant + .seconds(8))
        desk.wait(.seconds(8))
        #expect(desk.screen()[0].contains("● CONNECTED 0.3 ms   ⇅ 0"))
        #expect(Self.rule(desk) == rules && desk.conversation("chat.lobby")?.unread == 0)
    }

    @Test("B62 The rule is above what was missed, also where that arrives before the connection counts as back")
    func order() {
        var desk = Desk.joined("chat.lobby")
        desk.receive([message(1, "before"), message(2, "last")])
        desk.send(.statusChanged(Self.lost))
        desk.send(.topic("chat.lobby", .gap(lost: 3)))
        desk.receive([message(6, "missed", isRecovered: true)])
        desk.wait(.seconds(75))
        desk.becomes(.connected)
        #expect(desk.texts("chat.lobby") == ["1 before", "2 last", "outage 1", "gap 3", "6 missed"])
        #expect(Self.rule(desk).first?.contains("connection lost 10:00:00, back after 75 s") == true)
        // A stream that was made anew has nothing from before the outage.
        desk.send(.statusChanged(Self.lost))
        desk.send(.topic("chat.lobby", .restarted))
        desk.becomes(.connected)
        desk.receive([message(1, "anew")])
        #expect(desk.texts("chat.lobby") == ["restart", "outage 1", "1 anew"])
    }

    @Test("B62 A link that flaps does not fill the conversation: outages without a message between them share a rule")
    func flapping() {
        var desk = Desk.joined("chat.lobby")
        desk.receive([message(1, "before")])
        for _ in 1...50 {
            Self.outage(&desk)
            desk.wait(.seconds(60))
        }
        #expect(desk.texts("chat.lobby") == ["1 before", "outage 50"])
        #expect(Self.rule(desk).first?.contains("│── lost 50 times, last 10:49:04, back after 0.1 s ─") == true)
        desk.receive([message(2, "between")])
        Self.outage(&desk)
        #expect(desk.texts("chat.lobby") == ["1 before", "outage 50", "2 between", "outage 1"])
    }

    @Test("B62 Each conversation that is followed has the rule, in view or not, and no other one")
    func everyConversation() {
        var desk = Desk.joined("a", "b", "c")
        // What has that much unread rests.
        desk.model.settings.followedUnread = 1
        for topic in ["a", "b"] { desk.receive([message(1, "before", topic: topic)]) }
        #expect(desk.model.network.resting.topics == ["b"])
        desk.send(.start(topics: ["d"]))
        Self.outage(&desk)
        #expect(desk.texts("a") == ["1 before", "outage 1"] && desk.texts("b") == ["1 before"])
        #expect(desk.texts("c") == ["outage 1"])
        // What is loaded from its past is from before the outage.
        #expect(desk.texts("d") == [])
    }

    @Test("B62 A connection that its person, or the background, had made anew was not lost")
    func askedFor() {
        var desk = Desk.joined("chat.lobby")
        desk.receive([message(1, "before")])
        desk.becomes(.reconnecting, .replacementRequested)
        desk.becomes(.reconnecting, .unreachable("x"), attempt: 1)
        desk.becomes(.connected)
        for state in [.suspended, .reconnecting, .connected, .disconnected, .connecting, .connected]
            as [ConnectionStatus.State]
        {
            desk.becomes(state)
        }
        #expect(desk.texts("chat.lobby") == ["1 before"] && desk.model.network.times.recovery == nil)
        // One that was lost before the terminal was left was.
        for state in [.reconnecting, .suspended, .reconnecting, .connected] as [ConnectionStatus.State] {
            desk.becomes(state)
        }
        #expect(desk.texts("chat.lobby") == ["1 before", "outage 1"])
    }

    @Test(
        "B62 At every width the rule says what there is room for",
        arguments: [
            (80, "── connection lost 10:00:00, back after 0.1 s ──"), (40, "── lost 10:00:00, back after 0.1 s ──"),
            (28, "── back after 0.1 s ──"), (20, "── outage 0.1 s ──"),
        ])
    func widths(columns: Int, words: String) {
        var desk = Desk.joined("chat.lobby", size: Size(rows: 12, columns: columns))
        desk.receive([message(1, "before")])
        Self.outage(&desk)
        let rules = Self.rule(desk)
        #expect(rules.count == 1 && rules[0].contains(words.dropLast(2)), "\(desk.screen())")
    }

    @Test("B62 Whoever reads older messages goes on to see the same ones")
    func scrolled() {
        var desk = Desk.joined("chat.lobby", size: Size(rows: 12, columns: 80))
        desk.receive((1...60).map { message($0, "line \($0)") })
        desk.press(.pageUp, .pageUp)
        let before = desk.screen().dropFirst(2).prefix(7)
        #expect(before.contains { $0.contains("line ") } && !before.contains { $0.contains("line 60") })
        Self.outage(&desk)
        #expect(desk.screen().dropFirst(2).prefix(7) == before)
        // The keys go from message to message.
        desk.press(.end, .up)
        #expect(desk.texts("chat.lobby").last == "outage 1")
    }
}
