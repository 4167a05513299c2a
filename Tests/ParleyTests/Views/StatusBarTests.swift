import Relay
import Terminal
import Testing

@testable import Parley

@Suite("The status bar")
struct StatusBarTests {
    private static let reason = ConnectionReason.connectionLost("the peer reset it")

    private static func title(_ status: ConnectionStatus, columns: Int, queued: Bool = false) -> String {
        var desk = Desk.joined("chat.lobby", "chat.qa", size: Size(rows: 24, columns: columns))
        desk.send(.postbox(.counts(["b1": 12])))
        desk.receive((1...9).map { message($0, "m", topic: "chat.qa") }, in: "chat.qa")
        if queued { desk.enter("waits") }
        desk.send(.statusChanged(status))
        return desk.screen().first ?? ""
    }

    private static func waiting(_ attempt: Int = 3) -> ConnectionStatus {
        ConnectionStatus(
            state: .reconnecting, reason: reason, attempt: attempt,
            nextRetryAt: Desk.start.advanced(by: .milliseconds(3500)))
    }

    @Test(
        "B54 State, attempt, countdown, reason, queue and unread, as far as the width allows",
        arguments: [
            (
                120,
                " alice@local ────── ↻ RECONNECTING attempt 3 · in 4 s · The connection was lost (the peer reset it).   ⇅ 1   # 9   ✉ 12"
            ),
            (
                100,
                " alice@local ↻ RECONNECTING attempt 3 · in 4 s · connection lost: the pee…set it   ⇅ 1   # 9   ✉ 12"
            ),
            (80, " alice ─ ↻ RECONNECTING attempt 3 · in 4 s · connection lost   ⇅ 1   # 9   ✉ 12"),
            (60, " alice ↻ RECONNECTING attempt 3 · in 4 s   ⇅ 1   # 9   ✉ 12"),
            (40, " alice  ↻ RECONNECTING 4 s ⇅ 1 # 9 ✉ 12"),
            (20, " a…e ↻ RECONNECTING"),
        ])
    func widths(columns: Int, expected: String) {
        let title = Self.title(Self.waiting(), columns: columns, queued: true)
        #expect(title == expected, "\(title)")
        #expect(SafeText(title).width <= columns)
    }

    @Test("B54 Connected, the round trip is shown at every width that has room", arguments: [120, 80, 60, 40])
    func roundTrip(columns: Int) {
        let status = ConnectionStatus(state: .connected, roundTripTime: .microseconds(400))
        let counts = columns == 40 ? " ⇅ 0 # 9 ✉ 12" : "   ⇅ 0   # 9   ✉ 12"
        #expect(Self.title(status, columns: columns).hasSuffix("● CONNECTED 0.4 ms\(counts)"))
        #expect(Self.title(status, columns: 20).hasSuffix("● CONNECTED"))
    }

    @Test("B61 While the server does not answer the title counts, and shows no round trip", arguments: [120, 80, 60])
    func silence(columns: Int) {
        var desk = Desk.joined("chat.lobby", size: Size(rows: 24, columns: columns))
        desk.send(.statusChanged(ConnectionStatus(state: .connected, roundTripTime: .microseconds(300))))
        let silent = ConnectionStatus(state: .connected, silentSince: Desk.start - .milliseconds(2_100))
        desk.send(.statusChanged(silent))
        #expect(desk.top.contains("● CONNECTED · no answer for 2 s   ⇅ 0"))
        #expect(desk.screen(after: .seconds(1)).first?.contains("● CONNECTED · no answer for 3 s   ⇅ 0") == true)
        #expect(desk.model.nextChange(after: Desk.start) == Desk.start + .milliseconds(900))
        let frame = render(desk.model, size: desk.model.size, now: Desk.start)
        let column = frame.rows[0].prefix { $0 != "●" }.count
        #expect(frame[0, column].style == Theme.standard.waiting)
        #expect(Self.title(silent, columns: 40).contains("● CONNECTED · no answer "))
        desk.send(.statusChanged(ConnectionStatus(state: .connected, roundTripTime: .microseconds(300))))
        #expect(desk.top.contains("● CONNECTED 0.3 ms   ⇅ 0"))
    }

    @Test("Each state has a symbol of its own, at every width", arguments: [120, 80, 60, 40, 20])
    func symbols(columns: Int) {
        let symbols = ConnectionStatus.State.allCases.map(\.symbol)
        #expect(Set(symbols).count == symbols.count)
        // What is an emoji too is an empty box in many fonts, or two columns wide.
        #expect(symbols.allSatisfy { SafeText($0).width == 1 && !$0.unicodeScalars.contains { $0.properties.isEmoji } })
        for state in ConnectionStatus.State.allCases {
            let title = Self.title(ConnectionStatus(state: state), columns: columns)
            #expect(title.contains(state.symbol), "\(title)")
            #expect(symbols.filter { title.contains($0) } == [state.symbol], "\(title)")
        }
    }

    @Test("B54 A long outage is said in words", arguments: [(120, "offline for 5 min"), (80, "offline for 5 min")])
    func longOutage(columns: Int, words: String) {
        var status = Self.waiting(12)
        status.isLongOutage = true
        status.outageBegan = Desk.start.advanced(by: .seconds(-300))
        #expect(Self.title(status, columns: columns).contains(words))
        // On a narrow screen the text's own line says it.
        var desk = Desk.joined("chat.lobby", size: Size(rows: 12, columns: 40))
        desk.send(.statusChanged(status))
        #expect(desk.screen().contains { $0.hasPrefix(" > offline for 5 min: will be sent") })
    }

    @Test(
        "B54 How long an outage lasts is rounded down, and the screen wakes when the figure changes",
        arguments: [
            (.milliseconds(119_500), "offline for 119 s", .milliseconds(500)),
            (.seconds(121), "offline for 2 min", .seconds(59)), (.seconds(7_201), "offline for 2 h", .seconds(3_599)),
        ] as [(Duration, String, Duration)])
    func lasting(elapsed: Duration, words: String, wake: Duration) {
        var desk = Desk.joined("chat.lobby")
        // Without a network there is no next attempt to count down to.
        desk.send(
            .statusChanged(
                ConnectionStatus(
                    state: .reconnecting, reason: .networkUnavailable, attempt: 3,
                    outageBegan: Desk.start.advanced(by: .zero - elapsed), isLongOutage: true)))
        desk.model.notices.shown = nil
        #expect(desk.screen().contains { $0.hasPrefix(" > \(words): will be sent") })
        #expect(desk.model.nextChange(after: Desk.start) == Desk.start.advanced(by: wake))
    }

    @Test("B19 Without a network nothing is said to be tried")
    func noNetwork() {
        let status = ConnectionStatus(state: .reconnecting, reason: .networkUnavailable, attempt: 2)
        let title = Self.title(status, columns: 80)
        #expect(title.contains("↻ RECONNECTING attempt 2 · no network"))
        #expect(!title.contains("now"))
        #expect(Self.title(status, columns: 40).contains("↻ RECONNECTING"))
    }

    @Test("B54 An attempt under way says so, and for how long")
    func underWay() {
        var desk = Desk.joined("chat.lobby", size: Size(rows: 24, columns: 120), state: .reconnecting)
        desk.becomes(.reconnecting, Self.reason, attempt: 1)
        #expect(desk.top.contains("↻ RECONNECTING attempt 1 · connecting · The connection"))
        desk.wait(.milliseconds(4_200))
        #expect(desk.top.contains("↻ RECONNECTING attempt 1 · connecting 4 s · The connection"))
        #expect(
            desk.screen(Size(rows: 24, columns: 60)).first?.contains("↻ RECONNECTING attempt 1 · connecting 4 s")
                == true)
        desk.model.notices.shown = nil
        #expect(
            desk.model.nextChange(after: desk.model.now.instant)
                == desk.model.now.instant.advanced(by: .milliseconds(800)))
        // The same attempt told of once more goes on; the next one begins anew.
        desk.becomes(.reconnecting, .unreachable("x"), attempt: 1)
        #expect(desk.top.contains("connecting 4 s"))
        desk.becomes(.reconnecting, Self.reason, attempt: 2)
        #expect(desk.top.contains("attempt 2 · connecting ·"))
        desk.becomes(.connected)
        #expect(desk.model.network.times.attemptBegan == nil)

        desk.becomes(.connecting, attempt: 1)
        #expect(desk.top.contains("◌ CONNECTING   ⇅"))
        desk.wait(.seconds(3))
        #expect(desk.top.contains("◌ CONNECTING · for 3 s   ⇅"))
    }

    @Test("B54 The screen wakes each second while it counts, and not otherwise")
    func ticks() {
        var desk = Desk.joined("chat.lobby")
        desk.send(.statusChanged(Self.waiting()))
        desk.model.notices.shown = nil
        var wakes: [Duration] = []
        var now = Desk.start
        while let next = desk.model.nextChange(after: now), wakes.count < 20 {
            wakes.append(Desk.start.duration(to: next))
            now = next
        }
        #expect(wakes == [0.5, 1.5, 2.5, 3.5].map { .seconds($0) })
        for state in ConnectionStatus.State.allCases {
            desk.send(.statusChanged(ConnectionStatus(state: state, isLongOutage: true)))
            desk.model.notices.shown = nil
            #expect(desk.model.nextChange(after: now) == nil, "\(state)")
        }
    }

    @Test(
        "B54 The reason of an ended connection is in the title",
        arguments: [
            (ConnectionReason.banned("spam"), 80, "banned"), (.banned("spam"), 120, "This user is banned"),
            (.appBlocked("moving"), 80, "application blocked: moving"),
            (.appBlocked("moving"), 160, "This application is blocked on the network (moving)."),
        ])
    func ended(reason: ConnectionReason, columns: Int, words: String) {
        let title = Self.title(ConnectionStatus(state: .disconnected, reason: reason), columns: columns)
        #expect(title.contains("✕ DISCONNECTED · \(words)"), "\(title)")
    }
}
