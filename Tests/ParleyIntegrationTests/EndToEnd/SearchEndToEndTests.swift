import Foundation
import TestSupport
import Testing

extension EndToEndTests {
    @Suite("Search in the chat")
    struct Search {
        @Test(
            "B9 Without a network /search finds what was said, Enter leads to it in its place, and Escape leads back",
            arguments: NATSServerProcess.binaries)
        func offline(_ binary: NATSServerBinary) async throws {
            try await PrivateNetworkFixture.run(binary) { network in
                let server = try await network.started()
                let file = network.folder.path("alice.creds")
                _ = try await network.objects("network", "user", "add", "alice", "--out", file, "--json")
                let address = ["--server", server, "--creds", file]

                let alice = try network.terminal(address, columns: 120)
                try await alice.waitFor("the live topic", deadline: .seconds(60)) {
                    $0.contains("● CONNECTED") && $0.contains("chat.lobby") && !$0.contains("joining …")
                }
                // More than the chat loads at its start, so that the store has to be read around what is found.
                let lines = (1...450).map { $0 == 20 ? "a needle in the hay" : "line \($0)" }
                let sent = try await network.parley(
                    "send", "chat.lobby", "--as", "bob", "--lines", input: lines.joined(separator: "\n"))
                #expect(sent.status.isSuccess, "\(sent)")
                try await alice.waitFor(text: "line 450", deadline: .seconds(60))
                try alice.press(.ctrl("q"))
                #expect(try await alice.waitForExit(deadline: .seconds(60)) == .exited(0))

                let stopped = try await network.parley("network", "stop", "--force")
                #expect(stopped.status.isSuccess, "\(stopped)")
                let again = try network.terminal(address, columns: 120)
                try await again.waitFor("what was said last", deadline: .seconds(60)) {
                    $0.contains("line 450") && $0.contains("offline, as of ")
                }
                try again.type("/search needle from:bob")
                try again.press(.enter)
                try await again.waitFor("what was found", deadline: .seconds(60)) { screen in
                    screen.contains("search: needle from:bob ─ 1 found ─ offline, as of ")
                        && screen.rows.contains { $0.contains("▌") && $0.contains("a needle in the hay") }
                }
                try again.press(.enter)
                try await again.waitFor("the message in its place", deadline: .seconds(60)) { screen in
                    screen.contains("chat.lobby ─ around ") && screen.contains("line 19") && screen.contains("line 21")
                        && screen.rows.contains { $0.contains("▌") && $0.contains("a needle in the hay") }
                }
                // A key that follows Escape at once would be one with Alt.
                try again.press(.escape)
                try await again.waitFor("what was found, again") { $0.contains("1 found") }
                try again.press(.escape)
                try await again.waitFor("the conversation as it was left") {
                    $0.contains("line 450") && $0.contains("chat.lobby ─ offline, as of ")
                }

                try await again.press(.pageUp, until: "the first line of all that is kept") { screen in
                    screen.contains("offline, as of ") && screen.rows.contains { $0.hasSuffix("line 1") }
                }

                try again.type("/search nobodysaidthis")
                try again.press(.enter)
                try await again.waitFor(text: "Nothing was found on this machine.")
                try again.press(.ctrl("q"))
                #expect(try await again.waitForExit(deadline: .seconds(60)) == .exited(0))
            }
        }
    }
}
