import Relay
import Testing

@testable import Parley

@Suite("Inbox commands: options, subjects and pages")
struct InboxCommandTests {
    private static func postbox(_ name: String, of persona: String) -> Postbox {
        Postbox(id: name, name: name, sudoId: persona, isEnabled: true, createdAt: Desk.wall)
    }

    private static let known = [
        postbox("personal", of: "own"), postbox("shop", of: "seller"), postbox("stall", of: "seller"),
        postbox("diary", of: "writer"),
    ]

    private static func letter(_ sequence: UInt64, in box: String, subject: String? = nil) -> PostboxMessage {
        PostboxMessage(
            id: PostboxMessageID(incarnation: 7, sequence: sequence).text, createdAt: Desk.wall, updatedAt: Desk.wall,
            ownerId: "alice", sudoId: "own", postboxId: box, message: "letter \(sequence)", from: "bob",
            subject: subject)
    }

    @Test("A letter is posted with a subject and an identifier, and saved to the file that --out names")
    func options() throws {
        let post = try InboxPostCommand.parse(["bob/work", "text", "--subject", "The build", "--id", "job-7", "--json"])
        #expect(post.subject == "The build" && post.sending.newID == "job-7" && post.sending.json)
        #expect(post.address == "bob/work" && post.text == "text")
        let save = try InboxSaveCommand.parse(["abc", "--out", "x.txt"])
        #expect(save.id == "abc" && save.out == "x.txt")
        #expect(try InboxSaveCommand.parse(["abc"]).out == nil)
        let forward = try InboxForwardCommand.parse(["abc", "bob/work", "above", "--id", "job-8"])
        #expect(forward.id == "abc" && forward.sending.newID == "job-8" && forward.text == "above")
        #expect(try InboxListCommand.parse(["--sudo-id", "seller", "--postbox", "shop"]).part.sudoId == "seller")
        #expect(try InboxWatchCommand.parse(["--sudo-id", "seller"]).sudoId == "seller")
    }

    @Test(
        "What is no use of these commands is refused as such",
        arguments: [
            ["inbox", "save", "abc", "x.txt"], ["inbox", "save"], ["inbox", "post"], ["inbox", "forward", "abc"],
            ["inbox", "delete"], ["inbox", "delete", "--all", "x"], ["inbox", "delete", "x", "--yes"],
            ["inbox", "delete", "x", "--postbox", "work"], ["inbox", "delete", "x", "--sudo-id", "seller"],
            ["inbox", "list", "--limit", "0"], ["inbox", "list", "--limit", "101"], ["inbox", "read"],
            ["inbox", "watch", "--count", "0"], ["postbox", "create"], ["postbox", "enable"], ["postbox", "delete"],
        ])
    func misuse(_ words: [String]) {
        let error = #expect(throws: (any Error).self) { try ParleyCommand.parseAsRoot(words) }
        #expect(error.map { ParleyCommand.exitCode(for: $0).rawValue } == CommandStatus.usage.rawValue)
    }

    @Test(
        "An identifier that can be none is bad data",
        arguments: ["", "a b", "a\nb", "é", String(repeating: "x", count: 129)])
    func identifiers(_ id: String) throws {
        let sending = try LetterSending.parse(["--id", id])
        #expect(throws: CommandFailure.self) { try sending.check() }
        try LetterSending.parse(["--id", "job-7.1"]).check()
        try LetterSending.parse([]).check()
    }

    @Test("An address of nobody is bad data, and a postbox that is disabled is to be tried again")
    func exitStatus() {
        func code(_ state: RecipientReply.State?) -> CommandStatus {
            CommandFailure(.postboxNotAccepting("bob/work", because: state)).code
        }
        #expect(code(.unknownUser) == 65 && code(.unknownPostbox) == 65)
        #expect(code(.disabled) == 69 && code(.full) == 69 && code(nil) == 69)
    }

    @Test("Scripts read letters and postboxes by these keys")
    func keys() {
        let letter = Self.letter(1, in: "work").json.entries.compactMap(\.key.stringValue)
        #expect(
            letter == [
                "id", "createdAt", "updatedAt", "ownerId", "sudoId", "postboxId", "from", "message", "subject",
            ])
        let postbox = Self.known[0].json.entries.compactMap(\.key.stringValue)
        #expect(postbox == ["id", "name", "sudoId", "isEnabled", "createdAt", "title"])
        let deletion = DeletionReport(BulkDeletion()) { CommandFailure($0) }.json
        #expect(deletion.entries.compactMap(\.key.stringValue) == ["deleted", "failed"])
    }

    @Test("B50 a deletion names letters that are not there, and tells each other reason once with its number")
    func deletionReport() {
        let lost = RelayError.timeout("deleting a letter")
        var deletion = BulkDeletion(deleted: ["a"], failed: [.init(id: "b", error: .notFound("b"))])
        func report() -> DeletionReport { DeletionReport(deletion) { CommandFailure($0) } }
        #expect(report().complaints.map(\.text) == ["b does not exist, or was deleted."])
        #expect(report().complaints.last?.code == 65 && deletion.gone == ["a", "b"])
        deletion.failed += (1...2_000).map { .init(id: "f\($0)", error: .notConnected) }
        deletion.failed.append(.init(id: "c", error: .cancelled))
        deletion.unknown = [.init(id: "u", error: lost)]
        #expect(
            report().complaints.map(\.text) == [
                "b does not exist, or was deleted.",
                "2,000 letters were not deleted. There is no connection. Connect first.",
                "1 letter was not deleted.",
                "Of 1 letter it is not known whether it is gone. deleting a letter was not answered in time. It is safe "
                    + "to try again.",
            ])
        #expect(report().complaints.map(\.code) == [65, 69, 130, 75])
        // Scripts read each letter's reason.
        let json = report().json
        #expect(json["deleted"] == .array([.string("a")]))
        #expect(json["failed"]?.arrayValue?.count == 2_003)
        #expect(report().json["failed"]?.arrayValue?.last?["id"] == .string("u"))
        #expect(DeletionReport(BulkDeletion(deleted: ["a"])) { CommandFailure($0) }.complaints.isEmpty)
    }

    @Test("B49 B50 all letters of a page that are meant are deleted, those that cannot be read, too")
    func deletingAll() {
        let unreadable = UnreadableLetter(id: "x", createdAt: Desk.wall, postboxId: "shop", from: "bob", bytes: 3)
        let letters = [Self.letter(1, in: "shop"), Self.letter(2, in: "diary")]
        let page = ListOutput(items: letters, nextToken: nil, unreadable: [unreadable])
        #expect(InboxSelection.all.ids(in: page) == letters.map(\.id) + ["x"])
        #expect(InboxSelection.postboxes(["shop", "stall"]).ids(in: page) == [letters[0].id, "x"])
        #expect(InboxSelection.postboxes(["diary"]).ids(in: page) == [letters[1].id])
        #expect(InboxSelection.postboxes(["diary"]).onlyPostbox == "diary" && InboxSelection.all.onlyPostbox == nil)
        #expect(InboxSelection.postboxes(["shop", "stall"]).onlyPostbox == nil)
    }

    @Test("B51 letters are chosen by postbox and persona, and what is not there is not taken for empty")
    func selection() throws {
        func selection(_ postbox: String?, _ persona: String?) throws -> InboxSelection {
            try InboxSelection(postbox: postbox, persona: persona, among: Self.known)
        }
        #expect(try selection(nil, nil) == .all)
        #expect(try selection("shop", nil) == .postboxes(["shop"]))
        #expect(try selection(nil, "seller") == .postboxes(["shop", "stall"]))
        #expect(try selection(nil, "writer") == .postboxes(["diary"]))
        #expect(try selection("shop", "seller") == .postboxes(["shop"]))
        let foreign = #expect(throws: CommandFailure.self) { try selection("personal", "seller") }
        #expect(foreign?.code == 65 && foreign?.text == "There is no postbox “personal”. These are: shop, stall.")
        let nobody = #expect(throws: CommandFailure.self) { try selection(nil, "nobody") }
        #expect(nobody?.code == 65 && nobody?.text.hasPrefix("No postbox belongs to the persona “nobody”.") == true)
    }

    @Test("B51 a letter that is the owner's for want of the network's word belongs to whom its kept postbox does")
    func belonging() throws {
        let selection = try InboxSelection(postbox: nil, persona: "seller", among: Self.known)
        func persona(_ told: String, in box: String, asked: String? = "seller") -> String {
            var letter = Self.letter(1, in: box)
            letter.sudoId = told
            return letter.belonging(to: asked, by: selection).sudoId
        }
        #expect(persona("alice", in: "shop") == "seller" && persona("alice", in: "stall") == "seller")
        #expect(persona("alice", in: "diary") == "alice" && persona("alice", in: "shop", asked: nil) == "alice")
        // What the network says counts.
        #expect(persona("writer", in: "shop") == "writer")
    }

    @Test("B45 a persona's letters come each on one page, and there is a token just while there are more")
    func pages() {
        let boxes = ["shop", "other", "other", "stall", "other", "shop", "other"]
        let all = boxes.enumerated().map { Self.letter(UInt64($0.offset + 1), in: $0.element) }
        /// The whole list, in pages of two.
        func listed(from token: String?) -> ListOutput<PostboxMessage> {
            let start = token.flatMap { try? PageToken($0).sequence } ?? 1
            let rest = all.filter { PostboxMessageID($0.id).map { $0.sequence >= start } ?? false }
            let next = rest.count > 2 ? PageToken(incarnation: 7, sequence: start + 2).text : nil
            return ListOutput(items: Array(rest.prefix(2)), nextToken: next)
        }
        for limit in 1...4 {
            var (token, seen, pages) = (String?.none, [String](), 0)
            repeat {
                var page = InboxPage(limit: limit) { $0.postboxId != "other" }
                repeat { token = page.take(listed(from: token)) } while token != nil
                #expect(page.output.items.count == min(limit, 3 - seen.count))
                seen += page.output.items.map(\.message)
                token = page.output.nextToken
                pages += 1
            } while token != nil
            #expect(seen == ["letter 1", "letter 4", "letter 6"] && pages == (3 + limit - 1) / limit)
        }
    }

    @Test("B45 a persona's letters that cannot be read belong to the page on which they stand")
    func unreadablePages() {
        func unreadable(_ sequence: UInt64, in box: String) -> UnreadableLetter {
            UnreadableLetter(
                id: PostboxMessageID(incarnation: 7, sequence: sequence).text, createdAt: Desk.wall, postboxId: box,
                from: "bob", bytes: 3)
        }
        let (second, third) = (unreadable(2, in: "shop"), unreadable(3, in: "other"))
        let last = unreadable(5, in: "stall")
        let letters = [Self.letter(1, in: "shop"), Self.letter(4, in: "stall")]
        let list = ListOutput(items: letters, nextToken: nil, unreadable: [second, third, last])
        for (limit, expected) in [(1, [second]), (2, [second, last])] {
            var page = InboxPage(limit: limit) { $0.postboxId != "other" }
            #expect(page.take(list) == nil)
            #expect(page.output.items.count == limit && page.output.unreadable == expected)
        }
    }

    @Test("A subject stands in what scripts read, before the text for people, and moves no cursor")
    func subjects() {
        let letter = Self.letter(1, in: "work", subject: "The\u{1B}[2J build")
        #expect(letter.json["subject"] == .string("The\u{1B}[2J build"))
        #expect(letter.line.contains(" build · letter 1") && !letter.line.contains("\u{1B}"))
        #expect(letter.heading.last?.hasPrefix("about   The") == true)
        #expect(!letter.heading.joined().contains("\u{1B}"))
        let plain = Self.letter(2, in: "work")
        #expect(plain.json["subject"] == .null && plain.line.hasSuffix("work  bob: letter 2"))
        #expect(plain.heading.count == 3)
    }

    @Test(
        "A letter that is sent on keeps the subject, marked once",
        arguments: [
            ("The build", "Fwd: The build"), ("Re: The build", "Fwd: Re: The build"), ("fwd: x", "fwd: x"),
            ("two\nlines", "Fwd: twolines"),
        ])
    func marks(_ subject: String, _ forward: String) {
        #expect(LetterSubject.forwarding(subject) == forward)
    }

    @Test("A subject that grows too long by its mark loses its end")
    func longSubject() {
        let subject = LetterSubject.forwarding(String(repeating: "é", count: 128))
        let most = PostboxLetter.maximumSubjectBytes
        #expect(subject.hasPrefix("Fwd: é") && (most - 1...most).contains(subject.utf8.count))
    }
}
