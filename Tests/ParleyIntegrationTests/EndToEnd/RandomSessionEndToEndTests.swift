import Foundation
import Platform
import TestSupport
import Testing

/// What somebody without a plan does at a terminal, drawn from a seed.
private struct RandomHands: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed &* 0x9E37_79B9_7F4A_7C15 | 1 }

    /// SplitMix64.
    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ value >> 30) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ value >> 27) &* 0x94D0_49BB_1331_11EB
        return value ^ value >> 31
    }

    // Without what ends the program as it should: ^Q, a second ^C, the palette of commands and a slash; of commands
    // those alone that are whole, below.
    private static let letters = Array("abcdefghijklmnopqrstuvwxyzABCYNR  .,:@`>-+*0123456789äß日本👍")
    private static let controls = Array("abdefghjlnoprstuvwy_")
    private static let alternates = Array("abcdefghjklnoprtuvwy123456789.<>\\_")
    private static let plain: [TerminalKey] = [
        .enter, .tab, .backTab, .backspace, .delete, .insert, .up, .down, .left, .right, .home, .end, .pageUp,
        .pageDown,
    ]
    /// Without those that end the program, give up the connection, lead away from the topic that has the draft, or
    /// begin the editor.
    private static let commands = [
        "/topics", "/next", "/history", "/unsent", "/resend", "/discard", "/links", "/link 1", "/who", "/away lunch",
        "/back", "/inbox", "/log", "/errors", "/help keys", "/find o", "/find", "/search plain", "/open 1", "/more",
        "/read", "/read 2", "/quote 1", "/quote 2 indeed", "/details", "/say hello", "/post bob/personal hi",
        "/kv keys",
        "/ignore carol", "/unignore carol", "/reconnect", "/nonsense",
    ]
    /// What is looked for in the palette; none of it finds another command.
    private static let sought = ["/topics", "/log", "/errors", "/who", "/history", "/links", "/inbox", "/next"]
    static let texts = [
        "plain words", "日本語 👩‍👩‍👧 🏳️‍🌈", "\u{1B}[2J\u{1B}[999;1H\u{9B}31m", "a\u{202E}b\u{200F}c", "one\ntwo\nthree\nfour",
        "e\u{301}\u{302}\u{303}\u{304}\u{305}", "`code` > quote https://example.org/(a)?b=c.",
        "{\"a\": [1, 2, {\"b\": null}]}",
        String(repeating: "long ", count: 300), String(repeating: "x", count: 5_000),
    ]

    /// Does one thing.
    mutating func act(at terminal: PseudoTerminal) throws {
        switch Int.random(in: 0..<100, using: &self) {
        case 0..<50: try terminal.type(String(Self.letters.randomElement(using: &self) ?? "a"))
        case 50..<70: try terminal.press(Self.plain.randomElement(using: &self) ?? .up)
        case 70..<76: try terminal.press(.ctrl(Self.controls.randomElement(using: &self) ?? "a"))
        case 76..<82: try terminal.press(.alt(Self.alternates.randomElement(using: &self) ?? "a"))
        case 82..<83:
            // ^C closes what is open, or clears the text.
            try terminal.press(.left, .ctrl("c"))
            try terminal.type(Self.commands.randomElement(using: &self) ?? "/log")
            try terminal.press(.enter)
        case 83..<84:
            try terminal.press(.left, .ctrl("c"), .alt("x"))
            try terminal.type(Self.sought.randomElement(using: &self) ?? "/log")
            // The palette is closed whatever came of it; a key behind ^C takes it back.
            try terminal.press(.enter, .ctrl("c"), .left)
        case 84..<86: try terminal.press(.f(Int.random(in: 1...12, using: &self)))
        case 86..<89: try terminal.paste(Self.texts.randomElement(using: &self) ?? "")
        case 89..<93:
            try terminal.click(row: Int.random(in: 0..<40, using: &self), column: Int.random(in: 0..<120, using: &self))
        case 93..<95:
            let wheel = Bool.random(using: &self) ? 64 : 65
            if terminal.modes.enabled.contains(1006) { try terminal.type("\u{1B}[<\(wheel);20;10M") }
        case 95..<97: try terminal.focus(Bool.random(using: &self))
        default:
            try terminal.resize(
                rows: Int.random(in: 1...50, using: &self), columns: Int.random(in: 1...160, using: &self))
        }
    }
}

extension EndToEndTests {
    @Suite("A session without a plan")
    struct RandomSession {
        private static let environment = ProcessInfo.processInfo.environment
        /// What is done; ten minutes of it are some 20,000.
        private static let count = environment["PARLEY_RANDOM_ACTIONS"].flatMap(Int.init) ?? 400
        private static let seed = environment["PARLEY_RANDOM_SEED"].flatMap(UInt64.init) ?? 11

        @Test(
            "Keys, commands, pastes, clicks, sizes, suspensions, messages and outages by chance: it answers, and ends clean"
        )
        func session() async throws {
            try await PrivateNetworkFixture.run { network in
                // An editor that leaves the text as it is.
                let alice = try network.open("alice", environment: ["EDITOR": "true", "VISUAL": ""])
                try await alice.waitFor("a connection", deadline: .seconds(60)) { $0.contains("● CONNECTED") }
                var hands = RandomHands(seed: Self.seed)
                var stoppedHost: pid_t?
                defer { if let stoppedHost { kill(stoppedHost, SIGCONT) } }
                for action in 1...Self.count {
                    try hands.act(at: alice)
                    if [40, 80].contains(action % 200) {
                        let text = RandomHands.texts.randomElement(using: &hands) ?? "hello"
                        let sent = try await network.parley("send", "--as", "bob", "chat.lobby", text)
                        #expect(sent.status.isSuccess, "\(sent)")
                    }
                    // A server that is back at once, and one that nobody starts again for a hundred actions.
                    if action % 200 == 20, let server = network.description?.serverPid { kill(server, SIGKILL) }
                    if action % 200 == 95, let network = network.description {
                        stoppedHost = network.hostPid
                        try await pause(network.hostPid)
                        kill(network.serverPid, SIGKILL)
                    }
                    if action % 200 == 195, let host = stoppedHost {
                        stoppedHost = nil
                        kill(host, SIGCONT)
                    }
                    if action % 50 == 0 { try await Self.answers(alice, "zq\(action)") }
                    if action % 100 == 50 {
                        // While it answers: keys that came before are done with, and no editor has the terminal.
                        try alice.press(.ctrl("z"))
                        try await alice.waitForStop(deadline: .seconds(60))
                        #expect(alice.lineDiscipline?.isSane == true)
                        alice.foreground()
                        try await Self.answers(alice, "zqback\(action)")
                    }
                }
                if let host = stoppedHost {
                    stoppedHost = nil
                    kill(host, SIGCONT)
                }
                // The next start is in a topic: what is written elsewhere, as in the postbox, is seen there alone.
                try alice.resize(rows: 24, columns: 80)
                try await eventually("the topic", deadline: .seconds(60)) {
                    try alice.press(.left, .ctrl("c"), .alt("1"))
                    // No more keys before it has had time for these.
                    let topic = try? await alice.waitFor("the topic", deadline: .seconds(2)) {
                        $0.rows.dropFirst().first?.contains("chat.lobby ─") == true
                    }
                    return topic != nil
                }
                try await Self.answers(alice, "zqdraft")
                alice.hangUp()
                _ = try await alice.waitForExit(deadline: .seconds(60))

                let again = try network.open("alice")
                try await again.waitFor("the draft", deadline: .seconds(60)) { $0.contains("zqdraft") }
                try again.press(.ctrl("q"))
                // What is not sent yet is asked about.
                try await again.waitFor("the end, or a question", deadline: .seconds(60)) {
                    $0.contains("Quit anyway?") || again.exitStatus != nil
                }
                if again.exitStatus == nil { try again.type("y") }
                #expect(try await again.waitForExit(deadline: .seconds(60)) == .exited(0))
                #expect(again.modes.isSane && again.lineDiscipline?.isSane == true)
            }
        }

        /// Whether the program takes a text in time, whatever is open: ^C closes a list or a question, or clears the
        /// text, and a paste goes to the text.
        private static func answers(_ terminal: PseudoTerminal, _ mark: String) async throws {
            try terminal.resize(rows: 24, columns: 80)
            try terminal.press(.left, .ctrl("c"))
            // While an editor has the terminal, nothing would tell a paste from keys, which mean something else in
            // other panes.
            try await terminal.waitFor("the end of the editor") { _ in terminal.modes.bracketsPaste }
            try terminal.paste("\n\(mark)")
            try await terminal.waitFor("an answer to a key", deadline: .seconds(60)) { screen in
                screen.contains(mark) && screen.rows.first?.contains("alice") == true
            }
        }
    }
}
