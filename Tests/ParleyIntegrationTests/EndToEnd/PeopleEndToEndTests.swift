import Foundation
import RelayNetwork
import TestSupport
import Testing

extension EndToEndTests {
    @Suite("Who is here")
    struct People {
        @Test(
            "Two chats see each other in the heading, /who has the away text, and who quits is gone at once",
            arguments: NATSServerProcess.binaries)
        func twoChats(_ binary: NATSServerBinary) async throws {
            try await PrivateNetworkFixture.run(binary) { network in
                let alice = try await network.connected("alice", columns: 120)
                try await alice.waitFor("alice herself", deadline: .seconds(60)) {
                    $0.contains("chat.lobby ─ 1 here ─")
                }
                let bob = try await network.connected("bob", columns: 120)
                for terminal in [alice, bob] {
                    try await terminal.waitFor("both", deadline: .seconds(60)) { $0.contains("chat.lobby ─ 2 here ─") }
                }
                try alice.type("/away lunch until two")
                try alice.press(.enter)
                try await alice.waitFor(text: "alice@local (away)", deadline: .seconds(60))
                try await bob.waitFor("that alice is away", deadline: .seconds(60)) {
                    $0.contains("chat.lobby ─ 1 here, 1 away ─")
                }
                try bob.type("/who")
                try bob.press(.enter)
                try await bob.waitFor("the list", deadline: .seconds(60)) { screen in
                    screen.contains("Who is in chat.lobby") && screen.contains("away: lunch until two")
                        && screen.contains("bob (you)")
                }
                try bob.press(.escape)
                try await bob.waitFor("the conversation") { !$0.contains("Who is in") }
                try alice.press(.ctrl("q"))
                #expect(try await alice.waitForExit(deadline: .seconds(60)) == .exited(0))
                try await bob.waitFor("that alice has left", deadline: .seconds(60)) {
                    $0.contains("chat.lobby ─ 1 here ─")
                }
                try bob.press(.ctrl("q"))
                #expect(try await bob.waitForExit(deadline: .seconds(60)) == .exited(0))
            }
        }

        @Test(
            "Who begins a line is seen to be typing, and no more when the line is there or the text is gone",
            arguments: NATSServerProcess.binaries)
        func typing(_ binary: NATSServerBinary) async throws {
            try await PrivateNetworkFixture.run(binary) { network in
                let alice = try await network.connected("alice", columns: 120)
                let bob = try await network.connected("bob", columns: 120)
                for terminal in [alice, bob] {
                    try await terminal.waitFor("both", deadline: .seconds(60)) { $0.contains("chat.lobby ─ 2 here ─") }
                }
                try bob.type("hel")
                try await alice.waitFor(text: "bob is typing …", deadline: .seconds(60))
                #expect(!bob.screen.contains("is typing"), "nobody is told of oneself")
                try bob.type("lo")
                try bob.press(.enter)
                try await alice.waitFor("the line in place of the notice", deadline: .seconds(60)) { screen in
                    screen.contains("hello") && !screen.contains("is typing")
                }
                try bob.type("never mind")
                try await alice.waitFor(text: "bob is typing …", deadline: .seconds(60))
                try bob.press(.ctrl("c"))
                try await alice.waitFor("the end of the notice", deadline: .seconds(60)) { !$0.contains("is typing") }
                // A command is nobody's business.
                try bob.type("/away lunch")
                try bob.press(.enter)
                try await alice.waitFor("that bob is away", deadline: .seconds(60)) { screen in
                    screen.contains("1 here, 1 away")
                }
                #expect(!alice.screen.contains("is typing"))
                for terminal in [alice, bob] {
                    try terminal.press(.ctrl("q"))
                    #expect(try await terminal.waitForExit(deadline: .seconds(60)) == .exited(0))
                }
            }
        }

        @Test(
            "After a crash of the server, which forgets everybody, the chats see each other again as they were",
            arguments: NATSServerProcess.binaries)
        func crash(_ binary: NATSServerBinary) async throws {
            try await PrivateNetworkFixture.run(binary) { network in
                let alice = try await network.connected("alice", columns: 120)
                let bob = try await network.connected("bob", columns: 120)
                try await alice.waitFor("both", deadline: .seconds(60)) { $0.contains("chat.lobby ─ 2 here ─") }
                try alice.type("/away")
                try alice.press(.enter)
                try await bob.waitFor("that alice is away", deadline: .seconds(60)) {
                    $0.contains("─ 1 here, 1 away ─")
                }
                let before = try #require(network.description)
                // A host that does not run cannot start the next server before the test has looked.
                kill(before.hostPid, SIGSTOP)
                kill(before.serverPid, SIGKILL)
                for terminal in [alice, bob] {
                    try await terminal.waitFor("the outage, without a word about people") {
                        $0.rows[0].contains("↻ RECONNECTING") && !$0.rows[1].contains(" here")
                    }
                }
                kill(before.hostPid, SIGCONT)
                for terminal in [alice, bob] {
                    try await terminal.waitFor("both again", deadline: .seconds(60)) {
                        $0.rows[0].contains("● CONNECTED") && $0.rows[1].contains("chat.lobby ─ 1 here, 1 away ─")
                    }
                }
            }
        }
    }
}
