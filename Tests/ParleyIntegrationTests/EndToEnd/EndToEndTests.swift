import Foundation
import TestSupport
import Testing

/// The built program on a pseudo-terminal, with a private network of its own for each test.
@Suite("End to end", .realProcesses)
struct EndToEndTests {}

extension EndToEndTests {
    @Suite("Chat and postbox")
    struct Conversation {
        @Test("The first start connects by itself and brings a welcome letter", arguments: NATSServerProcess.binaries)
        func firstStart(_ binary: NATSServerBinary) async throws {
            try await PrivateNetworkFixture.run(binary) { network in
                let alice = try network.open("alice")
                try await alice.waitFor("the screen, before any connection") {
                    $0.contains("chat.lobby") && $0.contains("parley  alice@local")
                }
                let screen = try await alice.waitFor("a connection and one letter") {
                    $0.contains("● CONNECTED") && $0.rows.contains { $0.hasPrefix("  personal") && $0.contains(" 1 ") }
                }
                #expect(screen.rows[0].hasSuffix("✉ 1"))
                #expect(screen.rows[2].hasPrefix("▌chat.lobby"))
                #expect(alice.modes.title == "parley alice@local")

                try alice.press(.f(3))
                try await alice.waitFor("the list") { $0.contains("postbox ─ page 1") && $0.contains("Welcome") }
                try alice.press(.enter)
                try await alice.waitFor("the letter") {
                    $0.contains("from ~parley to personal") && $0.contains("They stay until you delete them.")
                }
                try alice.press(.ctrl("q"))
                #expect(try await alice.waitForExit() == .exited(0))
                #expect(alice.modes.isSane, "\(alice.modes)")
                #expect(alice.lineDiscipline?.isSane == true)
            }
        }

        @Test(
            "B39 Two people read each other; an own line is shown once and gets its tick",
            arguments: NATSServerProcess.binaries)
        func twoPeople(_ binary: NATSServerBinary) async throws {
            try await PrivateNetworkFixture.run(binary) { network in
                let alice = try await network.connected("alice")
                let bob = try await network.connected("bob")
                let lines = ["hello bob", "日本語のテスト", "ok 👍 👩 ❤ é", "-- /not a command"]
                let texts = ["hello bob", "日本語のテスト", "ok 👍🏽 👩‍👩‍👧 ❤️ é", "-- /not a command"]
                for (text, line) in zip(texts, lines) {
                    try alice.type(text)
                    try alice.press(.enter)
                    // Lines that come without a pause would be a paste.
                    try await alice.waitFor("“\(line)” to go") {
                        $0.contains("  \(line)") && $0.contains("> write to chat.lobby")
                    }
                }
                for text in lines {
                    try await bob.waitFor("“\(text)” in Bob's terminal") { $0.count(of: "  \(text)") == 1 }
                    try await alice.waitFor("“\(text)”, once and with its tick") { screen in
                        screen.count(of: text) == 1
                            && screen.rows.contains { $0.contains("  \(text)") && $0.hasSuffix("✓") }
                    }
                }
                // Cells right of wide text are where they were.
                let row = try #require(alice.screen.row(containing: "日本語"))
                let end = try #require((60..<80).first { alice.cell(row: row, column: $0).text == "✓" })
                let plain = try #require(alice.screen.row(containing: "hello bob"))
                #expect(alice.cell(row: plain, column: end).text == "✓")

                try bob.type("and back")
                try bob.press(.enter)
                try await alice.waitFor("Bob's answer") { $0.count(of: "bob    and back") == 1 }
                #expect(try await network.texts(on: "chat.lobby").count == 5)
            }
        }

        @Test("B56 Topics are joined and left, help opens, panes are walked, and an unknown command says so")
        func commands() async throws {
            try await PrivateNetworkFixture.run { network in
                let alice = try await network.connected("alice")
                try alice.type("/join other.topic")
                try alice.press(.enter)
                try await alice.waitFor("the other topic") {
                    $0.rows[1].contains("other.topic") && $0.contains("write to other.topic")
                }
                #expect(try await network.parley("send", "--as", "bob", "other.topic", "seen here").status.isSuccess)
                try await alice.waitFor(text: "seen here")
                try alice.type("/leave")
                try alice.press(.enter)
                try await alice.waitFor("the topic to be gone") {
                    $0.contains("Left other.topic.") && $0.rows[1].contains("chat.lobby")
                        && !$0.contains(" other.topic ")
                }

                try alice.type("/nonsense now")
                try alice.press(.enter)
                try await alice.waitFor(text: "There is no command /nonsense.")
                try alice.press(.ctrl("c"))
                try alice.type("/join no..topic")
                try alice.press(.enter)
                try await alice.waitFor("why that is no topic") { screen in
                    screen.rows.last?.contains("A topic cannot begin or end with a dot") == true
                }

                // A key that follows Escape at once would be one with Alt.
                try alice.press(.escape)
                try await alice.waitFor("the message to go") { $0.contains("F1 help") }
                try alice.type("/help")
                try alice.press(.enter)
                try await alice.waitFor(text: "┌─ Help")
                try alice.press(.escape)
                try await alice.waitFor("the help to close") { !$0.contains("┌─ Help") }
                try alice.press(.f(1))
                try await alice.waitFor(text: "┌─ Help")
                try alice.press(.f(1))
                try await alice.waitFor("the help to close") { !$0.contains("┌─ Help") }

                let compose = alice.screen.rows.count - 2
                try await alice.waitFor("the cursor in the text") { $0.cursorRow == compose }
                try alice.press(.tab)
                try await alice.waitFor("the cursor in the topics") { $0.cursorRow == 2 && $0.cursorColumn == 0 }
                try alice.press(.tab)
                try await alice.waitFor("the cursor in the conversation") {
                    $0.cursorRow != compose && ($0.cursorColumn > 0 || !$0.modes.isCursorVisible)
                }
                try alice.press(.tab)
                try await alice.waitFor("the cursor in the text again") { $0.cursorRow == compose }

                try alice.type("/quit")
                try alice.press(.enter)
                #expect(try await alice.waitForExit() == .exited(0))
            }
        }

        @Test("A paste of three whole lines waits in the text, and Enter sends them as one message")
        func paste() async throws {
            try await PrivateNetworkFixture.run { network in
                let alice = try await network.connected("alice")
                try alice.paste("first line\nsecond line\nthird line\n")
                try await alice.waitFor("all three lines in the text") { screen in
                    let rows = screen.rows.dropLast().suffix(3)
                    return zip(rows, ["first line", "second line", "third line"]).allSatisfy { $0.hasSuffix($1) }
                }
                #expect(try await network.texts(on: "chat.lobby").isEmpty)
                try alice.press(.enter)
                try await alice.waitFor("the sent message") { $0.contains("alice  first line") && $0.contains("✓") }
                #expect(try await network.texts(on: "chat.lobby") == ["first line\nsecond line\nthird line"])
            }
        }
    }
}
