import TestSupport
import Testing

extension EndToEndTests {
    @Suite("A full postbox")
    struct FullPostbox {
        /// What a sender is told.
        private static let words = "bob's postbox personal is full. Ask its owner to delete letters."

        @Test(
            "B51 Who writes to a postbox with as many letters as it may have is told; once its owner has deleted one, it takes letters again",
            arguments: NATSServerProcess.binaries)
        func byCount(_ binary: NATSServerBinary) async throws {
            try await PrivateNetworkFixture.run(binary) { network in
                try network.setBounds(#"{ "maximumLetters": 3 }"#)
                #expect(try await network.letters(of: "bob").count == 1)
                for number in 1...2 {
                    let sent = try await network.parley(
                        "inbox", "post", "--as", "carol", "bob/personal", "letter \(number)")
                    #expect(sent.exitCode == 0, "\(sent)")
                }
                let refused = try await network.parley("inbox", "post", "--as", "carol", "bob/personal", "letter 3")
                #expect(refused.exitCode == 69 && refused.output.isEmpty, "\(refused)")
                #expect(refused.diagnostics.contains(Self.words), "\(refused)")

                let alice = try await network.connected("alice", columns: 140)
                try alice.type("/post bob/personal from the screen")
                try alice.press(.enter)
                // What was not sent is in the text again.
                try await alice.waitFor("the refusal", deadline: .seconds(60)) {
                    $0.contains(Self.words) && $0.contains("> /post bob/personal from the screen")
                }

                let bob = try await network.connected("bob")
                try bob.press(.f(3))
                try await bob.waitFor("the letters there are", deadline: .seconds(60)) {
                    $0.contains("page 1") && $0.count(of: "letter 1") == 1 && $0.count(of: "letter 2") == 1
                        && $0.contains("Welcome") && $0.contains("✉ 3")
                }
                try bob.press(.home, .enter)
                try await bob.waitFor(text: "from carol to personal")
                try bob.press(.escape)
                try await bob.waitFor("the letter to close") { !$0.contains("from carol to personal") }
                try bob.press(.delete)
                try await bob.waitFor("the letter to be gone", deadline: .seconds(60)) {
                    $0.contains("Deleted 1 letter.") && !$0.contains("letter 2")
                }

                try alice.press(.enter)
                try await alice.waitFor(text: "bob/personal has the letter", deadline: .seconds(60))
                try await bob.waitFor("the letter that has room now", deadline: .seconds(60)) {
                    $0.count(of: "from the screen") == 1 && $0.count(of: "letter 1") == 1
                }
                #expect(try await network.letters(of: "bob").dropFirst() == ["letter 1", "from the screen"])
            }
        }

        @Test(
            "B51 Who writes to a postbox with as many bytes as it may have is told; once its owner has deleted a letter, it takes letters again",
            arguments: NATSServerProcess.binaries)
        func byBytes(_ binary: NATSServerBinary) async throws {
            try await PrivateNetworkFixture.run(binary) { network in
                try network.setBounds(#"{ "postboxes": { "maximumBytes": 65536 } }"#)
                #expect(try await network.letters(of: "bob").count == 1)
                let text = String(repeating: "much ", count: 5_000) + "too much"
                func post() async throws -> ChildProcess.Result {
                    try await network.parley("inbox", "post", "--as", "carol", "bob/personal", "--json", input: text)
                }
                for _ in 1...2 {
                    let sent = try await post()
                    #expect(sent.exitCode == 0, "\(sent)")
                }
                let refused = try await post()
                #expect(refused.exitCode == 69 && refused.diagnostics.contains(Self.words), "\(refused)")

                let letters = try await network.objects("inbox", "list", "--as", "bob", "--all", "--json")
                    .flatMap { $0["items"].array }
                #expect(letters.count == 3)
                let id = try #require(letters.last)["id"].string
                let read = try await network.parley("inbox", "read", id, "--as", "bob", "--json")
                #expect(try JSONLine(read.output)["message"].string == text, "\(read.status)")
                let deleted = try await network.parley("inbox", "delete", id, "--as", "bob")
                #expect(deleted.exitCode == 0, "\(deleted)")
                let accepted = try await post()
                #expect(accepted.exitCode == 0, "\(accepted)")
                #expect(try await network.letters(of: "bob").count == 3)
            }
        }
    }
}
