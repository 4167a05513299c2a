import Foundation
import TestSupport
import Testing

extension EndToEndTests {
    @Suite("The postbox on the screen")
    struct Postbox {
        @Test(
            "A letter appears at once, is read, and is deleted from the server", arguments: NATSServerProcess.binaries)
        func oneLetter(_ binary: NATSServerBinary) async throws {
            try await PrivateNetworkFixture.run(binary) { network in
                let bob = try await network.connected("bob")
                try bob.press(.f(3))
                try await bob.waitFor("the list") { $0.contains("page 1") && $0.contains("Welcome") }
                let alice = try await network.connected("alice")

                try alice.type("/post bob/personal from the screen")
                try alice.press(.enter)
                try await bob.waitFor("Alice's letter") { $0.count(of: "from the screen") == 1 && $0.contains("✉ 2") }
                let posted = try await network.objects(
                    "inbox", "post", "--as", "carol", "bob/personal", "from the command line", "--json")
                #expect(posted.first?["id"].string.isEmpty == false)
                let screen = try await bob.waitFor("Carol's letter") {
                    $0.count(of: "from the command line") == 1 && $0.contains("✉ 3")
                }
                let row = try #require(screen.row(containing: "from the command line"))
                #expect(screen.rows[row].contains("carol") && screen.rows[row].contains("•"))

                try bob.press(.end, .enter)
                try await bob.waitFor("the open letter, read") { screen in
                    screen.contains("from carol to personal") && screen.rows[row].contains("▌")
                        && !screen.rows[row].contains("•")
                }
                try bob.press(.escape)
                try await bob.waitFor("the letter to close") { !$0.contains("from carol to personal") }
                try bob.press(.delete)
                try await bob.waitFor(text: "Delete the letter from carol")
                try bob.type("y")
                try await bob.waitFor("the letter to be gone") {
                    !$0.contains("from the command line") && $0.contains("Deleted 1 letter.") && $0.contains("✉ 2")
                }
                let left = try await network.letters(of: "bob")
                #expect(left.count == 2 && left.last == "from the screen")
                // What is deleted stays deleted when the list is asked for again.
                let written = bob.outputCount
                try bob.press(.ctrl("r"))
                try await bob.waitFor("the list again") {
                    bob.outputCount > written && $0.contains("page 1") && !$0.contains("listing")
                        && $0.count(of: "from the command line") == 0 && $0.count(of: "from the screen") == 1
                }
            }
        }

        @Test(
            "B50 Marked letters are deleted together after a yes; a no deletes nothing",
            arguments: NATSServerProcess.binaries)
        func bulk(_ binary: NATSServerBinary) async throws {
            try await PrivateNetworkFixture.run(binary) { network in
                // A postbox is there from its owner's first visit on, with a letter in it.
                #expect(try await network.letters(of: "bob").count == 1)
                for number in 1...6 {
                    let result = try await network.parley(
                        "inbox", "post", "--as", "alice", "bob/personal", "letter \(number)")
                    #expect(result.status.isSuccess, "\(result)")
                }
                let bob = try await network.connected("bob")
                try bob.press(.f(3))
                try await bob.waitFor("six letters") { $0.count(of: "letter ") >= 6 && $0.contains("letter 6") }
                try bob.press(.down)
                try bob.type("     ")
                try await bob.waitFor("five marks") { $0.contains("5 marked") && $0.count(of: "*") == 5 }

                try bob.press(.alt("d"))
                try await bob.waitFor(text: "Delete 5 letters?")
                try bob.type("n")
                try await bob.waitFor("the question to go") { !$0.contains("Delete 5 letters?") }
                #expect(try await network.letters(of: "bob").count == 7)
                #expect(bob.screen.contains("5 marked") && bob.screen.contains("letter 1"))

                try bob.press(.alt("d"))
                try await bob.waitFor(text: "Delete 5 letters?")
                // Any other key is no answer.
                try bob.type("x")
                try bob.type("y")
                try await bob.waitFor("five letters fewer") {
                    $0.contains("Deleted 5 letters.") && $0.contains("✉ 2") && !$0.contains("letter 1")
                }
                let left = try await network.letters(of: "bob")
                #expect(left.count == 2)
                #expect(left.filter { $0.hasPrefix("letter ") } == ["letter 6"])
                #expect(bob.screen.count(of: "letter 6") == 1)
            }
        }

        @Test(
            "B51 A postbox is made for a persona, switched off and deleted with its letters from the chat",
            arguments: NATSServerProcess.binaries)
        func managed(_ binary: NATSServerBinary) async throws {
            try await PrivateNetworkFixture.run(binary) { network in
                func boxes() async throws -> [JSONLine] {
                    try await network.objects("postbox", "list", "--as", "bob", "--json")
                }
                let bob = try await network.connected("bob")
                try bob.type("/postbox create shop the-seller")
                try bob.press(.enter)
                try await bob.waitFor("the postbox") { $0.contains("others write to bob/shop") }
                let made = try #require(try await boxes().first { $0["name"].string == "shop" })
                #expect(made["sudoId"].string == "the-seller" && made["isEnabled"].bool == true)
                let sent = try await network.parley("inbox", "post", "bob/shop", "an order", "--as", "alice")
                #expect(sent.exitCode == 0, "\(sent)")
                try await bob.waitFor("the letter") { $0.contains("✉ 2") }

                try bob.type("/postbox disable shop")
                try bob.press(.enter)
                try await bob.waitFor("it to be off") { $0.contains("takes no more letters") && $0.contains("(off)") }
                let refused = try await network.parley("inbox", "post", "bob/shop", "another", "--as", "alice")
                #expect(refused.exitCode == 69, "\(refused)")

                try bob.type("/postbox")
                try bob.press(.enter)
                try await bob.waitFor("the list") {
                    $0.contains("Your postboxes") && $0.contains("off, 1 letter, 1 unread, persona the-seller")
                }
                try bob.press(.escape)
                try bob.type("/postbox delete shop")
                try bob.press(.enter)
                try await bob.waitFor(text: "Delete the postbox shop with its 1 letter?")
                try bob.type("y")
                try await bob.waitFor("it to be gone") {
                    $0.contains("The postbox shop is deleted.") && $0.contains("✉ 1") && !$0.contains("(off)")
                }
                #expect(try await boxes().map { $0["name"].string } == ["personal"])
                #expect(try await network.letters(of: "bob").allSatisfy { $0.hasPrefix("Welcome") })
            }
        }

        @Test("A letter that was sent is found again, and read whole, at the next start too")
        func sent() async throws {
            try await PrivateNetworkFixture.run { network in
                #expect(try await network.parley("postbox", "list", "--as", "bob").status.isSuccess)
                let alice = try await network.connected("alice")
                try alice.type("/post bob/personal from the screen")
                try alice.press(.enter)
                try await alice.waitFor(text: "bob/personal has the letter")
                try alice.press(.ctrl("q"))
                #expect(try await alice.waitForExit() == .exited(0))
                let posted = try await network.parley(
                    "inbox", "post", "bob/personal", "by the command", "--subject", "Figures", "--as", "alice")
                #expect(posted.exitCode == 0, "\(posted)")

                let again = try await network.connected("alice")
                try again.type("/sent")
                try again.press(.enter)
                try await again.waitFor("the list") {
                    $0.contains("Letters you sent") && $0.contains("bob/personal: from the screen")
                        && $0.contains("bob/personal: Figures · by the command")
                }
                try again.press(.enter)
                try await again.waitFor("the letter") {
                    $0.contains("to bob/personal, ") && $0.contains("by the command") && !$0.contains("Letters you")
                }
            }
        }

        @Test("B51 A letter to a postbox that takes none is reported to its writer")
        func disabled() async throws {
            try await PrivateNetworkFixture.run { network in
                #expect(try await network.parley("postbox", "create", "work", "--as", "bob").status.isSuccess)
                #expect(try await network.parley("postbox", "disable", "work", "--as", "bob").status.isSuccess)
                let alice = try await network.connected("alice")
                try alice.type("/post bob/work are you there")
                try alice.press(.enter)
                try await alice.waitFor("the refusal") { screen in
                    (screen.rows.last ?? "").lowercased().contains("not") && (screen.rows.last ?? "").contains("work")
                }
            }
        }
    }
}
