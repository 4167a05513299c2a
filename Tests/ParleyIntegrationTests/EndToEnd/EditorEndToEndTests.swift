import Foundation
import TestSupport
import Testing

extension EndToEndTests {
    @Suite("Writing in an editor")
    struct Editor {
        /// An editor that says where it is and what it is given, waits for a line from the person, and writes that.
        private static func script(_ folder: TemporaryDirectory, exit status: Int = 0) throws -> String {
            let path = folder.path("editor")
            let text = """
                #!/bin/sh
                ls -l "$1" | cut -c1-10 > '\(folder.path("mode"))'
                env | grep -c '^PARLEY_' > '\(folder.path("secrets"))'
                printf '%s' "$1" > '\(folder.path("place"))'
                echo "THE EDITOR HAS: $(cat "$1")"
                read -r line
                printf '%s\\nsecond line\\n' "$line" >> "$1"
                exit \(status)
                """
            try Data(text.utf8).write(to: URL(fileURLWithPath: path))
            try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: path)
            return path
        }

        private static func content(_ folder: TemporaryDirectory, _ name: String) throws -> String {
            try String(contentsOfFile: folder.path(name), encoding: .utf8).trimmingCharacters(in: .newlines)
        }

        /// A chat whose editor has the terminal, and what was begun.
        private static func inTheEditor(_ network: PrivateNetworkFixture) async throws -> PseudoTerminal {
            let editor = try script(network.folder)
            let alice = try network.open("alice", environment: ["EDITOR": editor, "VISUAL": ""])
            try await alice.waitFor("a connection", deadline: .seconds(60)) { $0.contains("● CONNECTED") }
            try alice.type("begun here")
            try alice.press(.alt("e"))
            try await alice.waitFor(text: "THE EDITOR HAS: begun here", deadline: .seconds(60))
            return alice
        }

        @Test("Alt-e gives the terminal to the editor; what it leaves is sent whole, and nothing is left on the disk")
        func edit() async throws {
            try await PrivateNetworkFixture.run { network in
                let alice = try await Self.inTheEditor(network)
                #expect(alice.lineDiscipline?.isSane == true && alice.modes.isSane)
                try alice.type("and there\r")
                try await alice.waitFor("the text in the pane", deadline: .seconds(60)) {
                    $0.contains("begun here") && $0.contains("and there") && $0.contains("second line")
                        && $0.contains("● CONNECTED")
                }
                #expect(try Self.content(network.folder, "mode") == "-rw-------")
                #expect(try Self.content(network.folder, "secrets") == "0")
                let place = try Self.content(network.folder, "place")
                #expect(!FileManager.default.fileExists(atPath: place))
                try alice.press(.enter)
                try await alice.waitFor("the message") { $0.contains("alice  begun here") && $0.contains("✓") }
                #expect(try await network.texts(on: "chat.lobby") == ["begun here\nand there\nsecond line"])
                try alice.press(.ctrl("q"))
                #expect(try await alice.waitForExit(deadline: .seconds(60)) == .exited(0))
                #expect(alice.modes.isSane && alice.lineDiscipline?.isSane == true)
            }
        }

        @Test("A letter, and an answer to one, is written on in the editor and sent with all its lines")
        func letter() async throws {
            try await PrivateNetworkFixture.run { network in
                // Nobody has a postbox before the first visit.
                #expect(try await network.letters(of: "alice").count == 1)
                #expect(try await network.letters(of: "bob").count == 1)
                let asked = try await network.parley("inbox", "post", "--as", "bob", "alice/personal", "a question")
                #expect(asked.exitCode == 0, "\(asked)")
                let editor = try Self.script(network.folder)
                let alice = try network.open("alice", environment: ["EDITOR": editor, "VISUAL": ""], columns: 120)
                try await alice.waitFor("a connection", deadline: .seconds(60)) {
                    $0.contains("● CONNECTED") && $0.contains("✉ 2")
                }
                try alice.type("/post bob/personal begun here")
                try alice.press(.alt("e"))
                try await alice.waitFor(
                    text: "THE EDITOR HAS: /post bob/personal begun here", deadline: .seconds(60))
                try alice.type("and there\r")
                try await alice.waitFor("the text in the pane", deadline: .seconds(60)) {
                    $0.contains("/post bob/personal begun here") && $0.contains("and there")
                        && $0.contains("second line") && $0.contains("● CONNECTED")
                }
                try alice.press(.enter)
                try await alice.waitFor(text: "bob/personal has the letter", deadline: .seconds(60))
                #expect(try await network.letters(of: "bob").last == "begun here\nand there\nsecond line")

                try alice.press(.f(3))
                try await alice.waitFor("the question", deadline: .seconds(60)) {
                    $0.contains("page 1") && $0.count(of: "a question") == 1
                }
                try alice.press(.home, .alt("q"))
                try await alice.waitFor(text: "> /post bob/personal > a question")
                try alice.press(.alt("e"))
                try await alice.waitFor(
                    text: "THE EDITOR HAS: /post bob/personal > a question", deadline: .seconds(60))
                try alice.type("an answer\r")
                try await alice.waitFor("the answer in the pane", deadline: .seconds(60)) {
                    $0.contains("an answer") && $0.contains("second line") && $0.contains("● CONNECTED")
                }
                try alice.press(.enter)
                try await eventually("the answer", deadline: .seconds(60)) {
                    try await network.letters(of: "bob").count == 3
                }
                let answer = try #require(try await network.letters(of: "bob").last)
                #expect(answer.hasPrefix("> a question\n") && answer.hasSuffix("\nan answer\nsecond line"), "\(answer)")
            }
        }

        @Test("An editor that fails keeps a letter's draft, which is sent as it was")
        func letterFailure() async throws {
            try await PrivateNetworkFixture.run { network in
                #expect(try await network.letters(of: "bob").count == 1)
                let editor = try Self.script(network.folder, exit: 1)
                let alice = try network.open("alice", environment: ["EDITOR": editor, "VISUAL": ""], columns: 120)
                try await alice.waitFor("a connection", deadline: .seconds(60)) { $0.contains("● CONNECTED") }
                try alice.type("/post bob/personal keep this")
                try alice.press(.alt("e"))
                try await alice.waitFor(text: "THE EDITOR HAS: /post bob/personal keep this", deadline: .seconds(60))
                try alice.type("not this\r")
                try await alice.waitFor("the reason, and the draft", deadline: .seconds(60)) {
                    $0.contains("The editor ended with 1; the text is as it was before.")
                        && $0.contains("> /post bob/personal keep this") && !$0.contains("not this")
                }
                try alice.press(.enter)
                try await alice.waitFor(text: "bob/personal has the letter", deadline: .seconds(60))
                #expect(try await network.letters(of: "bob").last == "keep this")
            }
        }

        @Test("B27 Suspended while the editor runs, both go on in the foreground; what the editor leaves is the text")
        func suspension() async throws {
            try await PrivateNetworkFixture.run { network in
                let alice = try await Self.inTheEditor(network)
                alice.signal(SIGTSTP)
                try await alice.waitForStop(deadline: .seconds(60))
                #expect(alice.modes.leftovers.isEmpty, "\(alice.modes)")
                #expect(alice.lineDiscipline?.isSane == true)

                alice.foreground()
                try alice.type("and there\r")
                try await alice.waitFor("the text in the pane", deadline: .seconds(60)) {
                    $0.modes.isAlternateScreen && $0.contains("begun here") && $0.contains("and there")
                        && $0.contains("second line") && $0.contains("● CONNECTED")
                }
                #expect(alice.lineDiscipline?.isCanonical == false)
                try alice.press(.enter)
                try await alice.waitFor("the message", deadline: .seconds(60)) {
                    $0.contains("alice  begun here") && $0.contains("✓")
                }
                #expect(try await network.texts(on: "chat.lobby") == ["begun here\nand there\nsecond line"])
                try alice.press(.ctrl("q"))
                #expect(try await alice.waitForExit(deadline: .seconds(60)) == .exited(0))
                #expect(alice.modes.isSane && alice.lineDiscipline?.isSane == true)
            }
        }

        @Test("An editor that fails, or that there is none of, leaves the text as it was and says so")
        func failure() async throws {
            try await PrivateNetworkFixture.run { network in
                let editor = try Self.script(network.folder, exit: 3)
                let alice = try network.open("alice", environment: ["EDITOR": editor, "VISUAL": ""], columns: 120)
                try await alice.waitFor("a connection", deadline: .seconds(60)) { $0.contains("● CONNECTED") }
                try alice.type("begun here")
                try alice.press(.alt("e"))
                try await alice.waitFor(text: "THE EDITOR HAS: begun here", deadline: .seconds(60))
                try alice.type("not this\r")
                try await alice.waitFor("the reason", deadline: .seconds(60)) {
                    $0.contains("The editor ended with 3; the text is as it was before.") && $0.contains("> begun here")
                        && !$0.contains("not this")
                }
                let bob = try network.open(
                    "bob", environment: ["EDITOR": "no-such-editor", "VISUAL": ""], columns: 120)
                try await bob.waitFor("a connection", deadline: .seconds(60)) { $0.contains("● CONNECTED") }
                try bob.press(.alt("e"))
                try await bob.waitFor(text: "There is no program no-such-editor.", deadline: .seconds(60))
            }
        }
    }
}
