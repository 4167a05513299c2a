import Relay
import RelayLab
import Terminal
import TestSupport

@testable import Parley

/// Screens that people see, as models.
enum Scene {
    /// A conversation with a past, something new, an own line in each state, and another topic unread.
    static func chat(_ size: Size) -> Desk {
        var desk = Desk.joined("chat.lobby", "chat.qa", "alerts.>", size: size)
        desk.send(.postbox(.boxes([postbox("b1", "personal"), postbox("b2", "work", isEnabled: false)])))
        desk.send(.postbox(.counts(["b1": 12, "b2": 0])))
        desk.receive([message(1, "good night", minutes: -700), message(2, "hello", minutes: 1)])
        for (text, sequence) in [("hi there", UInt64(3)), ("is it built?", 4)] {
            if case .topics(.publish(let id, _, _))? = desk.enter(text).core.first {
                desk.published(id, .acknowledged(sequence: sequence))
            }
        }
        desk.receive((5...13).map { message($0, "disk", topic: "alerts.disk") }, in: "alerts.>")
        desk.loseFocus()
        desk.send(.topic("chat.lobby", .gap(lost: 7)))
        desk.receive([
            message(
                21, "the build is green, and everything that was red yesterday is green with it", from: "carol",
                minutes: 4),
            message(22, "日本語のテキスト 👍🏽", from: "李小龍", minutes: 5, isRecovered: true),
        ])
        desk.send(.input(.focusIn))
        return desk
    }

    /// The same while the connection is lost, with a line that waits and one that failed.
    static func outage(_ size: Size) -> Desk {
        var desk = chat(size)
        if case .topics(.publish(let id, _, _))? = desk.enter("too much").core.first {
            desk.published(id, .failed(.tooLarge(bytes: 200_000, limit: 131_072)))
        }
        desk.send(
            .statusChanged(
                ConnectionStatus(
                    state: .reconnecting, reason: .connectionLost("reset"), attempt: 3,
                    nextRetryAt: desk.model.now.instant.advanced(by: .seconds(4)))))
        desk.enter("and this waits")
        desk.press(.escape)
        return desk
    }

    /// The same when somebody has spoken to the person meanwhile, with all that a line can be besides.
    static func talk(_ size: Size) -> Desk {
        var desk = outage(size)
        desk.loseFocus()
        desk.send(
            .topic(
                "chat.lobby",
                .messages([
                    message(23, "alice: can you look at this?", from: "carol", minutes: 6),
                    message(24, "> is it built?\n`make test` fails, see https://ci.example.org/7", minutes: 7),
                ])))
        desk.send(.input(.focusIn))
        desk.type("one moment")
        return desk
    }

    /// The postbox, one letter open.
    static func inbox(_ size: Size, opens: Bool = true) -> Desk {
        var desk = Desk.inbox(
            [
                letter(1, "Lunch on Friday?\nThe usual place.", from: "bob"),
                letter(2, "Your build finished.", from: "builder", box: "b2"),
                letter(3, "A word about the release:\n\nplease read the notes before you tag it.", from: "carol"),
            ], next: "t2", size: size)
        desk.send(.postbox(.counts(["b1": 30, "b2": 1])))
        desk.press(.plain(" "), .down)
        if opens { desk.press(.enter) }
        return desk
    }

    /// The help over a conversation.
    static func help(_ size: Size) -> Desk {
        var desk = chat(size)
        desk.press(.function(1))
        return desk
    }

    /// The palette over a conversation, with some letters of a command typed.
    static func commands(_ size: Size) -> Desk {
        var desk = chat(size)
        desk.press(.control("k"))
        desk.type("lea")
        return desk
    }

    /// The palette with topics, postboxes and people.
    static func places(_ size: Size) -> Desk {
        var desk = chat(size)
        desk.press(.control("g"))
        return desk
    }

    /// The connection log over a conversation, after an outage with two attempts.
    static func log(_ size: Size) -> Desk {
        var desk = chat(size)
        let lost = ConnectionReason.connectionLost("the server closed the connection")
        let refused = ConnectionReason.unreachable("nothing answers at nats://127.0.0.1:40123")
        func pass(_ status: ConnectionStatus, wait: Duration? = nil, for length: Duration = .milliseconds(7)) {
            var status = status
            status.nextRetryAt = wait.map { desk.model.now.instant.advanced(by: $0) }
            desk.send(.statusChanged(status))
            desk.wait(wait ?? length)
        }
        pass(ConnectionStatus(state: .initialized))
        pass(ConnectionStatus(state: .connecting, attempt: 1), for: .milliseconds(120))
        pass(ConnectionStatus(state: .connected, roundTripTime: .microseconds(400)), for: .seconds(200))
        pass(ConnectionStatus(state: .reconnecting, reason: lost), wait: .milliseconds(40))
        pass(ConnectionStatus(state: .reconnecting, reason: lost, attempt: 1))
        pass(ConnectionStatus(state: .reconnecting, reason: refused, attempt: 1), wait: .milliseconds(2_500))
        pass(ConnectionStatus(state: .reconnecting, reason: refused, attempt: 2), for: .milliseconds(33))
        pass(ConnectionStatus(state: .connected, roundTripTime: .milliseconds(2)))
        desk.press(.function(8))
        return desk
    }

    /// The lab while the link is cut and three lines wait.
    static func lab(_ size: Size) -> Desk {
        var desk = labOpened(size)
        desk.press(.plain("c"))
        desk.send(.lab(.glance(LabScene.cut.glance)))
        desk.becomes(.reconnecting, .connectionLost("reset"), attempt: 2)
        return desk
    }

    /// The lab's ledger behind an outage, in which one message of four came twice and one was lost.
    static func ledger(_ size: Size) -> Desk {
        var desk = labOpened(size)
        desk.press(.plain("e"))
        desk.send(.lab(.over(LabScene.over.glance)))
        return desk
    }

    /// The lab on a network that Parley did not start.
    static func labOpened(_ size: Size) -> Desk {
        var desk = Desk.joined("chat.lobby", "chat.qa", size: size)
        desk.press(.function(9), .plain("y"))
        let hindered = LabAct.Name.allCases.filter(\.needsNetwork)
        let hindrances = Dictionary(uniqueKeysWithValues: hindered.map { ($0, LabHindrance.needsAdministrator) })
        desk.send(.lab(.opened(hindrances)))
        desk.send(.lab(.glance(LabScene.begun.glance)))
        desk.effects = []
        return desk
    }

    /// A conversation in many scripts, with all that a message can have in it, and one that is selected.
    static func scripts(_ size: Size) -> Desk {
        var desk = Desk.joined("chat.lobby", "chat.qa", size: size)
        let messages = ScriptTexts.lines.enumerated().map { place, line in
            message(UInt64(place + 1), line.text, from: line.name, minutes: Int64(place * 3))
        }
        desk.receive(messages)
        if case .topics(.publish(let id, _, _))? = desk.enter("はい 👍").core.first {
            desk.published(id, .acknowledged(sequence: 40))
        }
        desk.press(.backTab, .up, .up)
        return desk
    }
}
