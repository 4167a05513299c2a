import Relay
import Terminal
import Testing

@testable import Parley

@Suite("The connection log")
struct ConnectionLogTests {
    /// An outage as the core reports it: lost, a first wait, two attempts, and back.
    private static func outage(_ desk: inout Desk, detail: String = "the peer reset it") {
        func retry(_ milliseconds: Int) -> ContinuousClock.Instant {
            desk.model.now.instant.advanced(by: .milliseconds(milliseconds))
        }
        let lost = ConnectionReason.connectionLost(detail)
        let refused = ConnectionReason.unreachable("nothing answers")
        desk.becomes(.connected)
        desk.send(.statusChanged(ConnectionStatus(state: .connected, roundTripTime: .microseconds(400))))
        desk.wait(.seconds(200))
        desk.becomes(.reconnecting, lost)
        desk.send(.statusChanged(ConnectionStatus(state: .reconnecting, reason: lost, nextRetryAt: retry(300))))
        desk.wait(.milliseconds(300))
        desk.becomes(.reconnecting, lost, attempt: 1)
        desk.send(
            .statusChanged(
                ConnectionStatus(state: .reconnecting, reason: refused, attempt: 1, nextRetryAt: retry(2500))))
        desk.wait(.milliseconds(2500))
        desk.becomes(.reconnecting, refused, attempt: 2)
        desk.becomes(.connected)
        desk.send(.statusChanged(ConnectionStatus(state: .connected, roundTripTime: .milliseconds(2))))
    }

    private static func lines(_ desk: Desk, columns: Int = 200) -> [String] {
        let layout = desk.model.logLayout(columns: columns)
        return desk.model.network.log.entries.indices.flatMap { index in
            layout.lines(ofRow: index).map { line in
                switch line {
                case .date(let words): "-- \(words)"
                case .head(let time, let text, _, _): "\(time) \(text)"
                case .rest(let text): "   \(text)"
                }
            }
        }
    }

    @Test("B61 Silence and its end are lines of the log, and each silence is told once")
    func silence() {
        var desk = Desk.joined("chat.lobby")
        desk.send(.statusChanged(ConnectionStatus(state: .connected, roundTripTime: .microseconds(400))))
        let since = desk.model.now.instant
        desk.wait(.seconds(2))
        desk.send(.statusChanged(ConnectionStatus(state: .connected, silentSince: since)))
        desk.send(.statusChanged(ConnectionStatus(state: .connected, silentSince: since, slowReaders: 0)))
        desk.wait(.seconds(3))
        desk.becomes(.connected)
        desk.send(.statusChanged(ConnectionStatus(state: .connected, roundTripTime: .milliseconds(2))))
        #expect(
            Self.lines(desk).dropFirst(2) == [
                "10:00:02.000 ● CONNECTED · no answer for 2.0 s",
                "10:00:05.000 ● CONNECTED · 2.0 ms · answering again after 5.0 s",
            ])
    }

    @Test("B11 Each change is a line with its time, state, attempt, wait, reason, and how long the last state lasted")
    func outage() {
        var desk = Desk.joined("chat.lobby")
        Self.outage(&desk)
        #expect(
            Self.lines(desk) == [
                "-- Friday 21 November 2025",
                "10:00:00.000 ● CONNECTED · 0.4 ms",
                "10:03:20.000 ↻ RECONNECTING · next try in 0.3 s · after 3 min 20 s connected · "
                    + "The connection was lost (the peer reset it).",
                "10:03:20.300 ↻ RECONNECTING · attempt 1",
                "10:03:20.300 ↻ RECONNECTING · attempt 1 · next try in 2.5 s · "
                    + "The server cannot be reached (nothing answers).",
                "10:03:22.800 ↻ RECONNECTING · attempt 2",
                "10:03:22.800 ● CONNECTED · 2.0 ms · after 2.8 s reconnecting",
            ])
    }

    @Test("B20 A round trip alone is no entry")
    func roundTrips() {
        var desk = Desk.joined("chat.lobby")
        for number in 1...50 {
            desk.send(.statusChanged(ConnectionStatus(state: .connected, roundTripTime: .milliseconds(number))))
        }
        #expect(Self.lines(desk).dropFirst() == ["10:00:00.000 ● CONNECTED · 1.0 ms"])
    }

    @Test("Focus, suspension and return are entries; a day's change is a line of its own")
    func life() {
        var desk = Desk.joined("chat.lobby")
        desk.loseFocus()
        desk.send(.input(.focusIn))
        desk.loseFocus()
        desk.press(.plain("x"))
        desk.wait(.seconds(14 * 3600))
        desk.send(.suspending)
        desk.send(.resumed)
        desk.send(.log("a remark"))
        #expect(
            Self.lines(desk) == [
                "-- Friday 21 November 2025", "10:00:00.000 · the terminal lost the focus",
                "10:00:00.000 · the terminal has the focus again", "10:00:00.000 · the terminal lost the focus",
                "10:00:00.000 · input came: somebody is here", "-- Saturday 22 November 2025",
                "00:00:00.000 · Parley was suspended", "00:00:00.000 · Parley runs again", "00:00:00.000 · a remark",
            ])
    }

    @Test("The last 1,000 entries are kept, and one that is looked at stays in place while others come")
    func bound() throws {
        var desk = Desk.joined("chat.lobby", size: Size(rows: 24, columns: 80))
        for number in 1...990 { desk.send(.log("remark \(number)")) }
        desk.press(.function(8), .pageUp)
        let before = desk.screen()
        #expect(before.last?.hasSuffix("below") == true)
        #expect(!before.contains { $0.contains("remark 990") })
        for number in 991...1_100 { desk.send(.log("remark \(number)")) }
        #expect(desk.model.network.log.entries.count == ConnectionLog.limit)
        #expect(Array(desk.screen()[2..<20]) == Array(before[2..<20]))
        desk.press(.end)
        #expect(desk.shows("remark 1100"))
        desk.send(.log("and one more"))
        #expect(desk.shows("and one more"))
        desk.press(.home)
        #expect(desk.screen()[3].contains("remark 102"))
        // Where the person looked is dropped in the end: then the oldest that is left is shown.
        for number in 1...2_000 { desk.send(.log("later \(number)")) }
        #expect(desk.screen()[2...3].contains { $0.contains("later 1001") })
    }

    @Test("F8 and /log open it, F8 and Escape close it, and the text can be written and sent meanwhile")
    func keys() {
        var desk = Desk.joined("chat.lobby")
        desk.press(.function(8))
        #expect(desk.shows("connection log ─ 0 entries"))
        #expect(desk.bottom.contains("Esc close"))
        let sent = desk.enter("typed under the log")
        #expect(sent.lines == ["chat.lobby: typed under the log"])
        #expect(desk.model.logScroll == .end)
        desk.press(.function(8))
        #expect(desk.overlay == nil)
        #expect(desk.shows("typed under the log"))
        desk.enter("/log")
        #expect(desk.model.logScroll == .end)
        desk.press(.escape)
        #expect(desk.overlay == nil)
        desk.press(.function(8), .function(2))
        #expect(desk.overlay == nil && desk.focus == .sidebar)
        desk.press(.function(8))
        for text in ["/joi", "/leave chat.lo"] {
            desk.type(text)
            desk.press(.tab)
            #expect(desk.model.logScroll == .end && desk.text.hasPrefix(text))
            #expect(desk.text != text)
            desk.press(.control("c"))
        }
        desk.enter("/join chat.qa")
        #expect(desk.overlay == nil && desk.view == .conversation("chat.qa"))
    }

    @Test("The wheel scrolls the log, and nothing counts as read behind it")
    func mouse() {
        var desk = Desk.joined("chat.lobby")
        for number in 1...60 { desk.send(.log("remark \(number)")) }
        desk.press(.function(8))
        desk.receive([message(1, "hello")])
        #expect(desk.conversation("chat.lobby")?.unread == 1)
        desk.send(.input(.mouse(MouseEvent(kind: .scrollUp, button: .none, row: 5, column: 40))))
        #expect(desk.bottom.hasSuffix("↓ 3 below"))
        for _ in 0..<3 { desk.send(.input(.mouse(MouseEvent(kind: .scrollDown, button: .none, row: 5, column: 40)))) }
        #expect(desk.model.logScroll == .end)
        desk.click(row: 2, column: 3)
        #expect(desk.overlay == nil && desk.conversation("chat.lobby")?.unread == 0)
    }

    @Test("B53 Remote words in a reason move nothing and reorder nothing")
    func hostile() {
        let attack = "\u{1B}[2J\u{9B}5n\u{202E}evil\u{2066}\r\n\u{8}\u{0}"
        for columns in [20, 40, 120] {
            var desk = Desk.joined("chat.lobby", size: Size(rows: 12, columns: columns))
            desk.press(.function(8))
            Self.outage(&desk, detail: attack)
            desk.press(.home)
            for _ in 0..<40 {
                #expect(desk.screen().isHarmless)
                desk.press(.down)
            }
            #expect(Self.lines(desk).contains { $0.contains("evil") })
        }
    }

    @Test(
        "Every width and height shows the newest entry's words, and scrolling reaches both ends",
        arguments: [20, 40, 80, 120])
    func sizes(columns: Int) {
        for rows in [5, 6, 24] {
            var desk = Desk.joined("chat.lobby", size: Size(rows: rows, columns: columns))
            desk.press(.function(8))
            Self.outage(&desk)
            #expect(desk.shows("reconnecting"), "\(columns)×\(rows)")
            for _ in 0..<60 { desk.press(.up) }
            #expect(
                desk.screen().contains { $0.contains("21 November") || $0.contains("Friday") }, "\(columns)×\(rows)")
            for _ in 0..<60 { desk.press(.down) }
            #expect(desk.model.logScroll == .end)
        }
    }
}
