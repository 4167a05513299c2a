import Foundation
import TestSupport
import Testing

extension EndToEndTests {
    @Suite("The configuration of a running chat")
    struct LiveConfiguration {
        @Test("A change is taken in as it is saved; one with a mistake is named with its place and changes nothing")
        func live() async throws {
            try await PrivateNetworkFixture.run { network in
                try network.folder.write("{ keys: { help: 'F7' } }", to: "config.json")
                let path = network.folder.path("config.json")
                let alice = try await network.connected("alice", ["--config", path])
                try await alice.waitFor(text: "F7 help")

                // As editors do: another file takes the old one's place.
                try network.folder.write("{ keys: { help: 'F6' }, join: ['chat.qa'] }", to: "new.json")
                #expect(rename(network.folder.path("new.json"), path) == 0)
                try await alice.waitFor("the change") {
                    $0.contains("The configuration has changed and counts now.") && $0.contains("chat.qa")
                }
                try alice.press(.f(6))
                try await alice.waitFor(text: "this help")
                try alice.press(.escape)
                try await alice.waitFor("the closed help") { !$0.contains("this help") }

                try network.folder.write(
                    "{\n\tkeys: { help: 'F6', },\n\tlayout: { sidebar: 7 },\n}\n", to: "config.json")
                try await alice.waitFor(text: "config.json:3:21: layout.sidebar: it takes a number of columns")
                try alice.press(.f(6))
                try await alice.waitFor(text: "this help")
                try alice.press(.escape)
                try await alice.waitFor("the closed help") { !$0.contains("this help") }
                try network.folder.write("{ keys: { help: 'F6' }, join: ['chat.qa'] }", to: "config.json")
                try await alice.waitFor(text: "The configuration is without mistakes again.")
                try alice.press(.ctrl("q"))
                #expect(try await alice.waitForExit(deadline: .seconds(60)) == .exited(0))
            }
        }
    }
}
