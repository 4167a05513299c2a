import Foundation
import TestSupport
import Testing

/// A kind of terminal, by what it is given so that it calls the person.
enum NotifiedTerminal: CaseIterable, CustomTestStringConvertible {
    case bell, osc9, osc777, osc99

    var testDescription: String {
        switch self {
        case .bell: "one with a bell alone"
        case .osc9: "one with OSC 9"
        case .osc777: "one with OSC 777"
        case .osc99: "one that answers that it takes OSC 99"
        }
    }

    /// What the terminal says of itself in the environment.
    var environment: [String: String] {
        switch self {
        case .bell, .osc99: [:]
        case .osc9: ["TERM_PROGRAM": "iTerm.app"]
        case .osc777: ["TERM_PROGRAM": "WezTerm"]
        }
    }

    /// What it answers when it is asked whether it takes OSC 99; the others know nothing of that.
    var answer: [UInt8] {
        self == .osc99 ? Array("\u{1B}]99;i=parley:p=?;a=focus:o=unfocused:p=title,body,?\u{1B}\\".utf8) : []
    }

    /// The commands that it is given for one notification.
    func commands(_ title: String, _ body: String) -> [String] {
        switch self {
        case .bell: []
        case .osc9: ["9;\(title): \(body)"]
        case .osc777: ["777;notify;\(title);\(body)"]
        case .osc99: ["99;i=parley:d=0;\(title)", "99;i=parley:p=body;\(body)"]
        }
    }

    /// What `/notify test` says then.
    var words: String {
        switch self {
        case .bell: "The bell has rung: the terminal is not known to show notifications."
        case .osc9: "Sent by OSC 9."
        case .osc777: "Sent by OSC 777."
        case .osc99: "Sent by OSC 99."
        }
    }
}

extension PseudoTerminal {
    /// The question whether the terminal takes OSC 99.
    fileprivate static let notificationQuestion = "99;i=parley:p=?;"

    /// The commands that notify and have come to the terminal as a whole, one after the other.
    fileprivate var notifications: [String] {
        commands.filter { command in
            command != Self.notificationQuestion && ["9;", "777;", "99;"].contains { command.hasPrefix($0) }
        }
    }

    /// What was written as `OSC … ST`, without its introducer and its end.
    fileprivate var commands: [String] {
        String(decoding: output, as: UTF8.self).components(separatedBy: "\u{1B}]").dropFirst().compactMap { rest in
            let parts = rest.components(separatedBy: "\u{1B}\\")
            return parts.count > 1 ? parts.first : nil
        }
    }
}

extension EndToEndTests {
    @Suite("Notifications")
    struct Notifications {
        // MARK: What happens

        /// Has alice's welcome come before her chat starts, so that no letter calls her.
        private static func welcome(in network: PrivateNetworkFixture) async throws {
            _ = try await network.started()
            try await eventually("alice's postbox", deadline: .seconds(60)) {
                try await network.parley("postbox", "list", "--as", "alice").status.isSuccess
            }
            #expect(try await network.letters(of: "alice").count == 1)
        }

        /// Alice's chat, whose connection is kept while she looks elsewhere.
        private static func chat(
            _ network: PrivateNetworkFixture, in kind: NotifiedTerminal = .bell, _ arguments: [String] = []
        ) async throws -> PseudoTerminal {
            try await Self.welcome(in: network)
            let alice = try network.open(
                "alice", ["--suspend-after", "1"] + arguments, environment: kind.environment, columns: 100)
            try await Self.isLive(alice)
            try await Self.keep(alice)
            return alice
        }

        private static func isLive(_ alice: PseudoTerminal) async throws {
            try await alice.waitFor("the live topic", deadline: .seconds(60)) {
                $0.contains("● CONNECTED") && $0.contains("personal") && $0.main(row: 1).contains("chat.lobby")
                    && !$0.contains("joining …")
            }
        }

        private static func keep(_ alice: PseudoTerminal) async throws {
            try alice.type("/notify on")
            try alice.press(.enter)
            try await alice.waitFor(text: "The connection is kept while you look elsewhere", deadline: .seconds(60))
        }

        /// Has the terminal answer whether it takes OSC 99, where it does.
        private static func answer(_ alice: PseudoTerminal, as kind: NotifiedTerminal) async throws {
            guard !kind.answer.isEmpty else { return }
            try await alice.waitFor("the question for OSC 99", deadline: .seconds(60)) { _ in
                alice.commands.contains(PseudoTerminal.notificationQuestion)
            }
            try alice.send(kind.answer)
        }

        /// Takes the focus from the terminal, and returns when the chat knows.
        private static func lookAway(_ alice: PseudoTerminal) async throws {
            try await alice.waitFor("the reports of the focus", deadline: .seconds(60)) { $0.modes.reportsFocus }
            try alice.focus(true)
            try alice.focus(false)
            try await settled(alice)
        }

        /// Returns when the chat has taken in all that the terminal has sent: a word on its background comes behind
        /// that, which nobody types and everybody sees. It is for once, since the next word would have to be another
        /// one.
        private static func settled(_ alice: PseudoTerminal) async throws {
            try await alice.waitFor("the question for the background", deadline: .seconds(60)) { _ in
                alice.commands.contains("11;?")
            }
            let before = heading(alice)
            try alice.send(Array("\u{1B}]11;rgb:0000/0000/0000\u{1B}\\".utf8))
            try await alice.waitFor("colours for black", deadline: .seconds(60)) { _ in heading(alice) != before }
        }

        /// The colour of the heading above the topics.
        private static func heading(_ alice: PseudoTerminal) -> TerminalCell.Color {
            alice.cell(row: 1, column: 1).foreground
        }

        /// Has bob say something in the lobby.
        private static func say(_ text: String, in network: PrivateNetworkFixture) async throws {
            let sent = try await network.parley("send", "--as", "bob", "chat.lobby", input: text)
            #expect(sent.status.isSuccess, "\(sent)")
        }

        /// Has bob call alice until that has come of it.
        private static func call(
            in network: PrivateNetworkFixture, until isThere: @Sendable () -> Bool
        ) async throws {
            var number = 0
            while !isThere() {
                number += 1
                guard number < 10 else { throw TestFailure("no mention has called") }
                try await say("alice: look \(number)", in: network)
                // There is one notification in ten seconds.
                try? await eventually("the call of mention \(number)", deadline: .seconds(15)) { isThere() }
            }
        }

        /// Has bob write letters to alice until one of them calls her: one may come before the chat listens for them.
        private static func write(
            in network: PrivateNetworkFixture, until isThere: @Sendable () -> Bool
        ) async throws {
            var number = 0
            while !isThere() {
                number += 1
                guard number < 10 else { throw TestFailure("no letter has called") }
                let posted = try await network.parley(
                    "inbox", "post", "--as", "bob", "alice/personal", "letter \(number)")
                #expect(posted.status.isSuccess, "\(posted)")
                try? await eventually("the call of letter \(number)", deadline: .seconds(15)) { isThere() }
            }
        }

        // MARK: Tests

        @Test(
            "Out of focus a mention rings the bell and shows a notification of the terminal's kind, safe and cut",
            arguments: NotifiedTerminal.allCases)
        func mention(in kind: NotifiedTerminal) async throws {
            try await PrivateNetworkFixture.run { network in
                let alice = try await Self.chat(network, in: kind)
                try await Self.answer(alice, as: kind)
                try await Self.lookAway(alice)
                #expect(alice.notifications == [] && alice.modes.bells == 0, "\(alice.notifications)")

                let evil = "\u{1B}\\\u{7}\u{1B}]52;c;UFdORUQ=\u{7}\u{9B}2J\u{202E}"
                try await Self.say("alice: look \(evil)" + String(repeating: "x", count: 400), in: network)
                let start = "alice: look \\]52;c;UFdORUQ=2J"
                let ordinary = start + String(repeating: "x", count: 159 - start.count) + "…"
                // A semicolon would divide the parts of OSC 777.
                let body = kind == .osc777 ? ordinary.replacingOccurrences(of: ";", with: ",") : ordinary
                let expected = kind.commands("bob in chat.lobby", body)
                try await alice.waitFor("the bell and the notification", deadline: .seconds(60)) {
                    $0.modes.bells == 1 && alice.notifications.count >= expected.count && $0.contains("alice: look")
                }
                #expect(alice.notifications == expected)
                #expect(!alice.commands.contains { $0.hasPrefix("52;") })
                #expect(alice.screen.contains("● CONNECTED"))
            }
        }

        @Test("However many mentions come, the bell rings and a notification is shown once in ten seconds")
        func pace() async throws {
            try await PrivateNetworkFixture.run { network in
                let alice = try await Self.chat(network, in: .osc777)
                try await Self.lookAway(alice)
                let begin = ContinuousClock.now
                try await Self.say("alice: the first", in: network)
                try await alice.waitFor("the first call", deadline: .seconds(60)) {
                    $0.modes.bells == 1 && alice.notifications == ["777;notify;bob in chat.lobby;alice: the first"]
                }
                try await Self.say("alice: the second", in: network)
                try await alice.waitFor("the second call", deadline: .seconds(60)) {
                    $0.modes.bells > 1 && alice.notifications.count > 1
                }
                // However slow the machine is, it makes this longer and not shorter; what is missing of the ten seconds
                // is for the program's clock, which it reads before it looks for what there is.
                #expect(begin.duration(to: .now) > .seconds(9))
                #expect(alice.modes.bells == 2)
                #expect(alice.notifications.dropFirst() == ["777;notify;bob in chat.lobby;alice: the second"])
                // The connection was kept far beyond the time after which it would have been suspended.
                #expect(alice.screen.contains("● CONNECTED"))
            }
        }

        @Test("Of a kind that is switched off nothing is said, of the others it is")
        func switchedOff() async throws {
            try await PrivateNetworkFixture.run { network in
                let file = try network.configuration("bell: 'none', notifications: { mentions: false, by: 'osc9' }")
                let alice = try await Self.chat(network, in: .bell, ["--config", file])
                try await Self.lookAway(alice)
                try await Self.say("alice: nobody hears this", in: network)
                try await alice.waitFor(text: "alice: nobody hears this", deadline: .seconds(60))
                // What is said of letters comes behind what would have been said of the mention.
                try await Self.write(in: network) { !alice.notifications.isEmpty }
                let notifications = alice.notifications
                #expect(notifications.allSatisfy { $0.hasPrefix("9;Letter from bob") }, "\(notifications)")
                #expect(alice.modes.bells == 0)
            }
        }

        @Test("/notify test notifies whoever looks, and says by what", arguments: NotifiedTerminal.allCases)
        func command(in kind: NotifiedTerminal) async throws {
            try await PrivateNetworkFixture.run { network in
                let alice = try await Self.chat(network, in: kind)
                try await Self.answer(alice, as: kind)
                try await Self.settled(alice)
                try alice.type("/notify test")
                try alice.press(.enter)
                try await alice.waitFor("the words", deadline: .seconds(60)) {
                    $0.contains(kind.words) && (kind != .bell || $0.modes.bells == 1)
                }
                #expect(alice.notifications == kind.commands("Parley", "This is a test for alice@local."))
                #expect(alice.modes.bells == (kind == .bell ? 1 : 0))
            }
        }

        @Test(
            "In tmux the bell rings, and with allow-passthrough the terminal's own notification is shown as well",
            .enabled(if: TmuxServer.isInstalled, "\(TmuxServer.missing)"))
        func tmux() async throws {
            try await PrivateNetworkFixture.run { network in
                try await Self.welcome(in: network)
                // By this iTerm2 is known in tmux, where TERM_PROGRAM is tmux's own.
                let surroundings = network.environment.merging(["ITERM_SESSION_ID": "w0t0p0"]) { $1 }
                let tmux = try await TmuxServer.start(focusEvents: true, environment: surroundings)
                defer { tmux.close() }
                // Where there is no such option, in tmux 3.2, all is passed on.
                let isOff = try await tmux.run("set-option", "-g", "allow-passthrough", "off").status.isSuccess
                let parley = try BuiltProduct.url("parley").path
                let alice = try tmux.open(parley, ["--as", "alice", "--suspend-after", "1"], columns: 100)
                try await Self.isLive(alice)
                try await Self.keep(alice)
                try await alice.waitFor("tmux to ask for the focus", deadline: .seconds(60)) { $0.modes.reportsFocus }
                try alice.focus(true)
                try alice.focus(false)
                // When the chat hears of the focus is tmux's matter: a line before that calls nobody.
                try await Self.call(in: network) { alice.modes.bells > 0 }
                #expect(!isOff || alice.notifications == [], "\(alice.notifications)")

                if isOff {
                    let isOn = try await tmux.run("set-option", "-g", "allow-passthrough", "on")
                    #expect(isOn.status.isSuccess, "\(isOn)")
                }
                // While tmux draws the whole screen it may drop what it passes on otherwise.
                try await Self.call(in: network) { !alice.notifications.isEmpty }
                #expect(
                    alice.notifications.allSatisfy {
                        $0.hasPrefix("9;bob in chat.lobby") && $0.contains(": alice: look ")
                    }, "\(alice.notifications)")
                // Nothing of the wrapping has become visible.
                #expect(!alice.screen.contains("tmux;"))
                let programs = try await tmux.programs()
                tmux.close()
                try await eventually("the end of what ran in tmux", deadline: .seconds(60)) {
                    !programs.contains { PrivateNetworkFixture.isRunning($0) }
                }
            }
        }
    }
}
