import Foundation
import TestSupport
import Testing

extension EndToEndTests {
    @Suite("Themes on a real terminal")
    struct Themes {
        private static let question = Array("\u{1B}]11;?\u{1B}\\".utf8)

        private static func isAsked(_ terminal: PseudoTerminal) -> Bool {
            terminal.output.firstRange(of: question) != nil
        }

        private static func answer(_ color: String, end: String = "\u{1B}\\") -> [UInt8] {
            Array("\u{1B}]11;rgb:\(color)/\(color)/\(color)\(end)".utf8)
        }

        /// The colour of the heading above the topics.
        private static func heading(_ terminal: PseudoTerminal) -> TerminalCell.Color {
            terminal.cell(row: 1, column: 1).foreground
        }

        @Test("The colours follow the background that the terminal names, late and torn apart, and none of it is typed")
        func background() async throws {
            try await PrivateNetworkFixture.run { network in
                let alice = try network.open("alice")
                // The first frame is there before the terminal has said a word.
                try await alice.waitFor("the first frame, and the question") { screen in
                    screen.contains("TOPICS") && Self.isAsked(alice)
                }
                try await alice.waitFor(text: "● CONNECTED")
                let unknown = Self.heading(alice)
                #expect(unknown != .standard)

                try alice.send(Self.answer("0000"))
                try await alice.waitFor("colours for black") { _ in Self.heading(alice) != unknown }
                let dark = Self.heading(alice)
                // Its first bytes alone could be a key.
                let late = Self.answer("ffff", end: "\u{7}")
                try alice.send(Array(late.prefix(5)))
                for byte in late.dropFirst(5) { try alice.send([byte]) }
                try await alice.waitFor("colours for white") { _ in Self.heading(alice) != dark }

                try alice.type("hello")
                try await alice.waitFor("the text, and nothing beside it") { $0.contains(" > hello") }
                let screen = alice.screen
                #expect(screen.rows.contains { $0.hasSuffix(" > hello") } && !screen.text.contains("rgb"), "\(screen)")
                try alice.press(.ctrl("q"))
                #expect(try await alice.waitForExit() == .exited(0))
                #expect(alice.modes.isSane, "\(alice.modes)")
            }
        }

        @Test("A theme of the configuration asks nothing; without colours there are none, and ASCII is ASCII")
        func configured() async throws {
            try await PrivateNetworkFixture.run { network in
                for (theme, isColored) in [("light", true), ("none", false)] {
                    let file = try network.configuration(
                        "user: 'alice', theme: '\(theme)', symbols: 'ascii'", name: "\(theme).json")
                    let alice = try network.terminal(["--config", file])
                    let screen = try await alice.waitFor("a connected client") { $0.contains("* CONNECTED") }
                    #expect(screen.text.allSatisfy { $0.isASCII }, "\(screen)")
                    #expect(!Self.isAsked(alice))
                    #expect((Self.heading(alice) != .standard) == isColored)
                    try alice.press(.ctrl("q"))
                    #expect(try await alice.waitForExit() == .exited(0))
                }
            }
        }

        @Test("With NO_COLOR set no cell has a colour and none is asked for; an empty one says nothing")
        func noColor() async throws {
            try await PrivateNetworkFixture.run { network in
                for (value, isColored) in [("1", false), ("", true)] {
                    let alice = try network.terminal(["--as", "alice"], environment: ["NO_COLOR": value])
                    try await alice.waitFor("a connected client") { $0.contains("● CONNECTED") }
                    let cells = (0..<24).flatMap { row in (0..<80).map { alice.cell(row: row, column: $0) } }
                    let isPlain = cells.allSatisfy { $0.foreground == .standard && $0.background == .standard }
                    #expect(isPlain == !isColored && Self.isAsked(alice) == isColored, "NO_COLOR=\(value)")
                    try alice.press(.ctrl("q"))
                    #expect(try await alice.waitForExit() == .exited(0))
                }
            }
        }

        @Test("Painting the screen again asks for the background again")
        func redraw() async throws {
            try await PrivateNetworkFixture.run { network in
                let alice = try await network.connected("alice")
                let before = Self.heading(alice)
                let count = alice.outputCount
                try alice.press(.ctrl("l"))
                try await alice.waitFor("the question, once more") { _ in
                    alice.output.suffix(alice.outputCount - count).firstRange(of: Self.question) != nil
                }
                try alice.send(Self.answer("0000"))
                try await alice.waitFor("colours for black") { _ in Self.heading(alice) != before }
            }
        }
    }
}
