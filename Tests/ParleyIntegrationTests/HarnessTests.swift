import Foundation
import TestSupport
import Testing

/// The instruments that the end-to-end tests see through, tried on small programs whose behaviour is known.
@Suite("The test harness", .realProcesses)
struct HarnessTests {
    @Test("What a program prints is seen, with its exit status")
    func printing() async throws {
        let terminal = try PseudoTerminal("sh", ["-c", "printf 'one\\n\\033[2;5Htwo'; exit 3"], rows: 5, columns: 20)
        #expect(try await terminal.waitForExit() == .exited(3))
        #expect(terminal.screen.rows == ["one", "    two", "", "", ""])
        #expect(terminal.screen.cursorRow == 1)
        #expect(terminal.screen.cursorColumn == 7)
        #expect(String(decoding: terminal.output, as: UTF8.self) == "one\r\n\u{1B}[2;5Htwo")
    }

    @Test("Wide characters take two columns, marks none")
    func wideCharacters() async throws {
        let terminal = try PseudoTerminal("printf", ["日本|e\u{301}x"])
        try await terminal.waitForExit()
        #expect(terminal.screen.rows[0] == "日本|e\u{301}x")
        #expect(terminal.screen.cursorColumn == 7)
        #expect(terminal.cell(row: 0, column: 2).text == "本")
        #expect(terminal.cell(row: 0, column: 2).width == 2)
        #expect(terminal.cell(row: 0, column: 4).text == "|")
        #expect(terminal.cell(row: 0, column: 5).text == "e\u{301}")
    }

    @Test("A terminal of one column takes a wide character, as of any other width")
    func narrowest() async throws {
        let terminal = try PseudoTerminal("printf", ["日本"], rows: 3, columns: 1)
        #expect(try await terminal.waitForExit() == .exited(0))
        #expect(terminal.screen.columns == 1 && terminal.screen.rows.count == 3)
        #expect(terminal.screen.cursorColumn == 0)
    }

    @Test("Attributes and colours of a cell are seen")
    func attributes() async throws {
        let text = "\\033[1;4;7;31;48;2;1;2;3mA\\033[0mB\\033[38;5;200mC"
        let terminal = try PseudoTerminal("printf", [text])
        try await terminal.waitForExit()
        let loud = terminal.cell(row: 0, column: 0)
        #expect(loud.isBold && loud.isUnderlined && loud.isReversed && !loud.isItalic)
        #expect(loud.foreground == .indexed(1))
        #expect(loud.background == .rgb(1, 2, 3))
        let plain = terminal.cell(row: 0, column: 1)
        #expect(!plain.isBold && plain.foreground == .standard && plain.background == .standard)
        #expect(terminal.cell(row: 0, column: 2).foreground == .indexed(200))
    }

    @Test("What is typed reaches the program, and ^D ends its input")
    func typing() async throws {
        let terminal = try PseudoTerminal("cat")
        try terminal.type("grüße")
        try terminal.press(.enter)
        try await terminal.waitFor("the line, echoed and repeated") { $0.rows[0] == "grüße" && $0.rows[1] == "grüße" }
        try terminal.press(.ctrl("d"))
        #expect(try await terminal.waitForExit() == .exited(0))
    }

    @Test("^C ends the foreground program by a signal")
    func interrupt() async throws {
        let terminal = try PseudoTerminal("cat")
        try terminal.type("x")
        try await terminal.waitFor(text: "x")
        try terminal.press(.ctrl("c"))
        #expect(try await terminal.waitForExit() == .signalled(SIGINT))
    }

    @Test("A program that waits for ever fails its test with the whole screen")
    func timeout() async throws {
        let terminal = try PseudoTerminal("sh", ["-c", "echo here; cat"], rows: 3, columns: 10)
        try await terminal.waitFor(text: "here")
        let failure = await #expect(throws: TestFailure.self) {
            try await terminal.waitFor("the impossible", deadline: .milliseconds(60)) { $0.contains("there") }
        }
        let message = failure?.description ?? ""
        #expect(message.contains("the impossible"))
        #expect(message.contains("│here"))
        #expect(message.contains("running"))
        #expect(message.contains("HarnessTests.swift"))
    }

    @Test("The size is the program's from the start, and it learns of a resize")
    func resizing() async throws {
        let script = "trap 'echo told' WINCH; while read -r line; do stty size; done"
        let terminal = try PseudoTerminal("bash", ["-c", script], rows: 30, columns: 100)
        try terminal.press(.enter)
        try await terminal.waitFor(text: "30 100")
        try terminal.resize(rows: 10, columns: 40)
        try terminal.press(.enter)
        try await terminal.waitFor("the new size, and word of it") { $0.contains("told") && $0.contains("10 40") }
        #expect(terminal.screen.rows.count == 10)
        try terminal.resize(rows: 1, columns: 1)
        try terminal.resize(rows: 24, columns: 80)
        try terminal.press(.enter)
        try await terminal.waitFor(text: "24 80")
    }

    @Test("Suspended by ^Z, a program comes back in the foreground", arguments: 1...3)
    func suspending(round: Int) async throws {
        let terminal = try PseudoTerminal("cat")
        for turn in 1...round {
            try terminal.type("turn \(turn)")
            try await terminal.waitFor(text: "turn \(turn)")
            try terminal.press(.ctrl("z"))
            try await terminal.waitForStop()
            #expect(terminal.isStopped)
            terminal.foreground()
            try await terminal.waitFor("the program to go on") { _ in !terminal.isStopped }
        }
        try terminal.press(.enter, .ctrl("d"))
        #expect(try await terminal.waitForExit() == .exited(0))
    }

    @Test("What a program leaves of its terminal is seen after its end: modes and line discipline")
    func leftovers() async throws {
        let careless = "read -r _; printf '\\033[?1049h\\033[?25l\\033[?1004h\\033]2;mine\\007'; stty raw -echo"
        let terminal = try PseudoTerminal("sh", ["-c", careless])
        #expect(terminal.lineDiscipline?.isSane == true)
        try terminal.press(.enter)
        try await terminal.waitForExit()
        #expect(terminal.modes.enabled == [7, 1004, 1049])
        #expect(terminal.modes.title == "mine")
        #expect(!terminal.modes.isSane)
        #expect(terminal.modes.leftovers.count == 3)
        let discipline = try #require(terminal.lineDiscipline)
        #expect(!discipline.isCanonical && !discipline.echoes && !discipline.isSane)

        let tidy = "stty raw; printf '\\033[?1049;25h'; printf '\\033[?1049l'; stty sane"
        let other = try PseudoTerminal("sh", ["-c", tidy])
        try await other.waitForExit()
        #expect(other.modes.isSane, "\(other.modes)")
        #expect(other.modes.everEnabled.contains(1049))
        #expect(other.lineDiscipline?.isSane == true)
    }

    @Test("A closed window is a hang-up, for a job and for a session leader", arguments: [true, false])
    func hangUp(isJob: Bool) async throws {
        let folder = try TemporaryDirectory()
        let script = "trap 'echo told >\(folder.path("told")); exit 7' HUP; echo up; while :; do sleep 0.02; done"
        let terminal = try PseudoTerminal("sh", ["-c", script], parent: isJob ? .shell : .emulator)
        try await terminal.waitFor(text: "up")
        terminal.hangUp()
        #expect(try await terminal.waitForExit() == .exited(7))
        #expect(FileManager.default.fileExists(atPath: folder.path("told")))
    }

    @Test("The terminal answers what programs ask it")
    func answers() async throws {
        // Cursor position, device attributes, and the state of mode 2004.
        let ask =
            "stty raw -echo; printf '\\033[3;4H\\033[6n'; head -c 6 | od -An -c; printf '\\033[c'; head -c 5 | od -An -c"
        let terminal = try PseudoTerminal("sh", ["-c", ask])
        try await terminal.waitForExit()
        #expect(terminal.screen.contains("033   [   3   ;   4   R"), "\(terminal.screen)")
        #expect(terminal.screen.contains("033   [   ?"), "\(terminal.screen)")
    }

    @Test("Keys are sent in the form that the program has asked for")
    func keys() async throws {
        let script = "stty raw -echo; printf '\\033[?1h\\033[?2004h\\033[?1004hready'; head -c 21 | od -An -c"
        let terminal = try PseudoTerminal("sh", ["-c", script])
        try await terminal.waitFor(text: "ready")
        try terminal.press(.up, .ctrl("k"), .f(1))
        try terminal.paste("")
        try terminal.focus(false)
        try await terminal.waitForExit()
        let text = terminal.screen.rows.joined(separator: " ").split(separator: " ").joined(separator: " ")
        #expect(text.contains("033 O A \\v 033 O P 033 [ 2 0 0 ~ 033 [ 2 0 1 ~ 033"), "\(terminal.screen)")
    }

    @Test("A terminal that takes nothing stalls its program, and takes all of it later")
    func stalling() async throws {
        let terminal = try PseudoTerminal("sh", ["-c", "cat; head -c 300000 /dev/zero | tr '\\0' x; echo end"])
        try terminal.type("go")
        try await terminal.waitFor(text: "go")
        terminal.pauseReading()
        try terminal.press(.enter, .ctrl("d"))
        #expect(terminal.exitStatus == nil)
        terminal.resumeReading()
        #expect(try await terminal.waitForExit() == .exited(0))
        #expect(terminal.outputCount > 300_000)
        #expect(terminal.screen.contains("end"))
    }

    @Test("The environment is the test's own, not the developer's")
    func environment() async throws {
        let folder = try TemporaryDirectory()
        let result = try await ChildProcess.run(
            "sh", ["-c", "env; pwd"], environment: ["XDG_DATA_HOME": "/nowhere"], workingDirectory: folder.url)
        #expect(result.status.isSuccess)
        #expect(result.lines.contains("XDG_DATA_HOME=/nowhere"))
        #expect(!result.output.contains("XDG_CONFIG_HOME") && !result.output.contains("PARLEY_"))
        #expect(result.lines.last.map { ($0 as NSString).lastPathComponent } == folder.url.lastPathComponent)
    }

    @Test("A program without a terminal: input, both outputs, lines as they come, status")
    func childProcess() async throws {
        let script = "while read -r line; do echo \"got $line\"; done; echo bad >&2; exit 75"
        let process = try ChildProcess("sh", ["-c", script])
        try process.write("a\nb\n")
        #expect(try await process.nextLine() == "got a")
        #expect(try await process.nextLine() == "got b")
        process.closeInput()
        let result = try await process.waitForExit()
        #expect(result.exitCode == 75)
        #expect(result.diagnostics == "bad\n")
        await #expect(throws: TestFailure.self) { try await process.nextLine() }
        #expect(throws: TestFailure.self) { try ChildProcess("/nonexistent/program") }
    }

    @Test("A program that is stopped does nothing until it is continued, again and again")
    func stopping() async throws {
        let process = try ChildProcess("cat")
        for turn in 1...3 {
            try await process.stop()
            #expect(process.isStopped)
            try process.write("\(turn)\n")
            process.signal(SIGCONT)
            #expect(try await process.nextLine() == "\(turn)")
        }
        process.closeInput()
        #expect(try await process.waitForExit().exitCode == 0)
        await #expect(throws: TestFailure.self) { try await process.stop() }
    }

    @Test("Closing leaves nothing behind, not even what ignores signals")
    func closing() async throws {
        let terminal = try PseudoTerminal("sh", ["-c", "trap '' TERM HUP INT; echo up; sleep 600 & wait"])
        try await terminal.waitFor(text: "up")
        let processID = terminal.processID
        #expect(kill(processID, 0) == 0)
        terminal.close()
        #expect(kill(processID, 0) != 0)
        try await eventually("the whole group to be gone") { kill(-processID, 0) != 0 }
    }

    @Test("A condition that never holds fails with its name and place")
    func eventualFailure() async throws {
        let failure = await #expect(throws: TestFailure.self) {
            try await eventually("a blue moon", deadline: .milliseconds(20)) { false }
        }
        #expect(failure?.description.contains("a blue moon") == true)
        #expect(failure?.description.contains("HarnessTests.swift") == true)
    }
}

/// The real server that the tests of the connection run against.
@Suite("The test harness's server", .realProcesses)
struct ServerHarnessTests {
    @Test("Starts on its own port, restarts on the same one after a kill", arguments: NATSServerProcess.binaries)
    func restart(binary: NATSServerBinary) async throws {
        let server = try await NATSServerProcess.start(binary)
        let other = try await NATSServerProcess.start(binary, configuration: "server_name: other\n", jetStream: false)
        #expect(server.port != other.port)
        #expect(server.port != 4222 && other.port != 4222)
        try await eventually("word of JetStream in the log") { server.log.contains("JetStream") }
        let first = server.processID
        try await server.kill9()
        #expect(!server.isRunning)
        try await server.restart()
        #expect(server.isRunning)
        #expect(server.processID != first)
        try await server.stop()
        #expect(!server.isRunning)
        server.close()
        #expect(!FileManager.default.fileExists(atPath: server.directory.path))
    }

    @Test("A configuration that the server refuses is reported in the server's own words")
    func refused() async throws {
        let failure = await #expect(throws: TestFailure.self) {
            try await NATSServerProcess.start(configuration: "no_such_field {{{\n")
        }
        #expect(failure?.description.contains("Parse error") == true)
    }
}
