import Foundation
import RelayNetwork
import TestSupport
import Testing

extension EndToEndTests {
    @Suite("Outages and focus on the screen")
    struct Outages {
        @Test(
            "B13 B30 B62 A killed server is seen, comes back by itself, and nothing typed meanwhile is lost or doubled",
            arguments: NATSServerProcess.binaries)
        func killedServer(_ binary: NATSServerBinary) async throws {
            try await PrivateNetworkFixture.run(binary) { network in
                let alice = try await network.connected("alice")
                let bob = try await network.connected("bob")
                let before = try #require(network.description)
                // A host that does not run cannot start the next server before the test has looked.
                try await pause(before.hostPid)
                kill(before.serverPid, SIGKILL)
                for terminal in [alice, bob] {
                    try await terminal.waitFor("word of the outage") { $0.contains("↻ RECONNECTING") }
                }
                try alice.type("typed in the dark")
                try await alice.waitFor(text: "offline: will be sent when connected")
                try alice.press(.enter)
                try await alice.waitFor("the queued line") { screen in
                    screen.rows.contains { $0.contains("typed in the dark") && $0.hasSuffix("…") }
                        && screen.contains("⇅ 1")
                }
                // The title tells of it for some seconds only: it is looked at from here on.
                async let title = alice.waitFor("the outage in the title", deadline: .seconds(120)) { screen in
                    screen.rows[0].contains("● CONNECTED") && screen.rows[0].contains(" · back after ")
                }
                kill(before.hostPid, SIGCONT)
                for terminal in [alice, bob] {
                    try await terminal.waitFor("the connection, without a key") {
                        $0.contains("● CONNECTED") && $0.count(of: "typed in the dark") == 1
                    }
                }
                try await alice.waitFor("the tick") { screen in
                    screen.contains("⇅ 0")
                        && screen.rows.contains { $0.contains("typed in the dark") && $0.hasSuffix("✓") }
                }
                _ = try await title
                // Above what was missed stands for how long.
                for terminal in [alice, bob] {
                    try await terminal.waitFor("the rule") { screen in
                        guard let rule = screen.row(containing: "─ connection lost "),
                            let line = screen.row(containing: "typed in the dark")
                        else { return false }
                        return rule < line && screen.rows[rule].contains(", back after ")
                    }
                }
                let after = try #require(network.description)
                #expect(after.serverPid != before.serverPid)
                #expect(try await network.texts(on: "chat.lobby") == ["typed in the dark"])

                try bob.type("still here")
                try bob.press(.enter)
                try await alice.waitFor(text: "still here")
                let all = try await network.objects(
                    "tail", "chat.lobby", "--as", "carol", "--since", "all", "--count", "2", "--json")
                #expect(all.map { $0["text"].string } == ["typed in the dark", "still here"])
            }
        }

        @Test(
            "B61 A server that stands still is told of while the connection is open, with a line under way and without")
        func silentServer() async throws {
            try await PrivateNetworkFixture.run { network in
                let alice = try await network.connected("alice")
                let watch = try network.start("watch", "--as", "bob", "--json")
                var status = try JSONLine(try await watch.nextLine())
                while status["status"].string != "connected" { status = try JSONLine(try await watch.nextLine()) }
                let server = try #require(network.description).serverPid
                try await pause(server)
                try alice.type("into the silence")
                try alice.press(.enter)
                try await alice.waitFor("word of the silence") {
                    $0.contains("● CONNECTED · no answer for ") && $0.contains("⇅ 1")
                }
                // Where nothing is under way a ping finds it.
                status = try JSONLine(try await watch.nextLine())
                #expect(status["status"].string == "connected" && status["silentSince"].string.hasSuffix("Z"))
                kill(server, SIGCONT)
                try await alice.waitFor("the answer") { screen in
                    screen.contains("● CONNECTED") && !screen.contains("no answer") && screen.contains("⇅ 0")
                        && screen.rows.contains { $0.contains("into the silence") && $0.hasSuffix("✓") }
                }
                #expect(try await network.texts(on: "chat.lobby") == ["into the silence"])
            }
        }

        @Test("A host that dies with its server is started again by a client")
        func killedHost() async throws {
            try await PrivateNetworkFixture.run { network in
                let alice = try await network.connected("alice")
                let before = try #require(network.description)
                kill(before.hostPid, SIGKILL)
                kill(before.serverPid, SIGKILL)
                try alice.type("carry this over")
                try alice.press(.enter)
                try await alice.waitFor("the line on the next server") { screen in
                    screen.contains("● CONNECTED")
                        && screen.rows.contains { $0.contains("carry this over") && $0.hasSuffix("✓") }
                }
                let after = try #require(network.description)
                #expect(after.hostPid != before.hostPid && after.serverPid != before.serverPid)
                #expect(try await network.texts(on: "chat.lobby") == ["carry this over"])
            }
        }

        @Test(
            "B21 B25 Out of focus the connection rests; what was said meanwhile is there once after the return",
            arguments: [true, false])
        func focus(byFocusReport: Bool) async throws {
            try await PrivateNetworkFixture.run { network in
                let alice = try await network.connected("alice", ["--suspend-after", "0.3"])
                try alice.focus(true)
                try alice.focus(false)
                try await alice.waitFor("the rest") { $0.contains("║ SUSPENDED") }
                try await eventually("the server to have no client") { try await network.clientCount() == 0 }

                #expect(
                    try await network.parley("send", "--as", "bob", "chat.lobby", "while you rest").status.isSuccess)
                #expect(!alice.screen.contains("while you rest"))
                if byFocusReport {
                    try alice.focus(true)
                    try await alice.waitFor("the connection") { $0.contains("● CONNECTED") }
                } else {
                    // A terminal that forgot to tell of the return.
                    try alice.type("x")
                    try await alice.waitFor("the connection") { $0.contains("● CONNECTED") && $0.contains(" > x") }
                }
                try await alice.waitFor("Bob's line, once") { $0.count(of: "while you rest") == 1 }
                try await eventually("the server to have one client") { try await network.clientCount() == 1 }
                #expect(try await network.parley("send", "--as", "bob", "chat.lobby", "and now").status.isSuccess)
                try await alice.waitFor("the next line") {
                    $0.count(of: "and now") == 1 && $0.count(of: "while you rest") == 1
                }
            }
        }

        @Test("B24 What its person has closed stays closed when the focus returns")
        func closedByHand() async throws {
            try await PrivateNetworkFixture.run { network in
                let alice = try await network.connected("alice", ["--suspend-after", "0.3"])
                try alice.type("/disconnect")
                try alice.press(.enter)
                try await alice.waitFor(text: "✕ DISCONNECTED")
                try alice.focus(true)
                try alice.focus(false)
                try alice.focus(true)
                try alice.type("still typing")
                try await alice.waitFor("the text, offline") {
                    $0.contains("still typing") && $0.contains("✕ DISCONNECTED")
                }
                try await eventually("the server to have no client") { try await network.clientCount() == 0 }
                #expect(alice.screen.contains("still typing") && alice.screen.contains("✕ DISCONNECTED"))
                try alice.press(.ctrl("c"))
                try alice.type("/reconnect")
                try alice.press(.enter)
                try await alice.waitFor(text: "● CONNECTED")
            }
        }

        @Test(
            "B38 A tail prints each message once and in order through the death of the server",
            arguments: NATSServerProcess.binaries)
        func tail(_ binary: NATSServerBinary) async throws {
            try await PrivateNetworkFixture.run(binary) { network in
                let tail = try network.start(
                    "tail", "chat.>", "--as", "bob", "--since", "all", "--count", "40", "--json")
                let expected = (1...40).map { "line \($0)" }
                func send(_ numbers: ClosedRange<Int>) async throws {
                    let lines = numbers.map { expected[$0 - 1] }.joined(separator: "\n")
                    let sent = try await network.objects(
                        "send", "chat.lobby", "--as", "alice", "--lines", "--timeout", "60", "--json",
                        input: lines + "\n")
                    #expect(sent.map { $0["seq"].int } == numbers.map { $0 })
                }
                try await send(1...20)
                var seen: [JSONLine] = []
                for _ in 1...20 { seen.append(try JSONLine(try await tail.nextLine())) }
                let before = try #require(network.description)
                kill(before.serverPid, SIGKILL)
                try await eventually("the next server") {
                    network.description.map { $0.serverPid != before.serverPid } ?? false
                }
                try await send(21...40)
                for _ in 21...40 { seen.append(try JSONLine(try await tail.nextLine())) }
                #expect(seen.map { $0["text"].string } == expected)
                #expect(seen.map { $0["seq"].int } == (1...40).map { $0 })
                #expect(try await tail.waitForExit().exitCode == 0)
            }
        }

        @Test(
            "A reply inbox that is denied and allowed again comes back by itself, on the screen too",
            arguments: NATSServerProcess.binaries)
        func deniedInbox(_ binary: NATSServerBinary) async throws {
            func rules(_ denied: String) -> String {
                """
                no_auth_user: a
                authorization { users: [ { user: a, password: b, permissions: { subscribe: { deny: ["\(denied)"] } } } ] }

                """
            }
            let network = try await PlainNetwork(binary, rules("nothing"))
            let chat = try network.chat()
            defer { chat.close() }
            try await chat.waitFor("the live topic") { $0.contains("● CONNECTED") && !$0.contains("joining …") }
            try network.reload(rules("_INBOX.>"))
            try await chat.waitFor("what is missing") { $0.contains("without 1 topic") }
            try network.reload(rules("nothing"))
            try await chat.waitFor("all of it", deadline: .seconds(120)) {
                $0.contains("● CONNECTED") && !$0.contains("without 1 topic")
            }
            try chat.type("back")
            try chat.press(.enter)
            try await chat.waitFor("the tick") { screen in
                screen.rows.contains { $0.contains("back") && $0.hasSuffix("✓") }
            }
        }
    }
}
