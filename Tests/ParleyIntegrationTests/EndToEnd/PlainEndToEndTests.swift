import Foundation
import Platform
import TestSupport
import Testing

extension EndToEndTests {
    @Suite("Plain mode")
    struct Plain {
        @Test("Lines are read and written through pipes, an outage is said, and what was read is sent before the end")
        func pipes() async throws {
            try await PrivateNetworkFixture.run { network in
                let alice = try network.start("--plain", "--as", "alice", "chat.lobby")
                func output() -> String { alice.output }
                try await eventually("a connection", deadline: .seconds(60)) { output().contains("Connected.\n") }
                try alice.write("hello from a pipe\n")
                try await eventually("the line on the network", deadline: .seconds(60)) {
                    try await network.texts(on: "chat.lobby") == ["hello from a pipe"]
                }
                let sent = try await network.parley("send", "--as", "bob", "chat.lobby", "alice: one\u{1B}[2J")
                #expect(sent.status.isSuccess, "\(sent)")
                try await eventually("bob's line", deadline: .seconds(60)) {
                    output().contains(" bob, to you: alice: one")
                }
                let before = try #require(network.description)
                try await pause(before.hostPid)
                kill(before.serverPid, SIGKILL)
                try await eventually("the outage", deadline: .seconds(60)) {
                    output().contains("The connection is lost.")
                }
                try alice.write("said meanwhile\n")
                try await eventually("that it waits", deadline: .seconds(60)) {
                    output().contains("Waits for a connection: said meanwhile\n")
                }
                kill(before.hostPid, SIGCONT)
                try await eventually("the recovery", deadline: .seconds(60)) {
                    output().contains("Sent: said meanwhile\n")
                }
                try alice.write("and the last")
                alice.closeInput()
                let status = try await alice.waitForExit(deadline: .seconds(60))
                #expect(status.status == .exited(0), "\(output())")
                #expect(output().utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == 0x0A })
                #expect(
                    try await network.texts(on: "chat.lobby")
                        == ["hello from a pipe", "alice: one\u{1B}[2J", "said meanwhile", "and the last"])
            }
        }

        @Test("What could not be sent is said at the end, by status 75 too, and leaves with the next run, once")
        func unsent() async throws {
            try await PrivateNetworkFixture.run { network in
                let alice = try network.start("--plain", "--as", "alice", "chat.lobby")
                func output() -> String { alice.output }
                try await eventually("a connection", deadline: .seconds(60)) { output().contains("Connected.\n") }
                let before = try #require(network.description)
                try await pause(before.hostPid)
                kill(before.serverPid, SIGKILL)
                try await eventually("the outage", deadline: .seconds(60)) {
                    output().contains("The connection is lost.")
                }
                try alice.write("for later\n")
                try await eventually("that it waits", deadline: .seconds(60)) {
                    output().contains("Waits for a connection: for later\n")
                }
                alice.closeInput()
                let first = try await alice.waitForExit(deadline: .seconds(60))
                #expect(first.status == .exited(75), "\(output())")
                #expect(first.diagnostics.contains("1 message not sent yet: Parley sends them when it runs again."))
                kill(before.hostPid, SIGCONT)
                let again = try network.start("--plain", "--as", "alice")
                try await again.waitFor("a connection") { output, _ in output.contains("Connected.") }
                again.closeInput()
                #expect(try await again.waitForExit(deadline: .seconds(60)).status == .exited(0), "\(again.output)")
                #expect(try await network.texts(on: "chat.lobby") == ["for later"])
            }
        }

        @Test(
            "A refusal decides the exit status as it does for send, and what was typed is kept with its reason",
            arguments: NATSServerProcess.binaries)
        func refused(_ binary: NATSServerBinary) async throws {
            try await PrivateNetworkFixture.run(binary) { network in
                let added = try await network.parley("network", "user", "add", "carol", "--topics", "chat.>")
                #expect(added.exitCode == 0, "\(added)")
                // From the end of its input on, a session has ten seconds: the network is there before.
                let other = try network.start("watch", "--json")
                try await other.waitFor("a connection") { output, _ in output.contains("\"connected\"") }
                let text = String(repeating: "x", count: 300_000)
                let long = String(repeating: "y", count: 1_500_000)
                let beyond = String(repeating: "z", count: 4_500_000)
                for (topic, input, status, words) in [
                    ("chat.lobby", "allowed\n", Int32(0), ""),
                    ("ops.x", "not granted\n", 77, "1 message not sent. Not permitted: "),
                    ("chat.lobby", "\(text)\n", 65, "takes 300000 bytes and at most 131072 are accepted"),
                    ("chat.lobby", "\(long)\nbehind it\n", 65, "takes 1500000 bytes and at most 131072 are accepted"),
                    ("chat.lobby", "\(beyond)\nand it\n", 65, "Line 1 of the input is longer than 4,194,304 bytes."),
                    ("chat.lobby", "/post nobody/personal hi\n", 65, "There is no user nobody."),
                    ("chat.lobby", "/psot bob hi\nand this\n", 65, "1 line could not be carried out. "),
                ] {
                    let result = try await network.parley("--plain", "--as", "carol", topic, input: input)
                    let isTold = words.isEmpty ? result.diagnostics.isEmpty : result.diagnostics.contains(words)
                    #expect(result.exitCode == status && isTold, "\(words): \(result)")
                }
                #expect(try await network.texts(on: "chat.lobby") == ["allowed", "behind it", "and it", "and this"])
                // Nothing of it is doubtful after the restart, and nothing is lost.
                let kept = try await network.objects("outbox", "list", "--as", "carol", "--json")
                #expect(kept.map { $0["text"].string } == ["not granted", text, long, "hi"])
                #expect(kept.allSatisfy { $0["state"].string == "notSent" && $0["mayBeStored"].bool == false })
                let sent = try await network.parley("send", "--as", "carol", "chat.lobby", input: text)
                #expect(sent.exitCode == 65 && sent.diagnostics.contains("300000 bytes and at most 131072"), "\(sent)")
            }
        }

        @Test(
            "A closed window is the signal's end whatever is noticed first, and what waits leaves with the next run",
            arguments: [true, false])
        func closedWindow(isJob: Bool) async throws {
            try await PrivateNetworkFixture.run { network in
                let alice = try network.terminal(
                    ["--plain", "--as", "alice", "chat.lobby"], columns: 120, parent: isJob ? .shell : .emulator)
                try await alice.waitFor(text: "Connected.", deadline: .seconds(60))
                let before = try #require(network.description)
                try await pause(before.hostPid)
                kill(before.serverPid, SIGKILL)
                try await alice.waitFor(text: "The connection is lost.", deadline: .seconds(60))
                try alice.type("for later\n")
                try await alice.waitFor(text: "Waits for a connection: for later", deadline: .seconds(60))
                alice.hangUp()
                let status = try await alice.waitForExit(deadline: .seconds(60))
                // A shell gives both the status 129.
                #expect(status == .exited(129) || status == .signalled(SIGHUP), "\(status)")
                kill(before.hostPid, SIGCONT)
                let again = try network.start("--plain", "--as", "alice")
                try await again.waitFor("a connection") { output, _ in output.contains("Connected.") }
                again.closeInput()
                #expect(try await again.waitForExit(deadline: .seconds(60)).status == .exited(0), "\(again.output)")
                #expect(try await network.texts(on: "chat.lobby") == ["for later"])
            }
        }

        @Test(
            "B27: Without a screen, the connection is let go before ^Z or a signal stops it, and goes on afterwards",
            arguments: [true, false])
        func stopped(byKey: Bool) async throws {
            try await PrivateNetworkFixture.run { network in
                let alice = try network.terminal(["--plain", "--as", "alice", "chat.lobby"], columns: 120)
                try await alice.waitFor(text: "Connected.", deadline: .seconds(60))
                for round in 1...2 {
                    // A key that is pressed twice asks for one stop.
                    if byKey { try alice.type("\u{1A}\u{1A}") } else { alice.signal(SIGTSTP) }
                    try await alice.waitForStop()
                    let sent = try await network.parley("send", "--as", "bob", "chat.lobby", "during \(round)")
                    #expect(sent.status.isSuccess, "\(sent)")
                    alice.foreground()
                    try await alice.waitFor("the connection, and what came meanwhile", deadline: .seconds(60)) {
                        $0.count(of: "The connection rests.") == round && $0.count(of: "Connected.") == round + 1
                            && $0.count(of: "bob: during \(round)") == 1
                    }
                }
                try alice.type("and afterwards\n")
                try await eventually("the line on the network", deadline: .seconds(60)) {
                    try await network.texts(on: "chat.lobby") == ["during 1", "during 2", "and afterwards"]
                }
                alice.signal(SIGTERM)
                #expect(try await alice.waitForExit(deadline: .seconds(60)) == .exited(143))
            }
        }

        @Test("A letter is listed, read and deleted by lines alone, and a signal ends the program")
        func letters() async throws {
            try await PrivateNetworkFixture.run { network in
                #expect(try await network.parley("postbox", "list", "--as", "alice").status.isSuccess)
                #expect(
                    try await network.parley("inbox", "post", "--as", "bob", "alice/personal", "one\ntwo").status
                        .isSuccess)
                let alice = try network.start("--plain", "--as", "alice")
                func output() -> String { alice.output }
                try await eventually("a connection", deadline: .seconds(60)) { output().contains("Connected.\n") }
                // All at once: what is about a letter waits for the list.
                try alice.write("/inbox\n/read 1\n/inbox\n/delete 1\n")
                try await eventually("the letter and the question", deadline: .seconds(60)) {
                    output().contains("\ntwo\n") && output().contains("Delete the letter from bob")
                }
                try alice.write("y\n")
                try await eventually("the letter to be gone", deadline: .seconds(60)) {
                    try await network.letters(of: "alice").count == 1
                }
                alice.signal(SIGTERM)
                #expect(try await alice.waitForExit(deadline: .seconds(60)).status == .exited(143), "\(output())")
            }
        }

        @Test(
            "B32 Denied, without a stream, and a full stream: each ends as send does, and nothing of it is doubtful",
            arguments: NATSServerProcess.binaries)
        func refusedByServer(_ binary: NATSServerBinary) async throws {
            let rules = "{ publish: { deny: \"h.denied.>\" } }"
            let network = try await PlainNetwork(
                binary,
                """
                no_auth_user: a
                authorization { users: [ { user: a, password: b, permissions: \(rules) } ] }

                """, subjects: ["h.chat.>", "h.denied.>"], maximumMessages: 1)
            for (topic, status, words) in [
                ("denied.x", 77, "Not permitted: publishing to denied.x."), ("other.x", 69, "no stream stores other.x"),
                ("chat.a", 69, "10077"),
            ] as [(String, Int32, String)] {
                let said = try await network.parley(["--plain", topic], input: "one\ntwo\n")
                #expect(said.exitCode == status && said.diagnostics.contains(words), "\(topic): \(said)")
                let sent = try await network.parley(["send", topic, "x", "--timeout", "60"])
                #expect(sent.exitCode == status && sent.diagnostics.contains(words), "\(topic): \(sent)")
            }
            let kept = try await network.parley(["outbox", "list", "--json"]).lines.map { try JSONLine($0) }
            let areRefused = kept.allSatisfy { $0["state"].string == "notSent" && $0["mayBeStored"].bool == false }
            #expect(kept.count == 5 && areRefused, "\(kept)")
        }

        @Test("Text that is not UTF-8 is refused with 65 and its place, whichever way it comes, and not stored")
        func notUTF8() async throws {
            try await PrivateNetworkFixture.run { network in
                _ = try await network.started()
                let parley = try BuiltProduct.url("parley").path
                for (script, words) in [
                    (#"printf 'a\377\n' | "$0" send chat.x --as alice --timeout 60"#, "line 1, byte 2 is 0xFF"),
                    (#"printf 'ok\na\377\n' | "$0" send chat.x --lines --as alice"#, "line 2, byte 2 is 0xFF"),
                    (#"printf 'ok\na\377\n' | "$0" --plain --as alice chat.x"#, "line 2, byte 2 is 0xFF"),
                    (#""$0" send chat.x --as alice "$(printf 'a\344b')""#, "byte 2 is 0xE4"),
                ] {
                    let result = try await ChildProcess.run(
                        "/bin/sh", ["-c", script, parley], environment: network.environment)
                    #expect(result.exitCode == 65 && result.diagnostics.contains(words), "\(script): \(result)")
                }
                #expect(try await network.texts(on: "chat.x") == ["ok", "ok"])
            }
        }
    }
}
