import Foundation
import Platform
import TestSupport
import Testing

extension EndToEndTests {
    @Suite("Signals and the terminal")
    struct Signals {
        @Test("A signal ends the program and leaves a terminal that a shell can use")
        func deadlySignals() async throws {
            try await PrivateNetworkFixture.run { network in
                for number in [SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGSEGV, SIGABRT] {
                    let alice = try await network.connected("alice")
                    // The draft of the run before is there again, so each has words of its own.
                    try alice.type("<\(number)>")
                    try await alice.waitFor(text: "<\(number)>")
                    #expect(alice.modes.isAlternateScreen && alice.modes.reportsFocus && alice.modes.bracketsPaste)
                    alice.signal(number)
                    #expect(try await alice.waitForExit() == .signalled(number))
                    #expect(alice.modes.leftovers.isEmpty, "signal \(number): \(alice.modes)")
                    #expect(alice.lineDiscipline?.isSane == true, "signal \(number): \(alice.lineDiscipline as Any)")
                    #expect(!alice.screen.contains("<\(number)>"), "signal \(number): \(alice.screen)")
                }
            }
        }

        @Test("A signal before the first connection leaves a usable terminal as well")
        func signalAtStart() async throws {
            try await PrivateNetworkFixture.run { network in
                let alice = try network.open("alice")
                try await alice.waitFor(text: "chat.lobby")
                alice.signal(SIGTERM)
                #expect(try await alice.waitForExit() == .signalled(SIGTERM))
                #expect(alice.modes.leftovers.isEmpty, "\(alice.modes)")
                #expect(alice.lineDiscipline?.isSane == true)
                // Whether or not it came so far as to start a host, there is one now, which the fixture ends.
                #expect(try await network.parley("network", "start").exitCode == 0)
            }
        }

        @Test(
            "While another program holds the network's files, keys and signals count, and an end comes at once",
            arguments: [true, false])
        func filesHeldElsewhere(byKey: Bool) async throws {
            try await PrivateNetworkFixture.run { network in
                #expect(try await network.parley("network", "start").exitCode == 0)
                let lock = open(network.folder.path("data/parley/local/identity.lock"), O_RDWR | O_CLOEXEC)
                try #require(lock >= 0)
                defer { close(lock) }
                try #require(flock(lock, LOCK_EX) == 0)
                let alice = try network.open("alice")
                try await alice.waitFor("the first frame") { $0.modes.isAlternateScreen }
                try alice.type("typed meanwhile")
                try await alice.waitFor(text: "> typed meanwhile")
                try alice.press(.ctrl("z"))
                try await alice.waitForStop()
                alice.foreground()
                try await alice.waitFor("the screen as it was") {
                    $0.modes.isAlternateScreen && $0.contains("> typed meanwhile")
                }
                if byKey { try alice.press(.ctrl("q")) } else { alice.signal(SIGTERM) }
                #expect(try await alice.waitForExit() == (byKey ? .exited(0) : .signalled(SIGTERM)))
                #expect(alice.modes.leftovers.isEmpty, "\(alice.modes)")
                #expect(alice.lineDiscipline?.isSane == true)
            }
        }

        @Test(
            "B27 Suspended by signal or ^Z, the terminal is the shell's; in the foreground again all goes on",
            arguments: [true, false])
        func suspending(byKey: Bool) async throws {
            try await PrivateNetworkFixture.run { network in
                let alice = try await network.connected("alice")
                for round in 1...3 {
                    try alice.type("round \(round)")
                    try await alice.waitFor(text: "> round \(round)")
                    if byKey { try alice.press(.ctrl("z")) } else { alice.signal(SIGTSTP) }
                    try await alice.waitForStop()
                    #expect(alice.modes.leftovers.isEmpty, "round \(round): \(alice.modes)")
                    #expect(alice.lineDiscipline?.isSane == true, "round \(round)")
                    #expect(
                        try await network.parley("send", "--as", "bob", "chat.lobby", "during \(round)").status
                            .isSuccess)

                    alice.foreground()
                    try await alice.waitFor("the screen as it was, with what came meanwhile") {
                        $0.modes.isAlternateScreen && $0.modes.reportsFocus && $0.modes.bracketsPaste
                            && $0.contains("> round \(round)") && $0.contains("│ POSTBOX") == false
                            && $0.rows[0].contains("● CONNECTED") && $0.count(of: "during \(round)") == 1
                    }
                    #expect(alice.lineDiscipline?.isCanonical == false)
                    try alice.press(.enter)
                    try await alice.waitFor("the sent line") { screen in
                        screen.rows.contains { $0.contains("alice  round \(round)") && $0.hasSuffix("✓") }
                    }
                }
                #expect(try await network.texts(on: "chat.lobby").count == 6)
                try alice.press(.ctrl("q"))
                #expect(try await alice.waitForExit() == .exited(0))
                #expect(alice.modes.isSane)
            }
        }

        @Test("Keys that are typed while it comes back from its sleep do not end it, ^C among them")
        func keysOnTheWayBack() async throws {
            try await PrivateNetworkFixture.run { network in
                let alice = try await network.connected("alice")
                for round in 1...20 {
                    try alice.press(.ctrl("z"))
                    try await alice.waitForStop()
                    alice.foreground()
                    // Some of them come while the shell's modes still make a signal of ^C; the letter before each keeps
                    // two of them from asking for the end.
                    for _ in 1...50 { try alice.type("x\u{3}") }
                    try alice.type("round \(round)")
                    try await alice.waitFor("the text") { screen in
                        screen.modes.isAlternateScreen && screen.contains("> round \(round)")
                    }
                    try alice.press(.ctrl("c"))
                }
                try alice.press(.ctrl("q"))
                #expect(try await alice.waitForExit() == .exited(0))
                #expect(alice.modes.isSane)
            }
        }

        @Test("Resized in its sleep, it draws for the new size")
        func resizedWhileSuspended() async throws {
            try await PrivateNetworkFixture.run { network in
                let alice = try await network.connected("alice")
                try alice.press(.ctrl("z"))
                try await alice.waitForStop()
                try alice.resize(rows: 12, columns: 60)
                alice.foreground()
                try await alice.waitFor("the small screen") { screen in
                    screen.rows[0].contains("● CONNECTED") && screen.rows[9].contains("┴")
                        && screen.rows[10].contains("write to chat.lobby") && screen.rows[11].contains("F1 help")
                }
            }
        }

        @Test("On a terminal that keeps the rows that scrolled before its size changed, the screen is whole")
        func keptScrollRegion() async throws {
            try await PrivateNetworkFixture.run { network in
                let alice = try await network.connected("alice")
                alice.signal(SIGSTOP)
                try await alice.waitForStop()
                // As what was on its way for another size.
                alice.takeOutput("\u{1B}[1;10r")
                try alice.resize(rows: 30, columns: 80)
                alice.foreground()
                try await alice.waitFor("the whole screen") { screen in
                    screen.rows[0].contains("● CONNECTED") && screen.rows[1].contains("── chat.lobby ─")
                        && screen.rows[2...26].allSatisfy { $0.contains("│") } && screen.rows[27].contains("┴")
                        && screen.rows[28].contains("write to chat.lobby") && screen.rows[29].contains("F1 help")
                }
            }
        }

        @Test("What is typed while the terminal is asked and the editor begins is not lost")
        func typedBeforeEditor() async throws {
            try await PrivateNetworkFixture.run { network in
                let alice = try network.open("alice", environment: ["EDITOR": "true", "VISUAL": ""])
                try await alice.waitFor("a connection", deadline: .seconds(60)) { $0.contains("● CONNECTED") }
                for round in 1...30 {
                    // Two questions, and no answer is taken for keys.
                    try alice.press(.ctrl("l"), .ctrl("l"))
                    try alice.press(.alt("e"))
                    for character in "text\(round)." { try alice.type(String(character)) }
                    try await alice.waitFor("the text") { $0.contains("> text\(round).") }
                    try alice.press(.ctrl("c"))
                    try await alice.waitFor("an empty line") { !$0.contains("text\(round).") }
                }
            }
        }

        @Test("After a suspension the end leaves the shell's cursor in its row")
        func shellsCursor() async throws {
            try await PrivateNetworkFixture.run { network in
                let alice = try await network.connected("alice")
                try alice.press(.ctrl("z"))
                try await alice.waitForStop()
                alice.takeOutput("one\r\ntwo\r\nthree\r\nfour\r\n$ fg")
                let row = alice.screen.cursorRow
                alice.foreground()
                try await alice.waitFor(text: "write to chat.lobby")
                try alice.press(.ctrl("q"))
                #expect(try await alice.waitForExit() == .exited(0))
                #expect(alice.screen.cursorRow == row)
            }
        }

        @Test("A closed window ends the program, for a job and for a session leader", arguments: [true, false])
        func hangUp(isJob: Bool) async throws {
            try await PrivateNetworkFixture.run { network in
                let alice = try await network.connected("alice", parent: isJob ? .shell : .emulator)
                alice.hangUp()
                // Its end, also when it has lost its terminal without a signal, is the proof that it does not spin.
                try await alice.waitForExit()
                #expect(!PrivateNetworkFixture.isRunning(alice.processID))
                try await eventually("the server to have no client") { try await network.clientCount() == 0 }
            }
        }

        @Test("^C clears the text, and twice on no text quits")
        func interrupts() async throws {
            try await PrivateNetworkFixture.run { network in
                let alice = try await network.connected("alice")
                try alice.type("not for sending")
                try await alice.waitFor(text: "not for sending")
                try alice.press(.ctrl("c"))
                try await alice.waitFor("an empty line") { !$0.contains("not for sending") }
                try alice.press(.ctrl("c"))
                try await alice.waitFor(text: "^C again quits.")
                try alice.press(.ctrl("c"))
                #expect(try await alice.waitForExit() == .exited(0))
                #expect(alice.modes.isSane)
                #expect(try await network.texts(on: "chat.lobby").isEmpty)
            }
        }

        @Test("A window that is small for a moment loses nothing of the screen")
        func smallForAMoment() async throws {
            try await PrivateNetworkFixture.run { network in
                let alice = try await network.connected("alice")
                func isWhole(_ screen: TerminalScreen) -> Bool {
                    screen.rows[0].contains("● CONNECTED") && screen.rows[1].contains("── chat.lobby ─")
                        && screen.rows[2...20].allSatisfy { $0.contains("│") }
                        && screen.rows[21].contains("────────────────────┴────────────────────")
                }
                try await alice.waitFor("the whole screen", deadline: .seconds(60), isWhole)
                for _ in 1...20 {
                    try alice.resize(rows: 6, columns: 12)
                    try alice.resize(rows: 24, columns: 80)
                    try await alice.waitFor("the whole screen again", deadline: .seconds(60), isWhole)
                }
            }
        }

        @Test("Every size from 120x40 to 1x1 and back is survived and drawn")
        func resizing() async throws {
            try await PrivateNetworkFixture.run { network in
                let alice = try await network.connected("alice", rows: 40, columns: 120)
                try alice.type("日本語 stays")
                try alice.press(.enter)
                try await alice.waitFor(text: "✓")
                for (columns, rows) in [(80, 24), (40, 10), (10, 2), (1, 1), (3, 40), (200, 1), (120, 40)] {
                    let drawn = alice.outputCount
                    try alice.resize(rows: rows, columns: columns)
                    try await alice.waitFor("a new frame of \(columns)x\(rows)") { _ in alice.outputCount > drawn }
                    if columns >= 40 && rows >= 10 {
                        try await alice.waitFor("the frame of \(columns)x\(rows)") { screen in
                            screen.rows[0].contains("● CONNECTED")
                                && (columns < 80 || screen.rows[0].hasPrefix(" parley  alice@local"))
                                && screen.count(of: "日本語 stays") == 1
                                && screen.rows[rows - 2].contains("> write to chat.lobby")
                                && screen.rows[rows - 3].hasPrefix("───")
                        }
                    }
                    #expect(alice.exitStatus == nil)
                }
                try alice.type("and typing works")
                try await alice.waitFor("the text") { $0.rows[38].contains("> and typing works") }
            }
        }
    }
}
