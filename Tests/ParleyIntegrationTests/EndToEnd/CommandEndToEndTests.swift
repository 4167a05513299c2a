import Foundation
import TestSupport
import Testing

extension EndToEndTests {
    @Suite("The command line")
    struct CommandLine {
        @Test("The program without flags is the chat, with topics or without, and ends as any other command does")
        func bare() async throws {
            try await PrivateNetworkFixture.run { network in
                let you = ["USER": "erin"]
                for arguments in [["chat.lobby"], []] {
                    let terminal = try network.terminal(arguments, environment: you)
                    // What was joined once is there again.
                    try await terminal.waitFor("a connected client in the topic") {
                        $0.contains("erin@local") && $0.contains("● CONNECTED") && $0.contains("── chat.lobby ─")
                    }
                    try terminal.type("/quit\r")
                    #expect(try await terminal.waitForExit().isSuccess)
                }
                let wrong = try await network.parley("chat..lobby", environment: you)
                #expect(wrong.exitCode == 65 && wrong.diagnostics.contains("two dots together"), "\(wrong)")
                let nowhere = try await network.parley(environment: you)
                #expect(nowhere.exitCode == 78 && nowhere.diagnostics.contains("terminal"), "\(nowhere)")
            }
        }

        @Test(
            "send takes a text, standard input, and lines; it prints one receipt for each message",
            arguments: NATSServerProcess.binaries)
        func send(_ binary: NATSServerBinary) async throws {
            try await PrivateNetworkFixture.run(binary) { network in
                let one = try await network.objects("send", "chat.lobby", "a text", "--as", "alice", "--json")
                #expect(one.count == 1)
                #expect(one[0].keys == ["id", "topic", "seq", "duplicate"])
                #expect(one[0]["topic"].string == "chat.lobby" && one[0]["seq"].int == 1)
                #expect(one[0]["duplicate"].bool == false && !one[0]["id"].string.isEmpty)

                let quiet = try await network.parley("send", "chat.lobby", "--as", "alice", input: "two\nlines\n")
                #expect(quiet.exitCode == 0 && quiet.output.isEmpty, "\(quiet)")
                let lines = try await network.objects(
                    "send", "chat.lobby", "--as", "alice", "--lines", "--json", input: "x\n\ny\nz")
                #expect(lines.map { $0["seq"].int } == [3, 4, 5])
                #expect(try await network.texts(on: "chat.lobby") == ["a text", "two\nlines", "x", "y", "z"])
                // A line that cannot be sent ends the call, and those before it are stored and told.
                let long = String(repeating: "x", count: 131_073)
                let partial = try await network.parley(
                    "send", "chat.part", "--as", "alice", "--lines", "--json", input: "before\n\(long)\nafter\n")
                #expect(partial.exitCode == 65 && partial.output.contains("-1\""), "\(partial)")
                #expect(try await network.texts(on: "chat.part").first == "before")
                // A text's further lines cannot look like other messages.
                let tail = try await network.parley(
                    "tail", "chat.lobby", "--since", "all", "--count", "2", "--as", "bob")
                #expect(tail.exitCode == 0 && tail.output.hasSuffix("  chat.lobby  alice: two\n    lines\n"), "\(tail)")
                let history = try await network.parley("history", "chat.lobby", "--start", "all", "--as", "bob")
                #expect(history.output.contains("  chat.lobby  alice: two\n    lines\n2"), "\(history)")

                for isAgain in [false, true] {
                    let named = try await network.objects(
                        "send", "chat.ids", "once", "--as", "alice", "--json", "--id", "job-7")
                    #expect(named[0]["id"].string == "job-7" && named[0]["duplicate"].bool == isAgain)
                    let numbered = try await network.objects(
                        "send", "chat.ids", "--as", "alice", "--json", "--lines", "--id", "job-8", input: "a\nb\n")
                    #expect(numbered.map { $0["id"].string } == ["job-8-1", "job-8-2"])
                    #expect(numbered.allSatisfy { $0["duplicate"].bool == isAgain })
                }
                #expect(try await network.texts(on: "chat.ids") == ["once", "a", "b"])

                let log = network.folder.path("send.log")
                for count in 1...2 {
                    let logged = try await network.parley("send", "chat.log", "a secret", "--as", "alice", "--log", log)
                    #expect(logged.exitCode == 0, "\(logged)")
                    let lines = try String(contentsOfFile: log, encoding: .utf8).split(separator: "\n")
                    #expect(lines.count { $0.contains(" debug Connected nats.client.id=") } == count, "\(lines)")
                    #expect(lines.count { $0.contains(" debug The session has ended ") } == count)
                    #expect(!lines.contains { $0.contains("a secret") })
                }
                let mode = try FileManager.default.attributesOfItem(atPath: log)[.posixPermissions] as? Int
                #expect(mode == 0o600)
                let nowhere = try await network.parley(
                    "send", "chat.log", "x", "--as", "alice", environment: ["PARLEY_LOG": "/nowhere/x.log"])
                #expect(nowhere.exitCode == 73 && nowhere.diagnostics.contains("/nowhere/x.log cannot be written"))

                let nothing = try await network.parley("send", "chat.lobby", "--as", "alice", input: "")
                #expect(nothing.exitCode == 65 && nothing.diagnostics.contains("nothing to send"), "\(nothing)")
            }
        }

        @Test("send gives up when its time has passed, and says how it is repeated so that nothing is stored twice")
        func silentServer() async throws {
            try await PrivateNetworkFixture.run { network in
                _ = try await network.objects("network", "start", "--json")
                let before = try #require(network.description)
                let send = try network.start("send", "chat.lobby", "--lines", "--as", "alice", "--timeout", "10")
                try send.write("first\n")
                try await eventually("a line, over a connection that works") {
                    try await network.texts(on: "chat.lobby") == ["first"]
                }
                // A host that does not run starts no other server. Both go on however the test ends.
                defer { for process in [before.serverPid, before.hostPid] { kill(process, SIGCONT) } }
                for process in [before.hostPid, before.serverPid] { try await pause(process) }
                try send.write("second\n")
                send.closeInput()
                let late = try await send.waitForExit(deadline: .seconds(60))
                #expect(late.exitCode == 75 && late.output.isEmpty, "\(late)")
                let words = late.diagnostics.split { $0.isWhitespace || $0.isPunctuation && $0 != "-" }
                let option = try #require(words.firstIndex(of: "--id"), "\(late)")
                let id = String(try #require(words.dropFirst(option + 1).first))
                #expect(late.diagnostics.contains("The message \(id)-2 was not acknowledged in time."), "\(late)")

                // A network that does not answer is waited for no longer than that either.
                let none = try await network.parley("send", "chat.lobby", "x", "--as", "alice", "--timeout", "2")
                #expect(none.exitCode == 69 && none.diagnostics.hasSuffix(" Nothing was sent.\n"), "\(none)")

                for process in [before.serverPid, before.hostPid] { kill(process, SIGCONT) }
                let again = try await network.objects(
                    "send", "chat.lobby", "--lines", "--as", "alice", "--timeout", "60", "--json", "--id", id,
                    input: "first\nsecond\n")
                #expect(again.map { $0["id"].string } == ["\(id)-1", "\(id)-2"])
                #expect(again.first?["duplicate"].bool == true)
                #expect(try await network.texts(on: "chat.lobby") == ["first", "second"])
            }
        }

        @Test("tail and history print ranges, for people, as JSON and raw", arguments: NATSServerProcess.binaries)
        func reading(_ binary: NATSServerBinary) async throws {
            try await PrivateNetworkFixture.run(binary) { network in
                for (topic, text) in [("chat.a", "one"), ("chat.b", "two"), ("chat.a", "three")] {
                    #expect(try await network.parley("send", topic, text, "--as", "alice").status.isSuccess)
                }
                let tail = try await network.objects(
                    "tail", "chat.*", "chat.a", "--as", "bob", "--since", "all", "--count", "3", "--json")
                #expect(tail.map { $0["seq"].int } == [1, 2, 3])
                #expect(
                    tail.first?.keys == ["seq", "topic", "id", "from", "text", "message", "time", "recovered"])
                #expect(
                    tail.allSatisfy {
                        $0["from"].string == "alice" && $0["message"]["text"].string == $0["text"].string
                    })

                let raw = try await network.objects(
                    "tail", "chat.a", "--as", "bob", "--since", "1h", "--count", "2", "--raw")
                #expect(raw.map { $0["message"]["text"].string } == ["one", "three"])
                #expect(raw.allSatisfy { $0["room"].string == "chat.a" && $0["start"].int != nil })

                // The newest of all that is followed, and then what comes.
                for (topics, last, texts) in [
                    (["chat.>"], "2", ["two", "three"]), (["chat.a", "chat.b"], "2", ["two", "three"]),
                    (["chat.a"], "1", ["three"]), (["chat.b", "chat.*"], "9", ["one", "two", "three"]),
                ] {
                    let newest = try await network.objects(
                        ["tail"] + topics + ["--as", "bob", "--last", last, "--count", "\(texts.count)", "--json"])
                    #expect(newest.map { $0["text"].string } == texts, "\(topics)")
                }

                let people = try await network.parley("history", "chat.>", "--as", "bob", "--start", "all")
                #expect(people.lines.count == 3)
                #expect(people.lines[1].hasSuffix("chat.b  alice: two"), "\(people)")
                let limited = try await network.objects(
                    "history", "chat.>", "--as", "bob", "--start", "all", "--limit", "2", "--json")
                #expect(limited.count == 2)
                let none = try await network.objects(
                    "history", "chat.>", "--as", "bob", "--start", "all", "--end", "1h", "--json")
                #expect(none.isEmpty)

                // From now on: what is said before is not shown.
                let watching = try network.start("tail", "chat.a", "--as", "bob", "--count", "1")
                try await eventually("the tail to be connected") { try await network.clientCount() > 0 }
                let late = Task {
                    while !Task.isCancelled { _ = try await network.parley("send", "chat.a", "later", "--as", "alice") }
                }
                let line = try await watching.nextLine()
                late.cancel()
                _ = await late.result
                #expect(line.hasSuffix("chat.a  alice: later"))
                #expect(try await watching.waitForExit().exitCode == 0)
            }
        }

        @Test(
            "B45 B50 inbox lists pages, deletes one, several and at most 25, and watches",
            arguments: NATSServerProcess.binaries)
        func inbox(_ binary: NATSServerBinary) async throws {
            try await PrivateNetworkFixture.run(binary) { network in
                let first = try await network.objects("inbox", "list", "--as", "bob", "--json")
                #expect(first.count == 1 && first[0].keys == ["items", "nextToken"])
                #expect(
                    first[0]["items"].array.first?.keys == [
                        "id", "createdAt", "updatedAt", "ownerId", "sudoId", "postboxId", "from", "message",
                        "subject",
                    ])
                let watch = try network.start("inbox", "watch", "--as", "bob", "--count", "2", "--json")
                var statuses: [String] = []
                while statuses.last != "connected" {
                    statuses.append(try JSONLine(try await watch.nextLine())["status"].string)
                }
                // A busy machine may need another attempt.
                #expect(Set(statuses.dropFirst().dropLast()) == ["connecting"] && statuses.first == "initialized")
                for text in ["one", "two", "three"] {
                    let posted = try await network.objects(
                        "inbox", "post", "bob/personal", text, "--as", "alice", "--json")
                    #expect(posted.count == 1 && posted[0]["seq"].int != nil && !posted[0]["id"].string.isEmpty)
                }
                for text in ["one", "two"] {
                    let event = try JSONLine(try await watch.nextLine())
                    #expect(event["event"].string == "message" && event["message"].string == text)
                    #expect(event["from"].string == "alice" && event["postboxId"].string == "personal")
                }
                #expect(try JSONLine(try await watch.nextLine())["status"].string == "disconnected")
                #expect(try await watch.waitForExit().exitCode == 0)

                // A page without a limit, then by tokens, each exactly once.
                let page = try await network.objects("inbox", "list", "--as", "bob", "--json")
                #expect(page.count == 1 && page[0]["items"].array.count == 4 && page[0]["nextToken"].isNull)
                let one = try await network.objects("inbox", "list", "--limit", "1", "--as", "bob", "--json")
                #expect(one[0]["items"].array.count == 1 && !one[0]["nextToken"].string.isEmpty)
                var walked: [JSONLine] = []
                var token = ""
                repeat {
                    let arguments = token.isEmpty ? [] : ["--next-token", token]
                    let page = try await network.objects(
                        ["inbox", "list", "--as", "bob", "--json", "--limit", "2"] + arguments)
                    #expect(page.count == 1 && page[0]["items"].array.count <= 2)
                    walked += page[0]["items"].array
                    token = page[0]["nextToken"].string
                } while !token.isEmpty
                #expect(walked.dropFirst().map { $0["message"].string } == ["one", "two", "three"])
                let forged = try await network.parley("inbox", "list", "--as", "bob", "--next-token", "forged")
                #expect(forged.exitCode == 65, "\(forged)")

                let ids = walked.map { $0["id"].string }
                let deleted = try await network.objects("inbox", "delete", ids[0], "--as", "bob", "--json")
                #expect(deleted.first?["deleted"].array.map(\.string) == [ids[0]])
                let again = try await network.parley("inbox", "delete", ids[0], ids[1], "--as", "bob", "--json")
                #expect(again.exitCode == 65, "\(again)")
                let result = try JSONLine(again.output)
                #expect(result["deleted"].array.map(\.string) == [ids[1]])
                #expect(result["failed"].array.map { $0["id"].string } == [ids[0]])
                #expect(try await network.letters(of: "bob") == ["two", "three"])

                let many = (1...26).map { _ in ids[2] }
                let refused = try await network.run(["inbox", "delete", "--as", "bob"] + many)
                #expect(refused.exitCode == 65 && refused.diagnostics.contains("At most 25"), "\(refused)")
                #expect(try await network.letters(of: "bob") == ["two", "three"])
                // Somebody else's letter is not theirs to delete.
                let foreign = try await network.parley("inbox", "delete", ids[2], "--as", "mallory")
                #expect(foreign.exitCode != 0)
                #expect(try await network.letters(of: "bob") == ["two", "three"])
            }
        }

        @Test(
            "B51 Postboxes are made, disabled, enabled and deleted; a disabled one refuses letters and keeps its own",
            arguments: NATSServerProcess.binaries)
        func postboxes(_ binary: NATSServerBinary) async throws {
            try await PrivateNetworkFixture.run(binary) { network in
                let made = try await network.objects("postbox", "create", "work", "--as", "bob", "--json")
                #expect(made.first?.keys == ["id", "name", "sudoId", "isEnabled", "createdAt", "title"])
                #expect(made.first?["name"].string == "work" && made.first?["isEnabled"].bool == true)
                let renamed = try await network.objects(
                    "postbox", "rename", "work", "Old", "orders", "--as", "bob", "--json")
                #expect(renamed.first?["title"].string == "Old orders" && renamed.first?["name"].string == "work")
                let lines = try await network.parley("postbox", "list", "--as", "bob")
                #expect(lines.lines == ["personal  enabled", "work  enabled  Old orders"], "\(lines)")
                let taken = try await network.parley("postbox", "rename", "personal", "work", "--as", "bob")
                #expect(taken.exitCode == 65 && taken.diagnostics.contains("already has that"), "\(taken)")
                // Others go on writing to its name.
                #expect(try await network.parley("inbox", "post", "bob/work", "kept", "--as", "alice").exitCode == 0)

                let off = try await network.objects("postbox", "disable", "work", "--as", "bob", "--json")
                #expect(off.first?["isEnabled"].bool == false)
                let refused = try await network.parley("inbox", "post", "bob/work", "refused", "--as", "alice")
                #expect(refused.exitCode == 69, "\(refused)")
                #expect(refused.diagnostics.contains("bob's postbox work takes no letters now"), "\(refused)")
                #expect(try await network.letters(of: "bob").filter { !$0.hasPrefix("Welcome") } == ["kept"])
                for (address, words) in [
                    ("nobody/x", "There is no user nobody. Check the name."),
                    ("bob/play", "bob has no postbox play. Try bob/personal."),
                ] {
                    let refused = try await network.parley("inbox", "post", address, "refused", "--as", "alice")
                    #expect(refused.exitCode == 65 && refused.output.isEmpty, "\(refused)")
                    #expect(refused.diagnostics.contains(words), "\(refused)")
                }

                let on = try await network.objects("postbox", "enable", "work", "--as", "bob", "--json")
                #expect(on.first?["isEnabled"].bool == true)
                #expect(try await network.parley("inbox", "post", "bob/work", "again", "--as", "alice").exitCode == 0)
                let names = try await network.objects("postbox", "list", "--as", "bob", "--json").map {
                    $0["name"].string
                }
                #expect(Set(names) == ["personal", "work"])
                let list = try await network.objects(
                    "inbox", "list", "--postbox", "work", "--all", "--as", "bob", "--json")
                #expect(list.flatMap { $0["items"].array }.map { $0["message"].string } == ["kept", "again"])

                let mistyped = try await network.parley("inbox", "list", "--postbox", "wrok", "--as", "bob")
                #expect(mistyped.exitCode == 65 && mistyped.output.isEmpty, "\(mistyped)")
                #expect(mistyped.diagnostics.contains("no postbox “wrok”. These are: personal, work."), "\(mistyped)")

                let deleted = try await network.parley("postbox", "delete", "work", "--as", "bob")
                #expect(deleted.exitCode == 0 && deleted.output == "work  deleted  Old orders\n", "\(deleted)")
                #expect(try await network.letters(of: "bob").allSatisfy { $0.hasPrefix("Welcome") })
            }
        }

        @Test(
            "A letter is read, saved to a file of its own, and forwarded; one that is gone is none of it",
            arguments: NATSServerProcess.binaries)
        func oneLetter(_ binary: NATSServerBinary) async throws {
            try await PrivateNetworkFixture.run(binary) { network in
                #expect(try await network.parley("postbox", "list", "--as", "bob").exitCode == 0)
                let text = "first line\nsecond \u{1B}[31mline"
                #expect(try await network.parley("inbox", "post", "bob/personal", text, "--as", "alice").exitCode == 0)
                let letters = try await network.objects("inbox", "list", "--all", "--as", "bob", "--json")
                    .flatMap { $0["items"].array }
                let id = try #require(letters.last?["id"].string)
                let read = try await network.parley("inbox", "read", id, "--as", "bob")
                #expect(read.output.hasPrefix("from    alice\nto      personal\n"), "\(read)")
                #expect(read.output.contains("\n\nfirst line\nsecond ") && !read.output.contains("\u{1B}"), "\(read)")
                let whole = try await network.objects("inbox", "read", id, "--as", "bob", "--json")
                #expect(whole.first?["message"].string == text && whole.first?["from"].string == "alice")

                let file = network.folder.path("saved.txt")
                let saved = try await network.parley("inbox", "save", id, "--out", file, "--as", "bob")
                #expect(saved.exitCode == 0 && saved.output == file + "\n", "\(saved)")
                #expect(try String(contentsOfFile: file, encoding: .utf8) == text)
                let mode = try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int
                #expect(mode == 0o600)
                let again = try await network.parley("inbox", "save", id, "--out", file, "--as", "bob")
                #expect(again.exitCode == 73 && again.diagnostics.contains("it is there already"), "\(again)")

                #expect(try await network.parley("postbox", "list", "--as", "carol").exitCode == 0)
                let on = try await network.parley("inbox", "forward", id, "carol/personal", "see below", "--as", "bob")
                #expect(on.exitCode == 0, "\(on)")
                let forwarded = try #require(try await network.letters(of: "carol").last)
                #expect(forwarded.hasPrefix("see below\n\nForwarded: from alice to personal, "))
                #expect(forwarded.hasSuffix("\n\n" + text))

                #expect(try await network.parley("inbox", "delete", id, "--as", "bob").exitCode == 0)
                for gone in [id, "forged"] {
                    let missing = try await network.parley("inbox", "read", gone, "--as", "bob")
                    #expect(!missing.status.isSuccess && missing.output.isEmpty, "\(missing)")
                }
                let foreign = try await network.parley("inbox", "read", id, "--as", "mallory")
                #expect(!foreign.status.isSuccess && foreign.output.isEmpty, "\(foreign)")
            }
        }

        @Test(
            "A letter has a subject that goes on with it, and a second try under its identifier stores nothing twice",
            arguments: NATSServerProcess.binaries)
        func subjects(_ binary: NATSServerBinary) async throws {
            try await PrivateNetworkFixture.run(binary) { network in
                #expect(try await network.parley("postbox", "list", "--as", "bob").exitCode == 0)
                for isAgain in [false, true] {
                    let posted = try await network.objects(
                        "inbox", "post", "bob/personal", "it fails", "--subject", "The build", "--id", "job-7",
                        "--as", "alice", "--json")
                    #expect(posted.first?["id"].string == "job-7" && posted.first?["duplicate"].bool == isAgain)
                }
                let letters = try await network.objects("inbox", "list", "--all", "--as", "bob", "--json")
                    .flatMap { $0["items"].array }
                #expect(letters.map { $0["subject"].string } == ["", "The build"])
                let id = try #require(letters.last?["id"].string)
                let list = try await network.parley("inbox", "list", "--all", "--as", "bob")
                #expect(list.output.hasSuffix("  personal  alice: The build · it fails\n"), "\(list)")
                let read = try await network.parley("inbox", "read", id, "--as", "bob")
                #expect(read.output.contains("\nabout   The build\n\nit fails\n"), "\(read)")

                #expect(try await network.parley("postbox", "list", "--as", "carol").exitCode == 0)
                for _ in 1...2 {
                    let on = try await network.parley(
                        "inbox", "forward", id, "carol/personal", "--id", "job-8", "--as", "bob")
                    #expect(on.exitCode == 0, "\(on)")
                }
                let all = try await network.objects("inbox", "list", "--all", "--as", "carol", "--json")
                    .flatMap { $0["items"].array }
                #expect(all.map { $0["subject"].string } == ["", "Fwd: The build"])

                let nobody = try await network.parley("inbox", "post", "bob/wrok", "x", "--as", "alice")
                #expect(nobody.exitCode == 65 && nobody.diagnostics.contains("bob has no postbox wrok"), "\(nobody)")
                for refused in [["--subject", "two\nlines"], ["--id", "a b"]] {
                    let result = try await network.run(
                        ["inbox", "post", "bob/personal", "x", "--as", "alice"] + refused)
                    #expect(result.exitCode == 65, "\(result)")
                }
            }
        }

        @Test("All letters of a postbox are deleted after a question, or without one where that is said")
        func deletingAll() async throws {
            try await PrivateNetworkFixture.run { network in
                for box in ["work", "shop"] {
                    #expect(try await network.parley("postbox", "create", box, "--as", "bob").exitCode == 0)
                }
                for number in 1...30 {
                    let box = number == 30 ? "shop" : "work"
                    let sent = try await network.parley("inbox", "post", "bob/\(box)", "\(number)", "--as", "alice")
                    #expect(sent.exitCode == 0, "\(sent)")
                }
                let unasked = try await network.parley("inbox", "delete", "--all", "--as", "bob")
                #expect(
                    unasked.exitCode == 64 && unasked.diagnostics.contains("--yes deletes 31 letters"), "\(unasked)")
                let mistyped = try await network.parley(
                    "inbox", "delete", "--all", "--yes", "--postbox", "wrok", "--as", "bob")
                #expect(!mistyped.status.isSuccess && mistyped.diagnostics.contains("no postbox “wrok”"), "\(mistyped)")
                for misused in [["--all", "x"], [], ["x", "--yes"], ["x", "--postbox", "work"]] {
                    let refused = try await network.run(["inbox", "delete", "--as", "bob"] + misused)
                    #expect(refused.exitCode == 64, "\(refused)")
                }
                let asked = try network.terminal(["inbox", "delete", "--all", "--postbox", "work", "--as", "bob"])
                try await asked.waitFor(text: "Delete 29 letters? (y/n)", deadline: .seconds(60))
                try asked.type("n")
                try asked.press(.enter)
                #expect(try await asked.waitForExit(deadline: .seconds(60)) == .exited(0))
                #expect(asked.screen.contains("nothing was deleted"))
                let meant = try network.terminal(["inbox", "delete", "--all", "--postbox", "work", "--as", "bob"])
                try await meant.waitFor(text: "Delete 29 letters? (y/n)", deadline: .seconds(60))
                try meant.type("y")
                try meant.press(.enter)
                #expect(try await meant.waitForExit(deadline: .seconds(60)) == .exited(0))
                #expect(String(decoding: meant.output, as: UTF8.self).contains("29 of 29 letters"))
                #expect(try await network.letters(of: "bob").filter { !$0.hasPrefix("Welcome") } == ["30"])
                let rest = try await network.objects("inbox", "delete", "--all", "--yes", "--as", "bob", "--json")
                #expect(rest.first?["deleted"].array.count == 2)
                #expect(try await network.letters(of: "bob").isEmpty)
            }
        }

        @Test(
            "A postbox belongs to a persona, and with another one's id it is not there",
            arguments: NATSServerProcess.binaries)
        func personas(_ binary: NATSServerBinary) async throws {
            try await PrivateNetworkFixture.run(binary) { network in
                let made = try await network.objects(
                    "postbox", "create", "shop", "--sudo-id", "the-seller", "--as", "bob", "--json")
                #expect(made.first?["sudoId"].string == "the-seller")
                func names(_ arguments: String...) async throws -> [String] {
                    let list = ["postbox", "list", "--as", "bob", "--json"] + arguments
                    return try await network.objects(list).compactMap { $0["name"].string }
                }
                #expect(try await names() == ["personal", "shop"])
                #expect(try await names("--sudo-id", "the-seller") == ["shop"])
                #expect(try await names("--sudo-id", "nobody") == [])
                for box in ["personal", "shop"] {
                    let sent = try await network.parley("inbox", "post", "bob/\(box)", "to \(box)", "--as", "alice")
                    #expect(sent.exitCode == 0, "\(sent)")
                }
                let letters = try await network.objects("inbox", "list", "--all", "--as", "bob", "--json")
                    .flatMap { $0["items"].array }
                let shop = letters.filter { $0["sudoId"].string == "the-seller" }
                #expect(shop.map { $0["message"].string } == ["to shop"] && letters.count == 3)
                let theirs = try await network.objects(
                    "inbox", "list", "--all", "--sudo-id", "the-seller", "--as", "bob", "--json")
                #expect(theirs.flatMap { $0["items"].array }.map { $0["message"].string } == ["to shop"])
                let nobody = try await network.parley("inbox", "list", "--sudo-id", "nobody", "--as", "bob")
                #expect(nobody.exitCode == 65 && nobody.output.isEmpty, "\(nobody)")

                let watch = try network.start(
                    "inbox", "watch", "--sudo-id", "the-seller", "--as", "bob", "--count", "1", "--json")
                var event = ""
                while event != "connected" { event = try JSONLine(try await watch.nextLine())["status"].string }
                for box in ["personal", "shop"] {
                    let sent = try await network.parley("inbox", "post", "bob/\(box)", "again", "--as", "alice")
                    #expect(sent.exitCode == 0, "\(sent)")
                }
                #expect(try JSONLine(try await watch.nextLine())["postboxId"].string == "shop")
                #expect(try await watch.waitForExit().exitCode == 0)

                for act in ["disable", "enable", "delete"] {
                    let other = try await network.parley("postbox", act, "shop", "--sudo-id", "nobody", "--as", "bob")
                    #expect(!other.status.isSuccess && other.diagnostics.contains("The postbox shop"), "\(other)")
                    let own = try await network.parley("postbox", act, "shop", "--sudo-id", "the-seller", "--as", "bob")
                    #expect(own.exitCode == 0, "\(own)")
                }
                let empty = try await network.parley("postbox", "create", "x", "--sudo-id", "", "--as", "bob")
                #expect(!empty.status.isSuccess && empty.diagnostics.contains("1 to 128 bytes"), "\(empty)")
            }
        }

        @Test("A reader that has gone away ends a command without a word, as it ends every filter")
        func goneReader() async throws {
            try await PrivateNetworkFixture.run { network in
                // Far more than a pipe takes.
                let lines = String(repeating: String(repeating: "x", count: 1_000) + "\n", count: 2_000)
                let sent = try await network.parley("send", "chat.lobby", "--lines", "--as", "alice", input: lines)
                #expect(sent.exitCode == 0, "\(sent)")
                for command in ["tail chat.lobby --since all", "history chat.lobby --start all --limit 2000"] {
                    let script = "{ \"$0\" \(command) --as bob; echo \"status $?\" >&2; } | head -n 1"
                    let result = try await ChildProcess.run(
                        "/bin/sh", ["-c", script, try BuiltProduct.url("parley").path],
                        environment: network.environment)
                    #expect(result.exitCode == 0 && result.lines.count == 1, "\(result)")
                    // 128 and the number of SIGPIPE, as a shell says it.
                    #expect(result.diagnostics == "status 141\n", "\(result.diagnostics)")
                }
            }
        }

        @Test("The network is started, described and stopped as a service", arguments: NATSServerProcess.binaries)
        func service(_ binary: NATSServerBinary) async throws {
            try await PrivateNetworkFixture.run(binary) { network in
                let before = try await network.objects("network", "status", "--json")
                #expect(before.first?["running"].bool == false && before.first?["server"].isNull == true)
                let started = try await network.objects("network", "start", "--json")
                #expect(started.first?.keys == ["running", "server", "listens", "version", "store", "clients"])
                #expect(started.first?["running"].bool == true)
                #expect(started.first?["server"].string.hasPrefix("nats://127.0.0.1:") == true)
                let description = try #require(network.description)
                #expect(started.first?["version"].string == description.serverVersion)

                let tail = try network.start("tail", "chat.lobby", "--as", "alice")
                try await eventually("one client") { try await network.clientCount() == 1 }
                let used = try await network.parley("network", "stop")
                #expect(used.exitCode == 75 && used.diagnostics.contains("still use the network"), "\(used)")
                let described = try await network.parley("network", "stop", "--json")
                #expect(try described.exitCode == 75 && JSONLine(described.output)["running"].bool == true)
                #expect(PrivateNetworkFixture.isRunning(description.serverPid))
                tail.signal(SIGTERM)
                try await tail.waitForExit()

                let stopped = try await network.objects("network", "stop", "--json")
                #expect(stopped.first?["running"].bool == false)
                #expect(!PrivateNetworkFixture.isRunning(description.serverPid))
                // The host's last act is to give its lock back, for which the command waits.
                try await eventually("the end of the host") { !PrivateNetworkFixture.isRunning(description.hostPid) }
            }
        }

        @Test("The network does not listen beyond this machine without TLS, and starts nothing then")
        func listening() async throws {
            try await PrivateNetworkFixture.run { network in
                for (arguments, code) in [
                    (["--listen", "0.0.0.0:4222"], 64), (["--listen", "chat.example.org"], 64),
                    (["--tls-cert", "a.pem"], 64), (["--listen", "0.0.0.0", "--tls-cert", "a.pem"], 64),
                    (["--listen", "0.0.0.0", "--tls-cert", "a.pem", "--tls-key", "a.key"], 78),
                ] as [([String], Int32)] {
                    let refused = try await network.run(["network", "start"] + arguments)
                    #expect(refused.exitCode == code && refused.output.isEmpty, "\(refused)")
                }
                #expect(network.description == nil)
            }
        }

        @Test("Many first visitors at once share one network, and its end is the end")
        func manyFirstVisitors() async throws {
            try await PrivateNetworkFixture.run { network in
                for round in 1...3 {
                    try await withThrowingTaskGroup(of: Int32?.self) { group in
                        for user in ["ann", "ben", "cat", "dan"] {
                            group.addTask { try await network.parley("postbox", "list", "--as", user).exitCode }
                        }
                        for try await code in group { #expect(code == 0) }
                    }
                    let stopped = try await network.objects("network", "stop", "--force", "--json")
                    #expect(stopped.first?["running"].bool == false)
                    let log = try String(
                        contentsOfFile: network.folder.path("data/parley/local/host.log"), encoding: .utf8)
                    #expect(log.split(separator: "\n").count { $0.contains("host started") } == round, "\(log)")
                    #expect(network.description == nil)
                }
            }
        }

        @Test(
            "B4 A user's credentials file is for its owner alone, works with --server, and is refused when others can read it"
        )
        func users() async throws {
            try await PrivateNetworkFixture.run { network in
                _ = try await network.objects("network", "start", "--json")
                let server = try #require(network.description).url
                let file = network.folder.path("dora.creds")
                let made = try await network.objects(
                    "network", "user", "add", "dora", "--expires", "1h", "--out", file, "--json")
                #expect(made.first?.keys == ["user", "publicKey", "creds", "expires"])
                #expect(made.first?["creds"].string == file && made.first?["publicKey"].string.hasPrefix("U") == true)
                let attributes = try FileManager.default.attributesOfItem(atPath: file)
                #expect(attributes[.posixPermissions] as? Int == 0o600)

                let sent = try await network.objects(
                    "send", "chat.lobby", "by file", "--server", server, "--creds", file, "--json")
                #expect(sent.first?["seq"].int == 1)

                try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: file)
                let refused = try await network.parley(
                    "send", "chat.lobby", "by file", "--server", server, "--creds", file)
                #expect(refused.exitCode == 78, "\(refused)")
                #expect(refused.diagnostics.contains("chmod 600 ") && refused.diagnostics.contains(file), "\(refused)")
                let seed = try String(contentsOfFile: file, encoding: .utf8).split(separator: "\n").first {
                    $0.hasPrefix("SU")
                }
                #expect(!refused.diagnostics.contains(try #require(seed)))
                #expect(try await network.texts(on: "chat.lobby") == ["by file"])
            }
        }

        @Test("What is wrong is said in a sentence, with its exit status")
        func failures() async throws {
            let network = try PrivateNetworkFixture(NATSServerProcess.anyBinary)
            let usage = [
                ["send"], ["nonsense", "--no-such-flag"], ["tail"], ["tail", "chat.lobby", "--count", "0"],
                ["tail", "chat.lobby", "--since", "yesterday"],
                ["tail", "chat.lobby", "--last", "0"], ["tail", "chat.lobby", "--last", "1", "--since", "all"],
                ["send", "chat.lobby", "x", "--timeout", "0"],
                ["send", "chat.lobby", "x", "--lines"], ["chat", "--suspend-after", "-1"],
                ["history", "chat.lobby"], ["history", "chat.lobby", "--start", "all", "--limit", "0"],
                ["history", "chat.lobby", "--start", "all", "--limit", "10001"], ["inbox", "list", "--limit", "0"],
                ["inbox", "list", "--limit", "101"], ["search", "x", "--limit", "1001"],
                ["send", "chat.lobby", "x", "--server", "http://127.0.0.1:1"], ["inbox", "watch", "--count", "0"],
                ["send", "chat.lobby", "x", "--as", "a", "--server", "nats://127.0.0.1:1"],
                ["send", "chat.lobby", "x", "--creds", "/nonexistent"],
                ["network", "user", "add", "x", "--expires", "soon"], ["watch", "--for", "soon"],
                ["nonsense", "--help"], ["watch", "--connect-timeout", "0"], ["tail", "a", "--connect-timeout", "x"],
                ["--as", "alice", "nonsense", "-h"], ["watch", "--for", "-1"],
                ["chta"], ["lits", "--as", "alice"], ["--as", "alice", "sned", "chat.lobby", "x"],
            ]
            for arguments in usage {
                let result = try await network.run(arguments)
                #expect(result.exitCode == 64, "\(arguments): \(result)")
                #expect(result.output.isEmpty && !result.diagnostics.isEmpty, "\(arguments): \(result)")
            }
            let data = [
                ["send", "chat..lobby", "x"], ["send", "chat.*", "x"], ["tail", "chat.>.x"],
                ["chat", "a..b"], ["a..b"], ["history", "chat..a", "--start", "all"], ["store", "export", "a..b"],
                ["search", "x", "--in", "a..b"], ["inbox", "post", "nobody", "x"],
                ["network", "user", "add", "no spaces"],
            ]
            for arguments in data {
                let result = try await network.run(arguments)
                #expect(result.exitCode == 65, "\(arguments): \(result)")
                #expect(result.diagnostics.hasPrefix("parley: "), "\(arguments): \(result)")
            }
            // Words that other programs have for it are answered, and join no topic.
            for arguments in [["man"], ["manual", "send"], ["usage"], ["commands"], ["version"], ["help"]] {
                let answer = try await network.run(arguments)
                #expect(answer.exitCode == 0 && !answer.output.isEmpty && answer.diagnostics.isEmpty, "\(arguments)")
            }
            let nothing = try await network.parley("watch", "--server", "nats://127.0.0.1:1", "--for", "1")
            #expect(nothing.exitCode == 69 && nothing.diagnostics.hasPrefix("parley: "), "\(nothing)")
            let missing = try await network.parley(
                "send", "chat.lobby", "x", "--as", "alice", environment: ["PARLEY_NATS_SERVER": "/nonexistent"])
            #expect(missing.exitCode == 78, "\(missing)")
            #expect(missing.diagnostics.contains("/nonexistent"), "\(missing)")
            let silent = try SilentPort()
            let unreachable = try await network.parley(
                "send", "chat.lobby", "x", "--server", silent.url, "--timeout", "1")
            #expect(unreachable.exitCode == 69, "\(unreachable)")
            let noFile = try await network.parley(
                "send", "chat.lobby", "x", "--server", "nats://127.0.0.1:1", "--creds", "/nonexistent")
            #expect(noFile.exitCode == 78, "\(noFile)")
            #expect(noFile.diagnostics.hasSuffix("at /nonexistent.\n"), "\(noFile)")
            let unknown = try await network.parley("nonsense", "--help")
            #expect(unknown.diagnostics.contains("“nonsense”"), "\(unknown)")
            let topic = try await network.parley("chat.lobby", "--help")
            #expect(topic.exitCode == 0 && topic.output.contains("--suspend-after"), "\(topic)")
            #expect(network.description == nil)
        }

        @Test("Help and version go to standard output", arguments: [["--help"], ["--version"], ["inbox", "--help"]])
        func help(_ arguments: [String]) async throws {
            let network = try PrivateNetworkFixture(NATSServerProcess.anyBinary)
            let result = try await network.run(arguments)
            #expect(result.exitCode == 0 && !result.output.isEmpty && result.diagnostics.isEmpty)
        }

        @Test("Without a terminal the interactive client says so and starts nothing")
        func noTerminal() async throws {
            let network = try PrivateNetworkFixture(NATSServerProcess.anyBinary)
            let result = try await network.parley("--as", "alice")
            #expect(result.exitCode == 78 && result.output.isEmpty, "\(result)")
            #expect(result.diagnostics.contains("terminal"), "\(result)")
            #expect(result.diagnostics.contains("parley --plain needs none."), "\(result)")
            #expect(network.description == nil)
        }

        @Test("B4 Credentials as people paste them: a file with a byte order mark, keys with blanks around them")
        func pasted() async throws {
            try await PrivateNetworkFixture.run { network in
                let server = try await network.started()
                let file = network.folder.path("a.creds")
                _ = try await network.objects("network", "user", "add", "alice", "--out", file, "--json")
                let text = try String(contentsOfFile: file, encoding: .utf8)
                let marked = try network.folder.write("\u{FEFF}" + text, to: "b.creds", permissions: 0o600)
                let sent = try await network.run(["send", "chat.a", "x", "--server", server, "--creds", marked])
                #expect(sent.exitCode == 0, "\(sent)")
                let lines = text.split(separator: "\n")
                let parts = lines.filter { !$0.isEmpty && !$0.hasPrefix("-") && !$0.contains(" ") }
                let keys = try await network.run(
                    ["send", "chat.a", "y", "--server", server],
                    environment: ["PARLEY_API_KEY": "\t\(parts[0]) ", "PARLEY_SECRET": " \(parts[1])\r\n"])
                #expect(keys.exitCode == 0, "\(keys)")
            }
        }
    }
}

@Suite("End to end, the last one out", .realProcesses)
struct EndToEndIdleTests {
    @Test("The last one out leaves no process behind")
    func lastOneOut() async throws {
        try await PrivateNetworkFixture.run { network in
            let alice = try await network.connected("alice")
            let bob = try await network.connected("bob")
            let description = try #require(network.description)
            try alice.press(.ctrl("q"))
            #expect(try await alice.waitForExit() == .exited(0))
            // However the last one ends, its share of the network ends with it.
            bob.signal(SIGKILL)
            #expect(try await bob.waitForExit() == .signalled(SIGKILL))
            try await eventually("the end of server and host", deadline: .seconds(120)) {
                !PrivateNetworkFixture.isRunning(description.serverPid)
                    && !PrivateNetworkFixture.isRunning(description.hostPid)
            }
            #expect(network.description == nil)
            // The next visit finds what was there.
            let carol = try await network.connected("carol")
            let next = try #require(network.description)
            #expect(next.hostPid != description.hostPid && next.serverPid != description.serverPid)
            carol.close()
        }
    }
}
