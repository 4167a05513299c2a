import Foundation
import TestSupport
import Testing

extension EndToEndTests {
    @Suite("Finding one's way")
    struct Finding {
        @Test("The palette finds a command by some letters, ^G and Alt-1 switch, and a text stays in its topic")
        func palette() async throws {
            try await PrivateNetworkFixture.run { network in
                let alice = try await network.connected("alice", ["chat.lobby", "chat.qa"], columns: 100)
                try await alice.waitFor(text: "write to chat.lobby")
                try alice.type("half a line")
                try await alice.waitFor(text: "> half a line")
                try alice.press(.ctrl("k"))
                try await alice.waitFor("the palette") { $0.contains("┌─ Commands") && $0.contains("/join TOPIC") }
                try alice.type("joi")
                try await alice.waitFor("what was found") { screen in
                    screen.rows.contains { $0.contains("▌/join TOPIC  join a topic") }
                }
                try alice.press(.enter)
                try await alice.waitFor(text: "> /join ")
                try alice.type("chat.new")
                try await alice.waitFor(text: "> /join chat.new")
                try alice.press(.enter)
                try await alice.waitFor("the new topic, with no text yet") { screen in
                    screen.rows[1].contains("chat.new") && screen.contains("write to chat.new")
                        && !screen.contains("┌─ Commands")
                }

                // Before other text ^K deletes it.
                try alice.type("another text")
                try await alice.waitFor(text: "> another text")
                try alice.press(.ctrl("a"))
                try alice.press(.ctrl("k"))
                try await alice.waitFor(text: "write to chat.new")

                try alice.press(.ctrl("g"))
                try await alice.waitFor("the places") { $0.contains("┌─ Go to") && $0.contains("▌chat.lobby") }
                try alice.type("qa")
                try await alice.waitFor("the place") { screen in
                    screen.contains("> qa") && screen.rows.contains { $0.contains("▌chat.qa ") }
                }
                try alice.press(.enter)
                try await alice.waitFor(text: "write to chat.qa")
                try alice.press(.alt("1"))
                try await alice.waitFor(text: "> half a line")
                try alice.press(.alt("/"))
                try await alice.waitFor(text: "write to chat.qa")

                try alice.press(.f(5))
                try await alice.waitFor("the topics to be folded") { !$0.contains("TOPICS") }
                try alice.press(.f(5))
                try await alice.waitFor(text: "TOPICS")

                try alice.press(.ctrl("k"))
                try await alice.waitFor(text: "┌─ Commands")
                try alice.type("quit")
                try await alice.waitFor("the command") { screen in
                    screen.rows.contains { $0.contains("▌/quit  leave Parley") }
                }
                try alice.press(.enter)
                #expect(try await alice.waitForExit() == .exited(0))
                #expect(alice.modes.isSane, "\(alice.modes)")
            }
        }

        @Test("Topics that were moved by hand come back in their order")
        func order() async throws {
            try await PrivateNetworkFixture.run { network in
                let alice = try await network.connected("alice", ["chat.a", "chat.b", "chat.c"])
                try await alice.waitFor("the topics") { $0.rows[2].hasPrefix("▌chat.a ") }
                try alice.press(.f(2))
                try await alice.waitFor("the cursor in the topics") { $0.cursorRow == 2 && $0.cursorColumn == 0 }
                try alice.press(.alt("j"))
                try await alice.waitFor("the topic in its new place") { screen in
                    screen.rows[2].hasPrefix(" chat.b ") && screen.rows[3].hasPrefix("▌chat.a ")
                }
                try alice.press(.ctrl("q"))
                #expect(try await alice.waitForExit() == .exited(0))

                let again = try await network.connected("alice")
                try await again.waitFor("the topics in that order") { screen in
                    screen.rows[2].contains("chat.b ") && screen.rows[3].contains("chat.a ")
                        && screen.rows[4].contains("chat.c ")
                }
                try again.press(.ctrl("q"))
                #expect(try await again.waitForExit() == .exited(0))
            }
        }
    }
}
