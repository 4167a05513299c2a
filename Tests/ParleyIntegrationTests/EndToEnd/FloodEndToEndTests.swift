import TestSupport
import Testing

extension EndToEndTests {
    @Suite("A flood of messages on the screen")
    struct Flood {
        @Test("B54 What is typed is on the screen while thousands of messages come, and the last of them is shown")
        func typing() async throws {
            try await PrivateNetworkFixture.run { network in
                let alice = try await network.connected("alice")
                let lines = (1...3_000).map { "flood line \($0)\n" }.joined()
                async let flood = network.parley("send", "chat.lobby", "--as", "bob", "--lines", input: lines)
                try alice.type("quick")
                try await alice.waitFor(text: "> quick")
                let sent = try await flood
                #expect(sent.status.isSuccess, "\(sent)")
                try await alice.waitFor(text: "flood line 3000")
                #expect(alice.screen.contains("> quick"))
                // What was typed meanwhile is sent behind all of it.
                try alice.press(.enter)
                try await alice.waitFor("the own line") { screen in
                    screen.rows.contains { $0.contains("quick") && $0.contains("✓") }
                }
            }
        }
    }
}
