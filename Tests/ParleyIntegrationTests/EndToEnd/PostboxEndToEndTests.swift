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

                // The newest letter stands first, and the cursor stays on the one where it was.
                try bob.press(.home, .enter)
                try await bob.waitFor("the open letter, read") { screen in
                    screen.contains("from carol to personal") && screen.rows[row].contains("▌")
                        && !screen.rows[row].contains("•")
                }
                try bob.press(.escape)
                try await bob.waitFor("the letter to close") { !$0.contains("from carol to personal") }
                try bob.press(.delete)
                try await bob.waitFor("the letter to be gone") {
                    !$0.contains("from the command line") && $0.contains("Deleted 1 letter.")
                }
                // Letters are counted anew, which may outlast those words.
                try await bob.waitFor(text: "✉ 2")
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
            "B50 Marked letters are deleted together some seconds later; undone, they stay with their marks",
            arguments: NATSServerProcess.binaries)
        func bulk(_ binary: NATSServerBinary) async throws {
            try await PrivateNetworkFixture.run(binary) { network in
                // A postbox is there from its owner's first visit on, with a letter in it.
                #expect(try await network.letters(of: "bob").count == 1)
                try await network.post(1...6, to: "bob")
                let bob = try await network.connected("bob")
                try bob.press(.f(3))
                try await bob.waitFor("six letters") { $0.count(of: "letter ") >= 6 && $0.contains("letter 6") }
                try bob.press(.down)
                try bob.type("     ")
                try await bob.waitFor("five marks") { $0.contains("5 marked") && $0.count(of: "*") == 5 }

                // Alt-d and Alt-u at once, so that no time passes in between.
                try bob.send(Array("\u{1B}d\u{1B}u".utf8))
                try await bob.waitFor("the letters to be back") {
                    $0.contains("Restored 5 letters.") && $0.contains("5 marked") && !$0.contains("✕")
                }
                #expect(try await network.letters(of: "bob").count == 7)

                try bob.press(.alt("d"))
                try await bob.waitFor("five letters fewer") {
                    $0.contains("Deleted 5 letters.") && !$0.contains("letter 1")
                }
                try await bob.waitFor(text: "✉ 2")
                let left = try await network.letters(of: "bob")
                #expect(left.count == 2)
                #expect(left.filter { $0.hasPrefix("letter ") } == ["letter 6"])
                #expect(bob.screen.count(of: "letter 6") == 1)
            }
        }

        @Test(
            "B51 A postbox is made for a persona, renamed, switched off and deleted with its letters from the chat",
            arguments: NATSServerProcess.binaries)
        func managed(_ binary: NATSServerBinary) async throws {
            try await PrivateNetworkFixture.run(binary) { network in
                func boxes() async throws -> [JSONLine] {
                    try await network.objects("postbox", "list", "--as", "bob", "--json")
                }
                let bob = try await network.connected("bob")
                try bob.type("/postbox create shop for the-seller")
                try bob.press(.enter)
                try await bob.waitFor("the postbox") { $0.contains("others write to bob/shop") }
                let made = try #require(try await boxes().first { $0["name"].string == "shop" })
                #expect(made["sudoId"].string == "the-seller" && made["isEnabled"].bool == true)
                try bob.type("/postbox rename shop Sales")
                try bob.press(.enter)
                try await bob.waitFor("its title") {
                    $0.contains("others still write to bob/shop") && $0.contains("Sales (shop)")
                }
                #expect(try await boxes().map { $0["title"].string } == ["personal", "Sales"])
                try bob.type("/postbox rename shop shop")
                try bob.press(.enter)
                try await bob.waitFor("its name") {
                    $0.contains("goes by its name again") && !$0.contains("Sales")
                }
                let sent = try await network.parley("inbox", "post", "bob/shop", "an order", "--as", "alice")
                #expect(sent.exitCode == 0, "\(sent)")
                try await bob.waitFor("the letter") { $0.contains("✉ 2") }

                try bob.type("/postbox disable shop")
                try bob.press(.enter)
                try await bob.waitFor(text: "takes no more letters")
                try await bob.waitFor(text: "(off)")
                let refused = try await network.parley("inbox", "post", "bob/shop", "another", "--as", "alice")
                #expect(refused.exitCode == 69, "\(refused)")

                try bob.type("/postbox")
                try bob.press(.enter)
                try await bob.waitFor("the list") {
                    $0.contains("Your postboxes") && $0.contains("off, 1 letter, 1 unread, persona the-seller")
                }
                try bob.press(.escape)
                try await bob.waitFor("the list to be closed") { !$0.contains("Your postboxes") }
                try bob.type("/postbox delete shop")
                try bob.press(.enter)
                try await bob.waitFor(text: "Delete the postbox shop with its 1 letter?")
                try bob.type("y")
                try await bob.waitFor(text: "The postbox shop is deleted.")
                try await bob.waitFor("it to be gone") { $0.contains("✉ 1") && !$0.contains("(off)") }
                #expect(try await boxes().map { $0["name"].string } == ["personal"])
                #expect(try await network.letters(of: "bob").allSatisfy { $0.hasPrefix("Welcome") })
            }
        }

        @Test(
            "B51 Two personas' postboxes in one inbox are told apart on the screen and by the subscription",
            arguments: NATSServerProcess.binaries)
        func personas(_ binary: NATSServerBinary) async throws {
            try await PrivateNetworkFixture.run(binary) { network in
                for (box, persona) in [("shop", "the-seller"), ("diary", "the-writer")] {
                    let made = try await network.objects(
                        "postbox", "create", box, "--sudo-id", persona, "--as", "alice", "--json")
                    #expect(made.first?["sudoId"].string == persona)
                }
                // A row of this width has room for the persona.
                let alice = try await network.connected("alice", columns: 120)
                try await alice.waitFor("the postboxes") { $0.contains("shop") && $0.contains("diary") }
                try alice.press(.f(3))
                try await alice.waitFor("the list") { $0.contains("page 1") && $0.contains("Welcome") }
                func watch(_ persona: String, count: Int) async throws -> ChildProcess {
                    let watch = try network.start(
                        "inbox", "watch", "--sudo-id", persona, "--count", "\(count)", "--as", "alice", "--json")
                    var status = ""
                    while status != "connected" { status = try JSONLine(try await watch.nextLine())["status"].string }
                    return watch
                }
                let seller = try await watch("the-seller", count: 1)
                let writer = try await watch("the-writer", count: 2)

                // Each subscription has a letter of the other persona before the last of its own.
                for (box, text) in [("diary", "a poem"), ("shop", "an order"), ("diary", "its last verse")] {
                    let sent = try await network.parley("inbox", "post", "alice/\(box)", text, "--as", "bob")
                    #expect(sent.exitCode == 0, "\(sent)")
                }
                func heard(by watch: ChildProcess) async throws -> [[String]] {
                    let end = try await watch.waitForExit()
                    #expect(end.exitCode == 0, "\(end)")
                    return try end.lines.map { try JSONLine($0) }.filter { $0["event"].string == "message" }.map {
                        [$0["sudoId"].string, $0["postboxId"].string, $0["from"].string, $0["message"].string]
                    }
                }
                #expect(try await heard(by: seller) == [["the-seller", "shop", "bob", "an order"]])
                #expect(
                    try await heard(by: writer) == [
                        ["the-writer", "diary", "bob", "a poem"], ["the-writer", "diary", "bob", "its last verse"],
                    ])

                try await alice.waitFor("all letters, each with its persona and postbox") { screen in
                    screen.hasLetter(/the-seller +shop +bob +an order/)
                        && screen.hasLetter(/the-writer +diary +bob +a poem/)
                        && screen.hasLetter(/the-writer +diary +bob +its last verse/)
                }
                try alice.press(.alt("l"))
                try alice.type("persona:the-seller")
                try alice.press(.enter)
                try await alice.waitFor("the seller's letter alone") { screen in
                    screen.contains("filter: persona:the-seller") && screen.contains("1 of 4")
                        && screen.hasLetter(/the-seller +shop +bob +an order/)
                        && !screen.contains("a poem") && !screen.contains("its last verse")
                        && !screen.contains("Welcome")
                }
                try alice.press(.escape)
                try await alice.waitFor("all letters again") { screen in
                    !screen.contains("filter:") && screen.count(of: "an order") == 1
                        && screen.count(of: "a poem") == 1 && screen.contains("Welcome")
                }
            }
        }

        @Test("A letter that was sent is found again, and read whole, at the next start too")
        func sent() async throws {
            try await PrivateNetworkFixture.run { network in
                #expect(try await network.parley("postbox", "list", "--as", "bob").status.isSuccess)
                let alice = try await network.connected("alice")
                try alice.type("/post bob/personal Subject: Hello | from the screen")
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
                    $0.contains("Letters you sent") && $0.contains("bob/personal: Hello · from the screen")
                        && $0.contains("bob/personal: Figures · by the command")
                }
                try again.press(.enter)
                try await again.waitFor("the letter") {
                    $0.contains("to bob/personal, ") && $0.contains("by the command") && !$0.contains("Letters you")
                }
            }
        }

        @Test(
            "B45 Pages go from the newest letter to the oldest; marks stay over them, and what they mark is deleted together",
            arguments: NATSServerProcess.binaries)
        func pages(_ binary: NATSServerBinary) async throws {
            try await PrivateNetworkFixture.run(binary) { network in
                #expect(try await network.letters(of: "bob").count == 1)
                try await network.post(1...9, to: "bob")
                // Seven letters have room.
                let bob = try await network.connected("bob", rows: 12)
                try bob.press(.f(3))
                try await bob.waitFor("the newest letters") {
                    $0.contains("page 1 of about 2") && $0.contains("letter 9") && $0.contains("letter 3")
                        && !$0.contains("letter 2")
                }
                try bob.type(" ")
                try await bob.waitFor(text: "1 marked")
                try bob.press(.alt("n"))
                try await bob.waitFor("the oldest letters") {
                    $0.contains("page 2 of 2") && $0.contains("1 marked, 0 on this page") && $0.contains("letter 1")
                        && $0.contains("Welcome")
                }
                try bob.press(.alt("l"))
                try bob.type("letter 1")
                try await bob.waitFor("the letter that has this") {
                    $0.contains("1 of 10") && $0.contains("letter 1") && !$0.contains("Welcome")
                }
                try bob.press(.enter)
                try bob.type(" ")
                try bob.press(.escape)
                try await bob.waitFor("both marks") {
                    $0.contains("2 marked, 1 on this page") && $0.contains("Welcome")
                }
                try bob.press(.alt("o"))
                try await bob.waitFor("the oldest first") {
                    $0.contains("oldest first") && $0.contains("page 1 of about 2") && $0.contains("Welcome")
                        && !$0.contains("letter 9")
                }
                try bob.press(.alt("d"))
                try await bob.waitFor(text: "Delete 2 letters from personal, 1 of them not in view?")
                // Any other key is no answer.
                try bob.type("x")
                // Letters of several pages are brought back as one is.
                try bob.send(Array("y\u{1B}u".utf8))
                try await bob.waitFor("both letters to be back") {
                    $0.contains("Restored 2 letters.") && $0.contains("2 marked") && !$0.contains("✕")
                }
                try bob.press(.alt("d"))
                try await bob.waitFor(text: "Delete 2 letters from personal, 1 of them not in view?")
                try bob.type("y")
                try await bob.waitFor("two letters fewer") {
                    $0.contains("Deleted 2 letters.") && !$0.contains("letter 1")
                }
                let left = try await network.letters(of: "bob")
                #expect(left.count == 8 && left.last == "letter 8")
                #expect(!left.contains("letter 1") && !left.contains("letter 9"))
            }
        }

        @Test("What the filter finds is marked beyond the page too, and deleted together after a question")
        func marking() async throws {
            try await PrivateNetworkFixture.run { network in
                #expect(try await network.letters(of: "bob").count == 1)
                try await network.post(1...9, to: "bob")
                // Seven letters have room.
                let bob = try await network.connected("bob", rows: 12)
                try bob.press(.f(3))
                try await bob.waitFor("the newest letters") {
                    $0.contains("page 1 of about 2") && $0.contains("letter 9") && !$0.contains("letter 2")
                }
                try bob.press(.alt("l"))
                try bob.type("alice")
                try bob.press(.enter)
                try await bob.waitFor("the filter") { $0.contains("filter: alice") && !$0.contains("Enter keeps") }
                try bob.press(.alt("*"))
                try await bob.waitFor("all marks") {
                    $0.contains("All 9 letters that match are marked.") && $0.contains("9 marked")
                }
                try bob.press(.alt("d"))
                try await bob.waitFor("the question") {
                    $0.contains("Delete 9 letters from personal, ") && $0.contains(" of them not in view?")
                }
                try bob.type("y")
                try await bob.waitFor("nine letters fewer") {
                    $0.contains("Deleted 9 letters.") && !$0.contains("letter 9")
                }
                let left = try await network.letters(of: "bob")
                #expect(left.count == 1 && left.allSatisfy { $0.hasPrefix("Welcome") })
            }
        }

        @Test("B41 Letters that arrive while the list is asked for are on the screen afterwards, each once")
        func arrivals() async throws {
            try await PrivateNetworkFixture.run { network in
                let bob = try await network.connected("bob")
                let alice = try await network.connected("alice")
                try bob.press(.f(3))
                try await bob.waitFor("the list") { $0.contains("page 1") && $0.contains("Welcome") }
                for number in 1...8 {
                    try alice.type("/post bob/personal letter \(number)")
                    // Lines that come without a pause would be a paste.
                    try await alice.waitFor(text: "> /post bob/personal letter \(number)")
                    try alice.press(.enter)
                    try await alice.waitFor("the text to be gone") { !$0.contains("> /post bob") }
                    for _ in 0..<5 { try bob.press(.ctrl("r")) }
                }
                try await bob.waitFor("all letters") { screen in
                    (1...8).allSatisfy { screen.count(of: "letter \($0)") == 1 } && !screen.contains("listing")
                }
            }
        }

        @Test("What is deleted and then left by quitting is deleted before Parley ends")
        func quitting() async throws {
            try await PrivateNetworkFixture.run { network in
                let bob = try await network.connected("bob")
                try bob.press(.f(3))
                try await bob.waitFor("the list") { $0.contains("page 1") && $0.contains("Welcome") }
                try bob.press(.delete, .ctrl("q"))
                try await bob.waitFor(text: "1 letter is about to be deleted (Alt-u undoes it). Delete and quit?")
                try bob.type("y")
                #expect(try await bob.waitForExit().isSuccess)
                #expect(try await network.letters(of: "bob").isEmpty)
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

extension PrivateNetworkFixture {
    /// Has alice send letters, one after the other: `letter 1` and so on.
    fileprivate func post(_ numbers: ClosedRange<Int>, to user: String) async throws {
        for number in numbers {
            let result = try await parley("inbox", "post", "--as", "alice", "\(user)/personal", "letter \(number)")
            #expect(result.status.isSuccess, "\(result)")
        }
    }
}

extension TerminalScreen {
    /// Whether a row of the postbox's table is like this.
    fileprivate func hasLetter(_ row: some RegexComponent) -> Bool {
        rows.indices.contains { main(row: $0).contains(row) }
    }
}
