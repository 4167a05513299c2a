import Foundation
import TestSupport
import Testing

extension EndToEndTests {
    @Suite("What the chat keeps on this machine")
    struct Kept {
        @Test(
            "B9 B38 A chat that starts while its network is down shows what was said once, and what was typed and not sent",
            arguments: NATSServerProcess.binaries)
        func offlineStart(_ binary: NATSServerBinary) async throws {
            try await PrivateNetworkFixture.run(binary) { network in
                let server = try await network.started()
                let file = network.folder.path("alice.creds")
                _ = try await network.objects("network", "user", "add", "alice", "--out", file, "--json")
                let address = ["--server", server, "--creds", file]

                let alice = try network.terminal(address, columns: 120)
                try await alice.waitFor("the live topic", deadline: .seconds(60)) {
                    $0.contains("● CONNECTED") && $0.contains("chat.lobby") && !$0.contains("joining …")
                }
                try alice.type("said before")
                try alice.press(.enter)
                try await alice.waitFor("the tick") { screen in
                    screen.rows.contains { $0.contains("said before") && $0.hasSuffix("✓") }
                }
                let sent = try await network.parley("send", "--as", "bob", "chat.lobby", "heard before")
                #expect(sent.exitCode == 0, "\(sent)")
                try await alice.waitFor(text: "heard before")
                try alice.type("/join chat.qa")
                try alice.press(.enter)
                try await alice.waitFor("the other topic") { $0.main(row: 1).contains("chat.qa") }
                try alice.type("half a thought")
                try await alice.waitFor(text: "half a thought")
                try alice.press(.ctrl("q"))
                #expect(try await alice.waitForExit(deadline: .seconds(60)) == .exited(0))

                let stopped = try await network.parley("network", "stop", "--force")
                #expect(stopped.status.isSuccess, "\(stopped)")
                let again = try network.terminal(address, columns: 120)
                try await again.waitFor("what was typed", deadline: .seconds(60)) { $0.contains("half a thought") }
                try again.press(.ctrl("p"))
                let screen = try await again.waitFor("what was said", deadline: .seconds(60)) {
                    $0.contains("said before") && $0.contains("heard before") && $0.contains("offline, as of ")
                }
                #expect(screen.count(of: "said before") == 1 && screen.count(of: "heard before") == 1)
                #expect(!screen.contains("● CONNECTED"))
                try again.press(.ctrl("q"))
                #expect(try await again.waitForExit(deadline: .seconds(60)) == .exited(0))
            }
        }
    }
}
