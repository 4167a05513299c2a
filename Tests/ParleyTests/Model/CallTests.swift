import Relay
import Terminal
import Testing

@testable import Parley

@Suite("Notifications")
struct CallTests {
    private static func mention(_ sequence: UInt64 = 1, _ topic: String = "chat.lobby") -> ChatEvent {
        .topic(topic, .messages([message(sequence, "alice: look", topic: topic)]))
    }

    @Test("A mention, a letter and the session's end notify while the terminal is out of focus")
    func kinds() {
        var desk = Desk.joined("chat.lobby")
        desk.loseFocus()
        #expect(desk.send(Self.mention()) == .screen(.bell))
        #expect(desk.notifications == [TerminalNotification(title: "bob in chat.lobby", body: "alice: look")])
        desk.wait(.seconds(20))
        desk.send(.postbox(.created(letter(1, "come at two", subject: "Lunch"))))
        #expect(desk.notifications.last?.title == "Letter from bob")
        #expect(desk.notifications.last?.body.contains("Lunch") == true)
        desk.wait(.seconds(20))
        let kick = ConnectionReason.kicked(by: "carol", reason: "enough")
        desk.becomes(.disconnected, kick)
        #expect(desk.notifications.count == 3 && desk.notifications.last?.title == "Parley is disconnected")
        #expect(desk.notifications.last?.body == kick.words)
    }

    @Test("A command of the configuration notifies too, whatever the terminal is sent")
    func byCommand() throws {
        var desk = Desk.joined("chat.lobby")
        desk.model.settings.notifications = NotificationSetting(by: .nothing, command: "notify-send hello")
        desk.loseFocus()
        let notification = TerminalNotification(title: "bob in chat.lobby", body: "alice: look")
        #expect(desk.send(Self.mention()).contains(.runNotifier("notify-send hello", notification)))
        let test = desk.enter("/notify test")
        #expect(test.core.contains { if case .runNotifier("notify-send hello", _) = $0 { true } else { false } })
        desk.send(.notified(by: []))
        #expect(desk.notice == "The command of the configuration runs; the terminal was sent nothing.")
        desk.model.settings.notifications.mentions = false
        desk.wait(.seconds(20))
        #expect(!desk.send(Self.mention(2)).core.contains { if case .runNotifier = $0 { true } else { false } })
    }

    @Test("Nothing notifies in front of the screen, of what is muted, of own lines, and of an end that was asked for")
    func nothing() {
        var desk = Desk.joined("chat.lobby", "chat.qa")
        desk.send(.input(.focusIn))
        desk.send(Self.mention(1, "chat.qa"))
        desk.enter("/mute chat.qa")
        desk.send(.input(.focusOut))
        desk.send(Self.mention(2, "chat.qa"))
        desk.receive([message(3, "nothing"), message(4, "alice", from: "alice")])
        desk.becomes(.disconnected, .closedByUser)
        #expect(desk.notifications.isEmpty)
    }

    @Test("In a terminal that tells nothing of its focus, nothing typed for a minute counts as being elsewhere")
    func withoutReports() {
        var desk = Desk.joined("chat.lobby")
        desk.send(Self.mention(1))
        #expect(desk.notifications.isEmpty)
        desk.wait(.seconds(61))
        desk.send(Self.mention(2))
        #expect(desk.notifications.count == 1)
        // One that tells of it is believed.
        desk.send(.input(.focusIn))
        desk.wait(.seconds(120))
        desk.send(Self.mention(3))
        #expect(desk.notifications.count == 1)
    }

    @Test(
        "The first is given at once, the next ten seconds later with what was held back in it, unless the person returns"
    )
    func heldBack() {
        var desk = Desk.joined("chat.lobby")
        desk.loseFocus()
        desk.send(Self.mention(1))
        #expect(desk.notifications.count == 1)
        desk.wait(.seconds(3))
        desk.send(Self.mention(2))
        #expect(desk.model.nextChange(after: desk.model.now.instant) == Desk.start + .seconds(10))
        desk.send(.postbox(.created(letter(1))))
        desk.send(Self.mention(3))
        desk.wait(.milliseconds(6_999))
        #expect(desk.notifications.count == 1)
        desk.wait(.milliseconds(1))
        #expect(desk.notifications.map(\.title).last == "bob in chat.lobby (+ 1 mention, 1 letter)")
        desk.send(Self.mention(4))
        desk.send(.input(.focusIn))
        desk.wait(.seconds(20))
        #expect(desk.notifications.count == 2)
    }

    @Test("However many call, there is one notification in ten seconds, and all are counted")
    func flood() {
        var pacer = CallPacer()
        var shown: [String] = []
        for number in 0..<1_000 {
            let call = PersonCall(kind: .mention, notification: TerminalNotification(title: "t", body: "\(number)"))
            if let one = pacer.take(call, at: Desk.start + .milliseconds(number * 100)) { shown.append(one.title) }
        }
        #expect(shown == ["t"] + Array(repeating: "t (+ 99 mentions)", count: 9))
    }

    @Test("For somebody elsewhere the bell rings along with the notifications, and no more often")
    func bell() {
        var desk = Desk.joined("chat.lobby")
        desk.loseFocus()
        #expect(desk.send(Self.mention(1)) == .screen(.bell))
        desk.wait(.seconds(5))
        #expect(desk.send(Self.mention(2)) == [])
        desk.effects = []
        desk.wait(.seconds(4))
        #expect(desk.notifications.count == 1 && !desk.effects.contains(.bell))
        desk.wait(.seconds(1))
        #expect(desk.notifications.count == 2 && desk.effects.contains(.bell))
        desk.wait(.seconds(5))
        #expect(desk.send(Self.mention(3)) == [])
        desk.effects = []
        desk.send(.input(.focusIn))
        desk.wait(.seconds(20))
        #expect(desk.notifications.count == 2 && !desk.effects.contains(.bell))
    }

    // MARK: Settings

    @Test("Each kind can be switched off, and all of them")
    func switches() {
        for (setting, count) in [
            (NotificationSetting(mentions: false), 2), (NotificationSetting(letters: false), 2),
            (NotificationSetting(ends: false), 2), (NotificationSetting(by: .nothing), 0), (NotificationSetting(), 3),
        ] {
            var desk = Desk.joined("chat.lobby")
            var settings = ChatSettings()
            settings.notifications = setting
            desk.model.configure(settings)
            desk.loseFocus()
            for event: ChatEvent in [
                Self.mention(), .postbox(.created(letter(1))),
                .statusChanged(ConnectionStatus(state: .disconnected, reason: .banned("no"))),
            ] {
                desk.send(event)
                desk.wait(.seconds(20))
            }
            #expect(desk.notifications.count == count, "\(setting)")
        }
    }

    @Test("/notify shows what is set, and /notify test sends one to somebody who looks")
    func command() {
        var desk = Desk.joined("chat.lobby")
        desk.enter("/notify")
        let screen = desk.screen()
        #expect(screen.contains { $0.contains("mentions") && $0.contains("notified of") })
        #expect(screen.contains { $0.contains("auto: what the terminal") })
        desk.press(.escape)
        let test = TerminalNotification(title: "Parley", body: "This is a test for alice@local.")
        #expect(desk.enter("/notify test") == .screen(.notify(test, isTest: true)))
        desk.send(.notified(by: [.bell]))
        #expect(desk.notice == "The bell has rung: the terminal is not known to show notifications.")
        desk.send(.notified(by: [.bell, .osc99]))
        #expect(desk.notice.hasPrefix("Sent by OSC 99 and the bell."))
        var settings = ChatSettings()
        settings.bell = .nothing
        desk.model.configure(settings)
        desk.send(.notified(by: [.bell]))
        #expect(desk.notice.contains("bell: \"none\""))
        settings.notifications.by = .nothing
        desk.model.configure(settings)
        desk.send(.notified(by: []))
        #expect(desk.notice.contains("by: \"none\""))
        desk.enter("/notify loudly")
        #expect(desk.model.notices.shown?.kind == .failure)
    }
}
