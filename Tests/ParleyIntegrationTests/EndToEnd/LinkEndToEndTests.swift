import Foundation
import TestSupport
import Testing

extension EndToEndTests {
    @Suite("Links on a real terminal")
    struct Links {
        @Test("A terminal that is to know is told where a link leads, by the link's own text and by nothing else")
        func hyperlinks() async throws {
            try await PrivateNetworkFixture.run { network in
                let address = "https://example.org/a?b=1"
                let evil = "\u{1B}]8;;x-evil:here\u{1B}\\click\u{1B}]8;;\u{1B}\\"
                for text in ["see \(address) now", evil] {
                    let sent = try await network.parley("send", "--as", "bob", "chat.lobby", text)
                    #expect(sent.exitCode == 0, "\(sent)")
                }
                let settings = "{ links: 'osc8', profiles: { default: { user: 'alice' } } }"
                try network.folder.write(settings, to: "links.json")
                let alice = try network.terminal(["--config", network.folder.path("links.json")])
                try await alice.waitFor("both lines") { $0.contains(address) && $0.contains("click") }
                try alice.press(.ctrl("q"))
                #expect(try await alice.waitForExit() == .exited(0))
                // A link is written once more over its text, behind the frame that has it: the whole output tells.
                let output = String(decoding: alice.output, as: UTF8.self)
                let openings = output.matches(of: /\u{1B}\]8;id=[^;]*;([^\u{1B}]*)\u{1B}\\/).map { String($0.output.1) }
                #expect(!openings.isEmpty && openings.allSatisfy { $0 == address }, "\(openings)")
                #expect(!output.contains("\u{1B}]8;;x-evil"), "a text's own sequences reach no terminal")
                // Every link ends, so that what is written behind it leads nowhere.
                let endings = output.matches(of: /\u{1B}\]8;;\u{1B}\\/).count
                #expect(endings >= openings.count)
                #expect(alice.modes.isSane, "\(alice.modes)")
            }
        }
    }
}
