import Relay
import Terminal
import Testing

@testable import Parley

@Suite("Postboxes and sent letters")
struct PostboxesTests {
    private static let boxes = [postbox("personal", "personal"), postbox("work", "work", isEnabled: false)]

    private func desk(state: ConnectionStatus.State = .connected) -> Desk {
        var desk = Desk.joined("chat.lobby", state: state)
        desk.send(.postbox(.boxes(Self.boxes)))
        desk.send(.postbox(.counts(["personal": 2, "work": 1_200])))
        desk.effects = []
        return desk
    }

    private static func sent(
        _ number: Int, _ text: String, to person: String = "bob", subject: String? = nil
    ) -> KeptLetter {
        let time = Timestamp(milliseconds: Desk.wall.milliseconds + Int64(number) * 60_000)
        return KeptLetter(
            direction: .sent, id: "s\(number)", person: person, postbox: "personal", time: time, text: text,
            subject: subject)
    }

    @Test("A letter in a postbox that is not known has the postboxes asked for; one in a known postbox does not")
    func unknownBox() {
        var desk = desk()
        let known = desk.send(.postbox(.created(letter(1, box: "personal"))))
        #expect(!known.core.contains(.letters(.askForBoxes)))
        let unknown = desk.send(.postbox(.created(letter(2, box: "new"))))
        #expect(unknown.core.contains(.letters(.askForBoxes)))
    }

    // MARK: Commands

    @Test(
        "A command says what is wanted of a postbox",
        arguments: [
            ("/postbox", PostboxAct.list), ("/postbox list", .list),
            ("/postbox create work", .create("work", persona: nil)),
            ("/postbox  create  work for  the-seller ", .create("work", persona: "the-seller")),
            ("/postbox create \"work\" for \"my shop\"", .create("work", persona: "my shop")),
            ("/postbox rename \"work\" \"My  old orders\"", .rename("work", title: "My  old orders")),
            ("/postbox rename work Bob's 5\" disks", .rename("work", title: "Bob's 5\" disks")),
            ("/postbox rename work  My  old orders ", .rename("work", title: "My old orders")),
            ("/postbox ENABLE work", .enable("work")), ("/postbox disable work", .disable("work")),
            ("/postbox delete work", .delete("work")),
        ])
    func commands(_ text: String, _ act: PostboxAct) throws {
        #expect(try SlashCommand.parse(text) == .postbox(act))
    }

    @Test(
        "What cannot be meant is told how it is written or what there is, before the network is asked, and its text stays",
        arguments: [
            ("create", "Write it as /"), ("enable", "Write it as /"), ("delete a b", "Write it as /"),
            ("create a b c", "Write it as /"), ("create bad name!", "Write it as /"), ("create a for", "Write it as /"),
            ("make work", "Write it as /"), ("rename", "Write it as /"), ("rename work", "Write it as /"),
            ("create bad!", "A postbox's name has 1 to 64 letters, digits, _ and -"),
            ("create \"my shop\"", "A postbox's name has 1 to 64 letters, digits, _ and -"),
            ("create \"shop", "A quotation mark is not closed."),
            ("disable wrok", "There is no postbox wrok. These are: personal, work."),
        ])
    func mistakes(_ text: String, _ words: String) {
        var desk = desk()
        #expect(desk.enter("/postbox \(text)") == [] && desk.text == "/postbox \(text)")
        #expect(desk.bottom.contains(words))
    }

    @Test("Tab completes what can be done, and the names of postboxes")
    func completion() {
        func completed(_ text: String) -> String? {
            CommandCompletion.of(text, topics: [], postboxes: ["personal", "work", "world"])?.text
        }
        #expect(completed("/post") == "/post" && completed("/postb") == "/postbox ")
        #expect(completed("/postbox cr") == "/postbox create ")
        #expect(completed("/postbox delete w") == "/postbox delete wor")
        #expect(completed("/postbox enable p") == "/postbox enable personal")
        #expect(completed("/postbox r") == "/postbox rename ")
        #expect(completed("/postbox rename p") == "/postbox rename personal")
        #expect(completed("/postbox create w") == nil && completed("/postbox delete work ") == nil)
        #expect(CommandCompletion.of("/postbox d", topics: [])?.choices == ["disable ", "delete "])
    }

    // MARK: Postboxes

    @Test("The postboxes are listed at once, with their letters and which are off, and again as the network says")
    func list() {
        var desk = desk()
        #expect(desk.enter("/postbox") == [.letters(.postboxes(.list))])
        var screen = desk.screen()
        #expect(screen.contains { $0.contains("Your postboxes") })
        #expect(screen.contains { $0.contains("personal") && $0.contains("2 letters, 2 unread") })
        #expect(screen.contains { $0.contains("work") && $0.contains("off, 1,200 letters, 1,200 unread") })
        #expect(!screen.contains { $0.contains("persona s1") })
        let shop = Postbox(id: "shop", name: "shop", sudoId: "the-seller", isEnabled: true, createdAt: Desk.wall)
        desk.send(.postboxes(.listed(Self.boxes + [shop])))
        screen = desk.screen()
        #expect(screen.contains { $0.contains("shop") && $0.contains("persona the-seller") })
        #expect(screen.contains { $0.contains("personal") && $0.contains("persona s1") })
        #expect(desk.model.network.outbox.awaitedAnswers == 0)
    }

    @Test("A list that was asked for before the network has told the postboxes opens, whichever news come first")
    func early() {
        for isStartFirst in [true, false] {
            var desk = Desk.joined("chat.lobby")
            #expect(desk.enter("/postbox") == [.letters(.postboxes(.list))])
            #expect(desk.bottom.contains("One moment: the network is asked."))
            if isStartFirst { desk.send(.postbox(.boxes(Self.boxes))) }
            desk.send(.postboxes(.listed(Self.boxes)))
            #expect(desk.shows("Your postboxes"), "start first: \(isStartFirst)")
            desk.press(.escape)
            // It was awaited once.
            desk.send(.postboxes(.listed(Self.boxes)))
            #expect(desk.overlay == nil)
        }
        var desk = Desk.joined("chat.lobby")
        desk.enter("/postbox")
        desk.send(.postboxes(.listed([])))
        #expect(desk.bottom.contains("You have no postbox."))
    }

    // MARK: As they were

    /// As told the day before.
    private static let kept = KeptPostboxes(
        items: boxes, asOf: Timestamp(milliseconds: Desk.wall.milliseconds - 86_400_000))
    private static let keptTitle = "Your postboxes, as of 20 Nov 10:00"

    @Test("What is kept of the postboxes is there at once, and says how old it is until the network has told them")
    func keptList() {
        var desk = Desk.joined("chat.lobby", state: .connecting)
        desk.send(.postbox(.keptBoxes(Self.kept, counts: ["personal": 2])))
        #expect(desk.shows("personal"))
        #expect(desk.inbox.unreadCount == 2)
        #expect(desk.enter("/postbox") == [])
        #expect(desk.shows(Self.keptTitle))
        #expect(desk.screen().contains { $0.contains("personal") && $0.contains("2 letters, 2 unread") })

        desk.becomes(.connected)
        desk.send(.postbox(.boxes(Self.boxes)))
        #expect(!desk.shows("as of"), "an open list is put right")

        desk = Desk.joined("chat.lobby")
        desk.send(.postbox(.keptBoxes(Self.kept, counts: [:])))
        #expect(desk.enter("/postbox") == [.letters(.postboxes(.list))])
        #expect(desk.shows(Self.keptTitle))
        desk.send(.postboxes(.listed([Self.boxes[0]])))
        let screen = desk.screen()
        #expect(screen.contains { $0.contains("Your postboxes") } && !screen.contains { $0.contains("as of") })
        #expect(desk.inbox.boxes == [Self.boxes[0]])
    }

    @Test("B9 letters are counted and listed offline where the network has never told a postbox or listed a letter")
    func neverListed() {
        var desk = Desk.joined("chat.lobby", state: .connecting)
        desk.send(.postbox(.keptBoxes(nil, counts: ["personal": 2])))
        #expect(desk.inbox.unreadCount == 2 && desk.screen()[0].contains("✉ 2"))
        desk.press(.function(3))
        let request = desk.inbox.fetch?.request ?? 0
        let letters = KeptLetters(page: ListOutput(items: [letter(2), letter(1)], nextToken: nil), asOf: nil)
        desk.send(.postbox(.keptPage(request: request, letters)))
        #expect(desk.shows("offline, as of 21 Nov 10:0"), "\(desk.screen())")
    }

    @Test("What is kept comes after what the network has told, and then counts for nothing")
    func lateKeptList() {
        var desk = Desk.joined("chat.lobby")
        desk.send(.postbox(.boxes([Self.boxes[0]])))
        desk.send(.postbox(.counts(["personal": 5])))
        desk.send(.postbox(.keptBoxes(Self.kept, counts: ["personal": 2, "work": 1])))
        #expect(desk.inbox.boxes == [Self.boxes[0]] && desk.inbox.counts == ["personal": 5])
        desk.enter("/postbox")
        #expect(!desk.shows("as of"))
    }

    @Test("Where the network does not answer, the list says as of when it is, and another postbox may be meant")
    func unanswered() {
        var desk = desk()
        desk.wait(.seconds(3_600))
        desk.enter("/postbox")
        #expect(!desk.shows("as of"))
        desk.send(.postboxes(.failed(.list, .timeout("The postbox service"))))
        #expect(desk.shows("Your postboxes, as of 21 Nov 10:00"))
        desk.press(.escape)
        // One that another device has made since then.
        #expect(desk.enter("/postbox disable shop") == [.letters(.postboxes(.disable("shop")))])
        desk.send(.postbox(.boxes(Self.boxes)))
        #expect(desk.enter("/postbox disable shop") == [])
        #expect(desk.bottom.contains("There is no postbox shop."))
    }

    @Test("Without a screen the list waits for the network, and what is known is said where that does not answer")
    func spokenList() {
        func started() -> PlainDesk {
            var desk = Desk.joined("chat.lobby")
            desk.send(.postbox(.keptBoxes(Self.kept, counts: [:])))
            return PlainDesk(desk)
        }
        var plain = started()
        let first = plain.enter("/postbox").lines
        #expect(first == ["One moment: the network is asked."])
        #expect(plain.send(.postboxes(.listed(Self.boxes))).first == "Your postboxes:")

        plain = started()
        _ = plain.enter("/postbox")
        let second = plain.send(.postboxes(.failed(.list, .timeout("The postbox service"))))
        #expect(second.contains("\(Self.keptTitle):") && second.contains { $0.hasPrefix("personal") })
    }

    @Test("Whoever has gone on to write is not interrupted by a list, of postboxes or of sent letters")
    func late() {
        var desk = desk()
        desk.enter("/postbox")
        desk.press(.escape)
        desk.send(.postboxes(.listed(Self.boxes)))
        #expect(desk.overlay == nil)
        desk.enter("/sent")
        desk.enter("/topics")
        desk.send(.postboxes(.sent([Self.sent(1, "late")])))
        #expect(desk.shows("Your topics") && desk.model.network.outbox.awaitedAnswers == 0)
    }

    @Test("A postbox is made and changed by the network, and the list of postboxes follows")
    func changes() {
        var desk = desk()
        let shop = postbox("shop", "shop")
        #expect(
            desk.enter("/postbox create shop for the-seller")
                == [.letters(.postboxes(.create("shop", persona: "the-seller")))])
        desk.send(.postboxes(.changed(.create("shop", persona: "the-seller"), shop, all: Self.boxes + [shop])))
        #expect(desk.bottom.contains("others write to alice/shop"))
        #expect(desk.inbox.boxes.map(\.name) == ["personal", "work", "shop"])
        #expect(desk.enter("/postbox enable work") == [.letters(.postboxes(.enable("work")))])
        let work = postbox("work", "work")
        desk.send(.postboxes(.changed(.enable("work"), work, all: [Self.boxes[0], work])))
        #expect(desk.bottom.contains("The postbox work takes letters."))
        #expect(!desk.shows("work (off)"))
        #expect(desk.enter("/postbox disable work") == [.letters(.postboxes(.disable("work")))])
        desk.send(.postboxes(.changed(.disable("work"), Self.boxes[1], all: Self.boxes)))
        #expect(desk.bottom.contains("The postbox work takes no more letters"))
        #expect(desk.shows("work (off)"))
    }

    @Test("A postbox that is called something else is shown by its title, and commands are still about its name")
    func renamed() {
        var desk = Desk.inbox([letter(1, box: "b2"), letter(2)], size: Size(rows: 24, columns: 110))
        let renamed = postbox("b2", "work", called: "Old orders")
        desk.model.screen.focus = .compose
        #expect(
            desk.enter("/postbox rename work Old orders") == [
                .letters(.postboxes(.rename("work", title: "Old orders")))
            ])
        let act = PostboxAct.rename("work", title: "Old orders")
        desk.send(.postboxes(.changed(act, renamed, all: [postbox("b1", "personal"), renamed])))
        // Others know nothing of it, and that is said.
        #expect(desk.bottom.contains("The postbox work is called Old orders: others still write to alice/work."))
        #expect(desk.shows("Old orders  bob"))
        #expect(desk.screen().contains { $0.hasPrefix("  Old orders") })
        desk.enter("/postbox")
        #expect(desk.screen().contains { $0.contains("work") && $0.contains("called Old orders") })
        desk.press(.down, .enter)
        #expect(desk.shows("postbox Old orders (work)"))
        #expect(desk.model.placeItems().map(\.title).contains("Old orders (work)"))
        desk.model.screen.focus = .compose
        desk.enter("/postbox disable Old")
        #expect(desk.bottom.contains("There is no postbox Old. These are: personal, work."))
        desk.model.compose.set("")
        desk.send(.postboxes(.changed(.rename("work", title: "work"), postbox("b2", "work"), all: [renamed])))
        #expect(desk.bottom.contains("The postbox work goes by its name again"))
    }

    @Test("Beside the topics a postbox has its name behind its title, where both have room")
    func titleInSidebar() {
        func row(_ title: String) -> String? {
            var desk = Desk.joined("chat.lobby")
            desk.send(.postbox(.boxes([postbox("work", "work", called: title)])))
            return desk.screen().first { $0.hasPrefix("  \(title.prefix(4))") }
        }
        #expect(row("Shop")?.hasPrefix("  Shop (work) ") == true)
        #expect(row("Old orders")?.hasPrefix("  Old orders ") == true)
        #expect(row("Old orders")?.contains("work") == false)
    }

    @Test("The list of the postboxes calls one something else: r begins with what it is called")
    func renameKey() {
        for (steps, text) in [(0, "/postbox rename personal "), (1, "/postbox rename work Old orders")] {
            var desk = Desk.joined("chat.lobby")
            desk.send(
                .postbox(.boxes([postbox("personal", "personal"), postbox("work", "work", called: "Old orders")])))
            desk.enter("/postbox")
            for _ in 0..<steps { desk.press(.down) }
            desk.press(.plain("r"))
            #expect(desk.overlay == nil && desk.text == text)
        }
    }

    @Test("The list manages the postboxes: e switches one on or off, Del deletes after a question, n makes one")
    func keys() {
        var desk = desk()
        desk.enter("/postbox")
        #expect(desk.shows("Enter opens  e on, off"))
        #expect(desk.press(.plain("e")) == [.letters(.postboxes(.disable("personal")))])
        let off = postbox("personal", "personal", isEnabled: false)
        desk.send(.postboxes(.changed(.disable("personal"), off, all: [off, Self.boxes[1]])))
        // The list stays, and says how it is now.
        #expect(desk.screen().contains { $0.contains("personal") && $0.contains("off, 2 letters") })
        desk.press(.down)
        #expect(desk.press(.plain("e")) == [.letters(.postboxes(.enable("work")))])
        #expect(desk.press(.delete) == [])
        #expect(desk.bottom.contains("Delete the postbox work with its 1,200 letters? y/N"))
        #expect(desk.press(.plain("y")) == [.letters(.postboxes(.delete("work")))])
        desk.enter("/postbox")
        desk.press(.plain("n"))
        #expect(desk.overlay == nil && desk.text == "/postbox create ")
    }

    @Test("Enter in the list opens the letters of the selected postbox, which stays selected as others come")
    func openListed() {
        var desk = desk()
        desk.enter("/postbox")
        desk.press(.down)
        desk.send(.postboxes(.listed([postbox("a", "a")] + Self.boxes)))
        #expect(desk.press(.enter).isListing(token: nil, box: "work"))
        #expect(desk.overlay == nil && desk.view == .inbox("work") && desk.focus == .main)
    }

    @Test("What the network refuses is said, and nothing else changes")
    func refused() {
        var desk = desk()
        desk.enter("/postbox create work")
        let words = "There is already a postbox work, or one with that title"
        desk.send(.postboxes(.failed(.create("work", persona: nil), .invalidArgument(words))))
        #expect(desk.bottom.contains("\(words)."))
        #expect(desk.inbox.boxes == Self.boxes)
    }

    @Test("Without a connection nothing is changed, and what is known is listed")
    func offline() {
        var desk = desk(state: .reconnecting)
        #expect(desk.enter("/postbox create shop") == [])
        #expect(desk.bottom.contains("connect first"))
        #expect(desk.text == "/postbox create shop")
        desk.model.compose.set("")
        #expect(desk.enter("/postbox") == [])
        #expect(desk.shows("Your postboxes"))
    }

    @Test("B51 a postbox is deleted after a question that says how many letters go with it")
    func delete() {
        var desk = desk()
        #expect(desk.enter("/postbox delete work") == [])
        #expect(desk.bottom.contains("Delete the postbox work with its 1,200 letters?"))
        #expect(desk.press(.plain("n")) == [])
        #expect(desk.enter("/postbox delete work") == [])
        #expect(desk.press(.plain("y")) == [.letters(.postboxes(.delete("work")))])
        desk.send(.postboxes(.changed(.delete("work"), Self.boxes[1], all: [Self.boxes[0]])))
        #expect(desk.effects.contains(.letters(.count)))
        #expect(desk.inbox.boxes.map(\.name) == ["personal"])
        #expect(desk.bottom.contains("The postbox work is deleted."))
    }

    @Test("An empty postbox is said to be empty, and one of which nobody has counted the letters is not")
    func deletionWords() {
        var desk = Desk.joined("chat.lobby")
        desk.send(.postbox(.boxes(Self.boxes)))
        desk.enter("/postbox delete work")
        #expect(desk.bottom.contains("with all its letters?"))
        desk.press(.plain("n"))
        desk.send(.postbox(.counts(["personal": 1])))
        desk.enter("/postbox delete work")
        #expect(desk.bottom.contains("Delete the postbox work? It has no letters."))
    }

    @Test("What the network has done is told as done where it does not say any more which postboxes there are")
    func doneWithoutList() {
        var desk = desk()
        let (shop, work) = (postbox("shop", "shop"), postbox("work", "work"))
        desk.enter("/postbox create shop")
        desk.send(.postboxes(.changed(.create("shop", persona: nil), shop, all: nil)))
        #expect(desk.bottom.contains("others write to alice/shop") && desk.inbox.boxes == Self.boxes + [shop])
        desk.send(.postboxes(.changed(.enable("work"), work, all: nil)))
        #expect(desk.inbox.boxes == [Self.boxes[0], work, shop])
        desk.send(.postboxes(.changed(.delete("work"), work, all: nil)))
        #expect(desk.inbox.boxes == [Self.boxes[0], shop])
    }

    @Test("The letters of a postbox that was deleted leave the list of all")
    func deletionInView() {
        var desk = Desk.inbox([letter(1), letter(2, box: "b2")])
        desk.model.screen.focus = .compose
        desk.enter("/postbox delete work")
        desk.press(.plain("y"))
        desk.effects = []
        desk.send(.postboxes(.changed(.delete("work"), postbox("b2", "work"), all: [postbox("b1", "personal")])))
        #expect(desk.effects.contains(.letters(.count)))
        #expect(
            desk.effects.core.contains { if case .letters(.listPage(_, nil, nil, _, _)) = $0 { true } else { false } })
    }

    // MARK: Letters that were sent

    @Test("Sent letters are listed, the newest first; Enter or a number opens one whole, which leads back where it was")
    func sentLetters() {
        var desk = desk()
        #expect(desk.enter("/sent") == [.letters(.listSent(limit: ChatModel.sentLimit))])
        desk.send(
            .postboxes(
                .sent([
                    Self.sent(2, "the second\nwith more", subject: "Figures"), Self.sent(1, "the first", to: "carol"),
                ])))
        #expect(desk.shows("Letters you sent, the newest first"))
        #expect(
            desk.screen().contains {
                $0.contains("1  21 Nov 10:02") && $0.contains("bob/personal: Figures · the second")
            })
        #expect(desk.screen().contains { $0.contains("2  21 Nov 10:01") && $0.contains("carol/personal: the first") })
        desk.press(.down, .down, .enter)
        #expect(desk.shows("to carol/personal, 21 Nov 10:01") && desk.shows("the first"))
        // One over it lies over the same topic, and leads back to it.
        desk.enter("/sent 1")
        #expect(desk.shows("to bob/personal, 21 Nov 10:02 · Figures") && desk.shows("write to chat.lobby"))
        desk.press(.escape)
        #expect(desk.shows("to carol/personal, 21 Nov 10:01"))
        desk.press(.escape)
        #expect(desk.view == .conversation("chat.lobby"))
    }

    @Test("q quotes a sent letter into another to the same postbox, and never into a line for the topic below it")
    func quoteSent() {
        func opened(_ letter: KeptLetter) -> Desk {
            var desk = self.desk()
            desk.enter("/sent")
            desk.send(.postboxes(.sent([letter])))
            desk.press(.enter)
            return desk
        }
        for (subject, text) in [
            (nil, "/post bob/personal > see below\n> or above\n\n"),
            ("Figures", "/post bob/personal Subject: Re: Figures\n> see below\n> or above\n\n"),
        ] as [(String?, String)] {
            var desk = opened(Self.sent(1, "see below\nor above", subject: subject))
            desk.press(.plain("q"))
            #expect(desk.text == text && desk.focus == .compose)
        }
        // What is being written is not made into a letter.
        var desk = opened(Self.sent(1, "see below"))
        desk.press(.enter)
        desk.type("a line")
        desk.press(.backTab, .plain("q"))
        #expect(desk.text == "a line" && desk.notice.hasPrefix("Something is being written already."))

        desk = opened(Self.sent(1, "see below", to: ""))
        desk.press(.plain("q"))
        #expect(desk.text.isEmpty && desk.notice.hasPrefix("It is not known whom"))
    }

    @Test("The selected line of a long list stays in view, to its ends")
    func selection() {
        var desk = desk()
        desk.enter("/sent")
        desk.send(.postboxes(.sent((1...100).reversed().map { Self.sent($0, "letter number \($0)") })))
        #expect(desk.shows("letter number 100"))
        desk.press(.end)
        #expect(desk.screen().contains { $0.contains("letter number 1 ") || $0.contains("letter number 1│") })
        desk.press(.up)
        for _ in 1...200 { desk.press(.pageUp) }
        #expect(desk.shows("letter number 100"))
        desk.press(.home, .enter)
        #expect(desk.shows("to bob/personal, 21 Nov 11:40"))
    }

    @Test("Nothing that was sent, nothing that is kept, and a number that is not there are said so")
    func nothingSent() {
        var desk = desk()
        for (typed, words) in [
            ("/sent x", "Write it as /"), ("/sent 0", "Write it as /"), ("/sent 1", "/sent lists them first."),
        ] {
            desk.enter(typed)
            #expect(desk.bottom.contains(words))
            desk.press(.control("c"))
        }
        desk.enter("/sent")
        desk.send(.postboxes(.sent([])))
        #expect(desk.bottom.contains("No letter that was sent is kept here."))
        desk.enter("/sent")
        desk.send(.postboxes(.sentFailed("Nothing is kept on this machine; /log may say why.")))
        #expect(desk.bottom.contains("Nothing is kept"))
        desk.enter("/sent")
        desk.send(.postboxes(.sent([Self.sent(1, "see below")])))
        desk.press(.escape)
        desk.enter("/sent 2")
        #expect(desk.bottom.contains("The list has 1 letter."))
    }

    @Test("A letter's text moves no cursor, in the list and in the reader")
    func hostile() {
        var desk = desk()
        desk.enter("/sent")
        desk.send(.postboxes(.sent([Self.sent(1, "a\u{1B}[2Jb", to: "b\u{9B}b", subject: "s\u{1B}]0;x\u{7}")])))
        #expect(!desk.screen().joined().contains { "\u{1B}\u{9B}\u{7}".contains($0) })
        desk.press(.enter)
        #expect(!desk.screen().joined().contains { "\u{1B}\u{9B}\u{7}".contains($0) })
    }
}
