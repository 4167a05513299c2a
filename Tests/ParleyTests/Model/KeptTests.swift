import Relay
import Terminal
import Testing

@testable import Parley

@Suite("What is kept on this machine")
struct KeptTests {
    private static func kept(
        _ range: ClosedRange<UInt64>, readThrough: UInt64, topic: String = "chat.lobby", isComplete: Bool = true,
        isOpen: Bool = false
    ) -> KeptTopic {
        var kept = KeptTopic(
            messages: range.map { message($0, "m\($0)", topic: topic) }, isComplete: isComplete,
            readThrough: readThrough)
        kept.isOpen = isOpen
        return kept
    }

    @Test(
        "B9 the topics come back in their order when the store is open, the one in view first, and those named now behind"
    )
    func topics() {
        var desk = Desk(state: .connecting)
        #expect(desk.send(.start(topics: ["chat.new"], keeps: true)) == [.store(.open), .letters(.open)])
        #expect(desk.shows("Opening …"))
        let effects = desk.send(.opened(KeptDesk(topics: ["chat.qa", "alerts.>"])))
        let subscribed: [CoreEffect] = ["chat.new", "chat.qa", "alerts.>"].map { .topics(.subscribe(topic: $0)) }
        let kept: [CoreEffect] = [
            .store(.keepPlace(.topic("chat.new"))), .store(.keepJoined(["chat.qa", "alerts.>", "chat.new"])),
        ]
        #expect(effects.core == subscribed + kept)
        #expect(desk.view == .conversation("chat.new"))

        let (topics, place) = (["chat.a", "chat.b", "chat.c"], Place.topic("chat.c"))
        let again = Desk.opened(KeptDesk(topics: topics, place: place))
        #expect(again.effects.core == ["chat.c", "chat.a", "chat.b"].map { .topics(.subscribe(topic: $0)) })
        #expect(again.view == .conversation("chat.c"))
        #expect(again.model.network.conversations.all.map(\.name) == topics)
        let first = Desk.opened(KeptDesk())
        #expect(first.effects == [.topics(.subscribe(topic: "chat.lobby")), .store(.keepJoined(["chat.lobby"]))])
    }

    /// Two topics, and of the second the newest page, of which only what the network had first is read.
    private static func paged() -> Desk {
        var desk = Desk.opened(KeptDesk(topics: ["chat.lobby", "chat.qa"]))
        desk.send(.past("chat.qa", .kept(kept(201...400, readThrough: 150, topic: "chat.qa", isComplete: false))))
        return desk
    }

    private static var rest: ChatEvent {
        .past("chat.qa", .keptUnread(kept(101...200, readThrough: 150, topic: "chat.qa", isComplete: false)))
    }

    @Test("What comes behind the first page, back to what was read, counts as unread, and moves the new line up")
    func unreadBehindFirstPage() {
        var desk = Self.paged()
        #expect(desk.conversation("chat.qa")?.unread == 200)
        #expect(desk.conversation("chat.qa")?.newMarker == .message(201))
        #expect(desk.send(Self.rest).isEmpty)
        #expect(desk.conversation("chat.qa")?.unread == 250)
        #expect(desk.conversation("chat.qa")?.newMarker == .message(151))
        #expect(desk.conversation("chat.qa")?.history == .more)
        #expect(desk.texts("chat.qa").first == "101 m101" && desk.texts("chat.qa").count == 300)
    }

    @Test(
        "What the person reads before the rest of the unread is here counts no more, and the new line moves up",
        arguments: [false, true])
    func readBeforeTheRest(leaves: Bool) {
        var desk = Self.paged()
        #expect(desk.press(.down, .alt).contains(.topics(.keepReadMark(topic: "chat.qa", sequence: 400))))
        if leaves { desk.press(.up, .alt) }
        let effects = desk.send(Self.rest)
        #expect(leaves || effects.isEmpty)
        #expect(desk.conversation("chat.qa")?.unread == 0 && desk.model.unreadMessages == 0)
        // So much was passed by without being seen.
        #expect(desk.conversation("chat.qa")?.newMarker == .message(151))
    }

    @Test("B9 without a store everything is as it is where nothing is kept")
    func withoutStore() {
        var desk = Desk(state: .connecting)
        desk.send(.start(topics: [], keeps: true))
        #expect(desk.send(.opened(nil)) == [.topics(.subscribe(topic: "chat.lobby"))])
        desk.type("half")
        desk.effects = []
        desk.enter(" a line")
        #expect(desk.effects.core.count == 1)
    }

    @Test("B9 what is kept is on the screen before there is a connection, which says that it is offline and as of when")
    func offline() {
        var desk = Desk.opened(KeptDesk(topics: ["chat.lobby", "chat.qa"]))
        desk.send(.past("chat.lobby", .kept(Self.kept(1...3, readThrough: 3))))
        #expect(desk.texts("chat.lobby") == ["1 m1", "2 m2", "3 m3"])
        #expect(desk.shows("chat.lobby ─ offline, as of 21 Nov 10:00"))
        #expect(desk.conversation("chat.lobby")?.unread == 0)
        #expect(!desk.shows("── new ─"))
        desk.becomes(.connected)
        #expect(desk.shows("chat.lobby ─ joining …"))
        // The store had little, so that the network is asked for more.
        #expect(
            desk.send(.topic("chat.lobby", .live)) == [
                .topics(.loadHistory(topic: "chat.lobby", before: 1, limit: 200))
            ])
    }

    @Test(
        "B9 what was only read as history is shown offline, and the first word of the network closes what lies behind it"
    )
    func historyAlone() {
        var desk = Desk.opened(KeptDesk(topics: ["chat.lobby"]))
        desk.send(.past("chat.lobby", .kept(Self.kept(1...3, readThrough: 3, isOpen: true))))
        #expect(desk.shows("chat.lobby ─ offline, as of 21 Nov 10:00"))
        desk.becomes(.connected)
        desk.receive([message(9, "m9")])
        func asks(before sequence: UInt64?) -> ChatEffects {
            [.topics(.loadHistory(topic: "chat.lobby", before: sequence, limit: 200))]
        }
        #expect(desk.send(.topic("chat.lobby", .live)) == asks(before: nil))
        let next = desk.send(.past("chat.lobby", .history(Self.lines(7...9), isComplete: false)))
        #expect(desk.texts("chat.lobby") == ["1 m1", "2 m2", "3 m3", "gap 0", "7 m7", "8 m8", "9 m9"])
        #expect(next == asks(before: 7))
        #expect(desk.send(.past("chat.lobby", .history(Self.lines(1...6), before: 7, isComplete: true))).isEmpty)
        #expect(desk.texts("chat.lobby") == (1...9).map { "\($0) m\($0)" })
    }

    @Test("B9 a page that overlaps with what is kept leaves no hole")
    func overlap() {
        var desk = Desk.opened(KeptDesk(topics: ["chat.lobby"]))
        desk.send(.past("chat.lobby", .kept(Self.kept(1...8, readThrough: 8, isOpen: true))))
        desk.becomes(.connected)
        desk.send(.topic("chat.lobby", .live))
        let next = desk.send(.past("chat.lobby", .history(Self.lines(7...9), isComplete: false)))
        #expect(next == [.topics(.keepReadMark(topic: "chat.lobby", sequence: 9))])
        #expect(desk.texts("chat.lobby") == (1...9).map { "\($0) m\($0)" })
    }

    @Test("B9 a topic of which nothing is here says so, whatever keeps the network away, and never that it loads")
    func nothingKept() {
        let nothing = "Nothing of this topic is on this machine."
        var desk = Desk.opened(KeptDesk(topics: ["chat.lobby", "alerts.>"]))
        desk.becomes(.connecting, attempt: 1)
        #expect(desk.shows("Loading …") && desk.shows("joining …"))
        for (state, reason, attempt) in [
            (.connecting, .unreachable("no such host"), 1), (.connecting, nil, 2),
            (.connecting, .networkUnavailable, 0),
            (.disconnected, .authenticationFailed(""), 0), (.suspended, .backgrounded, 0),
            (.reconnecting, .connectionLost(""), 1),
        ] as [(ConnectionStatus.State, ConnectionReason?, Int)] {
            desk.becomes(state, reason, attempt: attempt)
            #expect(desk.shows(nothing) && desk.shows("chat.lobby ─ offline") && !desk.shows("Loading"), "\(state)")
        }
        // Whoever asks for more gets the same answer, with a local store and without one.
        desk.press(.pageUp)
        #expect(desk.effects.contains(.topics(.loadHistory(topic: "chat.lobby", before: nil, limit: 200))))
        desk.send(.past("chat.lobby", .keptHistory([], gaps: [], isComplete: true)))
        #expect(desk.shows(nothing))
        desk.press(.pageUp)
        desk.send(.past("chat.lobby", .historyFailed(.notConnected)))
        #expect(desk.shows(nothing))
        desk.press(.down, .alt)
        #expect(desk.shows("Nothing of these topics is on this machine."))
        desk.press(.up, .alt)

        // It fills in as soon as it can.
        desk.becomes(.connected)
        #expect(desk.shows("Loading …"))
        let asked = desk.send(.topic("chat.lobby", .live))
        #expect(asked == [.topics(.loadHistory(topic: "chat.lobby", before: nil, limit: 200))])
        desk.send(.past("chat.lobby", .historyFailed(.timeout("The history"))))
        #expect(desk.shows("The messages could not be loaded."))
        #expect(desk.send(.topic("chat.lobby", .live)) == asked)
        desk.send(.past("chat.lobby", .history([], isComplete: true)))
        #expect(desk.shows("Nothing here yet. Say hello."))
        desk.becomes(.reconnecting, attempt: 1)
        #expect(desk.shows("Nothing here yet. Say hello."))
    }

    @Test("B9 an answer of the local store that comes when the topic is live again is not the last word")
    func lateOfflineAnswer() {
        var desk = Desk.opened(KeptDesk(topics: ["chat.lobby"]))
        desk.press(.pageUp)
        desk.becomes(.connected)
        #expect(desk.send(.topic("chat.lobby", .live)).isEmpty)
        let asked = desk.send(.past("chat.lobby", .keptHistory([], gaps: [], isComplete: true)))
        #expect(asked == [.topics(.loadHistory(topic: "chat.lobby", before: nil, limit: 200))])
    }

    @Test("Unread counts and the new line are as they were left, and a key or a glance reads them")
    func unread() {
        var desk = Desk.opened(KeptDesk(topics: ["chat.lobby", "chat.qa"]))
        desk.send(.past("chat.qa", .kept(Self.kept(1...9, readThrough: 4, topic: "chat.qa"))))
        #expect(desk.conversation("chat.qa")?.unread == 5)
        #expect(desk.conversation("chat.qa")?.newMarker == .message(5))
        #expect(desk.model.unreadMessages == 5)
        desk.effects = []
        desk.press(.down, .alt)
        #expect(desk.conversation("chat.qa")?.unread == 0)
        #expect(desk.conversation("chat.qa")?.newMarker == .message(5))
        #expect(desk.effects.contains(.topics(.keepReadMark(topic: "chat.qa", sequence: 9))))
        // Once is enough.
        #expect(!desk.press(.right).contains(.topics(.keepReadMark(topic: "chat.qa", sequence: 9))))
    }

    @Test("B21: nothing counts as read while the terminal is out of focus, in what is kept neither")
    func outOfFocus() {
        var desk = Desk.opened(KeptDesk(topics: ["chat.lobby"]))
        desk.loseFocus()
        desk.effects = []
        desk.send(.past("chat.lobby", .kept(Self.kept(1...3, readThrough: 1))))
        desk.receive([message(4, "missed", isRecovered: true)])
        #expect(desk.conversation("chat.lobby")?.unread == 3)
        #expect(desk.effects.isEmpty)
        #expect(desk.send(.input(.focusIn)).contains(.topics(.keepReadMark(topic: "chat.lobby", sequence: 4))))
        #expect(desk.conversation("chat.lobby")?.newMarker == .message(2))
    }

    @Test("B38 what was missed while the program did not run comes once behind what is kept, below a new line")
    func catchingUp() {
        var desk = Desk.opened(KeptDesk(topics: ["chat.lobby"]))
        desk.send(.past("chat.lobby", .kept(Self.kept(1...3, readThrough: 3))))
        desk.becomes(.connected)
        desk.receive([message(3, "m3"), message(4, "m4", isRecovered: true)])
        desk.receive([message(5, "m5", isRecovered: true)])
        desk.send(.topic("chat.lobby", .live))
        desk.receive([message(6, "m6")])
        #expect(desk.texts("chat.lobby") == (1...6).map { "\($0) m\($0)" })
        #expect(desk.conversation("chat.lobby")?.newMarker == .message(4))
        #expect(desk.conversation("chat.lobby")?.unread == 0)
    }

    @Test("B38 what history brings before the subscription does is shown once, and is new all the same")
    func historyComesFirst() {
        var desk = Desk.opened(KeptDesk(topics: ["chat.lobby", "chat.qa"]))
        desk.send(.past("chat.qa", .kept(Self.kept(1...3, readThrough: 3, topic: "chat.qa"))))
        desk.becomes(.connected)
        desk.send(.topic("chat.qa", .live))
        let page = (1...4).map { message(UInt64($0), "m\($0)", topic: "chat.qa") }
        desk.send(.past("chat.qa", .history(page, isComplete: true)))
        #expect(desk.conversation("chat.qa")?.unread == 0)
        desk.receive([page[3], message(5, "m5", topic: "chat.qa")], in: "chat.qa")
        #expect(desk.conversation("chat.qa")?.unread == 2)
        #expect(desk.conversation("chat.qa")?.newMarker == .message(4))
        desk.receive([page[3]], in: "chat.qa")
        #expect(desk.conversation("chat.qa")?.unread == 2)
        #expect(desk.texts("chat.qa") == (1...5).map { "\($0) m\($0)" })
    }

    @Test("B39 an own line that is kept and comes again is shown once, and is never unread")
    func own() {
        var desk = Desk.opened(KeptDesk(topics: ["chat.lobby"]))
        let mine = message(1, "mine", from: "alice", id: "own-7")
        desk.send(.past("chat.lobby", .kept(KeptTopic(messages: [mine]))))
        desk.receive([mine])
        desk.send(.past("chat.lobby", .history([mine], isComplete: true)))
        #expect(desk.texts("chat.lobby") == ["1 own mine"])
        #expect(desk.conversation("chat.lobby")?.newMarker == nil)
    }

    @Test("B38 older pages that are kept come without a jump, with what is missing between them")
    func older() {
        var desk = Desk.opened(KeptDesk(topics: ["chat.lobby"]))
        desk.send(.past("chat.lobby", .kept(Self.kept(301...500, readThrough: 500, isComplete: false))))
        var asked: ChatEffects = []
        for _ in 0..<30 where asked.isEmpty { asked = desk.press(.pageUp) }
        #expect(asked == [.topics(.loadHistory(topic: "chat.lobby", before: 301, limit: 200))])
        // By their ends: the name at the top goes when there is a line above.
        let before = desk.screen().filter { $0.contains("m3") }.map { $0.suffix(6) }
        let page = [message(90, "m90"), message(99, "m99"), message(300, "m300")]
        desk.send(.past("chat.lobby", .keptHistory(page, gaps: [KeptGap(end: 300, lost: 7)])))
        #expect(desk.texts("chat.lobby").prefix(5) == ["90 m90", "99 m99", "gap 7", "300 m300", "301 m301"])
        let after = desk.screen().filter { $0.contains("m3") && !$0.contains("m300") }.map { $0.suffix(6) }
        #expect(after == before)
        #expect(desk.conversation("chat.lobby")?.history == .more)
    }

    private static func lines(_ range: ClosedRange<UInt64>) -> [TopicMessage] { range.map { message($0, "m\($0)") } }

    @Test("B48 offline all that is stored can be read, a hole says so, and where it ends a row says what comes later")
    func storedEnd() {
        var desk = Desk.opened(KeptDesk(topics: ["chat.lobby"]))
        desk.send(.past("chat.lobby", .kept(Self.kept(301...340, readThrough: 340, isComplete: true))))
        for _ in 0..<9 { desk.press(.pageUp) }
        #expect(desk.effects.contains(.topics(.loadHistory(topic: "chat.lobby", before: 301, limit: 200))))
        let stored = Self.lines(100...109) + Self.lines(250...300)
        desk.send(.past("chat.lobby", .keptHistory(stored, gaps: [KeptGap(end: 250, lost: 0)], isComplete: true)))
        #expect(desk.conversation("chat.lobby")?.history == .offline)
        #expect(desk.texts("chat.lobby")[9...11] == ["109 m109", "gap 0", "250 m250"])
        for _ in 0..<9 { desk.press(.pageUp) }
        let screen = desk.screen()
        #expect(screen.contains { $0.contains("older messages come when connected") })
        #expect(
            screen.contains { $0.contains("messages may be missing: they come when connected") },
            "\(screen.joined(separator: "\n"))")
        #expect(desk.press(.pageUp).isEmpty)

        // With a connection the hole is filled, from its end on.
        desk.becomes(.connected)
        let asked = desk.send(.topic("chat.lobby", .live))
        #expect(asked == [.topics(.loadHistory(topic: "chat.lobby", before: 250, limit: 200))])
        let next = desk.send(.past("chat.lobby", .history(Self.lines(150...249), before: 250, isComplete: false)))
        #expect(next == [.topics(.loadHistory(topic: "chat.lobby", before: 150, limit: 200))])
        #expect(desk.texts("chat.lobby")[9...11] == ["109 m109", "gap 0", "150 m150"])
        let last = desk.send(
            .past(
                "chat.lobby",
                .history(
                    Self.lines(90...149), gaps: [KeptGap(end: 130, lost: 1)], before: 150, isComplete: true)))
        #expect(last.isEmpty)
        #expect(!desk.texts("chat.lobby").contains("gap 0"))
        #expect(desk.texts("chat.lobby").count { $0 == "gap 1" } == 1)
        #expect(desk.conversation("chat.lobby")?.history == .complete)
    }

    @Test("B38 what the network deleted is a row with the number")
    func gone() {
        var desk = Desk.joined("chat.lobby")
        let page = [message(1, "a"), message(5, "b"), message(9, "c")]
        let gaps = [KeptGap(end: 5, lost: 1), KeptGap(end: 9, lost: 3)]
        desk.send(.past("chat.lobby", .history(page, gaps: gaps, isComplete: true)))
        #expect(desk.texts("chat.lobby") == ["1 a", "gap 1", "5 b", "gap 3", "9 c"])
        let screen = desk.screen()
        #expect(screen.contains { $0.contains("1 message is gone") })
        #expect(screen.contains { $0.contains("3 messages are gone") })
        #expect(screen.contains { $0.contains("the beginning") })
    }

    @Test(
        "More than is kept in view can be read, and it shrinks when the newest line is in view again",
        .processorBound)
    func reading() {
        var desk = Desk.opened(KeptDesk(topics: ["chat.lobby"]))
        desk.send(.past("chat.lobby", .kept(Self.kept(8_001...8_200, readThrough: 8_200, isComplete: false))))
        desk.press(.pageUp)
        for first in stride(from: UInt64(7_801), through: 1, by: -200) {
            desk.send(.past("chat.lobby", .history(Self.lines(first...first + 199), isComplete: first == 1)))
        }
        #expect(desk.texts("chat.lobby").first == "1 m1" && desk.texts("chat.lobby").count == 8_200)
        desk.press(.end)
        desk.receive([message(8_201, "new")])
        #expect(desk.texts("chat.lobby").count <= Conversation.rowLimit)
        #expect(desk.texts("chat.lobby").last == "8201 new")
    }

    @Test(
        "B38 what is read back of the local store leaves no hole where more was missed than is shown", .processorBound)
    func readBackLate() {
        var desk = Desk.opened(KeptDesk(topics: ["chat.lobby"]))
        desk.send(.past("chat.lobby", .kept(Self.kept(301...500, readThrough: 100, isComplete: false))))
        desk.becomes(.connected)
        desk.receive(Self.lines(501...5_600))
        let first = desk.texts("chat.lobby").first
        #expect(first != "301 m301")
        desk.send(.past("chat.lobby", .keptUnread(Self.kept(101...300, readThrough: 100))))
        #expect(desk.texts("chat.lobby").first == first)
        #expect(desk.conversation("chat.lobby")?.history == .more)
    }

    @Test("Who has read back as far as is shown at once is told what leads further back", .processorBound)
    func readAll() {
        for keeps in [true, false] {
            var desk = keeps ? Desk.opened(KeptDesk(topics: ["chat.lobby"])) : Desk.joined("chat.lobby")
            let limit = UInt64(Conversation.readingLimit)
            desk.receive(Self.lines(limit + 1...limit + 60))
            desk.press(.pageUp)
            desk.send(.past("chat.lobby", .history(Self.lines(61...limit), isComplete: false)))
            desk.press(.backTab, .home)
            let way = keeps ? "/search before:DATE leads further back" : "parley history has more"
            #expect(desk.notice == "Parley shows 50,000 messages at once; \(way).")
        }
    }

    @Test("A message that another joined conversation shows is kept for that one")
    func homes() {
        var desk = Desk.opened(KeptDesk(topics: ["chat.>", "chat.qa"]))
        let messages = [message(1, "here", topic: "chat.x"), message(2, "there", topic: "chat.qa")]
        desk.send(.past("chat.>", .kept(KeptTopic(messages: messages))))
        #expect(desk.texts("chat.>") == ["1 here"])
        #expect(desk.texts("chat.qa").isEmpty)
    }

    @Test("What is typed is kept as it grows, each text for its conversation, and comes back there")
    func drafts() {
        var desk = Desk.opened(KeptDesk(topics: ["chat.lobby", "chat.qa"]))
        desk.effects = []
        desk.type("ab")
        let first = Draft(conversation: "chat.lobby", text: "a")
        let second = Draft(conversation: "chat.lobby", text: "ab")
        #expect(desk.effects == [.store(.keepDraft(first)), .store(.keepDraft(second))])
        #expect(desk.press(.down, .alt).core.allSatisfy { if case .store(.keepDraft) = $0 { false } else { true } })
        #expect(desk.text.isEmpty)
        desk.effects = []
        desk.type("c")
        #expect(desk.effects.contains(.store(.keepDraft(Draft(conversation: "chat.qa", text: "c")))))
        desk.press(.up, .alt)
        #expect(desk.text == "ab" && desk.model.compose.editor.cursor == 2)
        desk.press(.enter)
        #expect(desk.texts("chat.lobby").last?.hasSuffix("ab") == true && desk.texts("chat.qa").isEmpty)
        desk.press(.down, .alt)
        #expect(desk.text == "c")

        let drafts = ["chat.qa": "ab", "chat.ops": "left alone", "": "/post bob/"]
        var again = Desk.opened(KeptDesk(topics: ["chat.lobby", "chat.qa"], drafts: drafts, place: .topic("chat.qa")))
        #expect(again.text == "ab" && again.view == .conversation("chat.qa"))
        #expect(again.press(.enter).contains(.store(.keepDraft(Draft(conversation: "chat.qa")))))
        again.enter("/join chat.ops")
        #expect(again.text == "left alone")
        again.press(.function(3))
        #expect(again.text == "/post bob/")
        again.press(.control("n"))
        #expect(again.screen().contains { $0.contains("POSTBOX") && $0.contains("✎") })
    }

    @Test("A text that nobody sees is told of in the sidebar")
    func draftMark() {
        var desk = Desk.opened(KeptDesk(topics: ["chat.lobby", "chat.qa"]))
        desk.type("half a line")
        #expect(!desk.shows("✎"))
        desk.press(.down, .alt)
        #expect(desk.shows("✎"))
        desk.press(.up, .alt)
        #expect(!desk.shows("✎"))
    }

    @Test("The start opens where the person left, in a topic or in the postbox, and not where a text was begun")
    func place() {
        let (topics, drafts) = (["chat.lobby", "chat.qa"], ["chat.qa": "half a line"])
        #expect(Desk.opened(KeptDesk(topics: topics, drafts: drafts)).model.screen.view == .conversation("chat.lobby"))
        for place in [Place.letters(nil), .letters("b2")] {
            let desk = Desk.opened(KeptDesk(topics: topics, drafts: drafts, place: place))
            guard case .letters(let box) = place else { continue }
            #expect(desk.view == .inbox(box) && desk.focus == .main)
            #expect(
                desk.effects.core.contains {
                    if case .letters(.listPage(_, box, nil, _, _)) = $0 { true } else { false }
                })
        }
        // A topic that was left meanwhile, and one that is named now, count for more.
        let gone = Desk.opened(KeptDesk(topics: topics, place: .topic("chat.gone")))
        #expect(gone.view == .conversation("chat.lobby"))
        var named = Desk.opened(KeptDesk(topics: topics, place: .letters(nil)), named: ["chat.qa"])
        #expect(named.view == .conversation("chat.qa") && named.effects.contains(.store(.keepPlace(.topic("chat.qa")))))
        // Each place is kept as it is gone to, and what lies over one is none.
        #expect(named.press(.function(3)).contains(.store(.keepPlace(.letters(nil)))))
        #expect(!named.enter("/search lunch").core.contains { if case .store(.keepPlace) = $0 { true } else { false } })
        #expect(named.press(.alt("1")).contains(.store(.keepPlace(.topic("chat.lobby")))))
        for place in [Place.topic("chat.lobby"), .topic("alerts.>"), .letters(nil), .letters("b 2")] {
            #expect(Place(kept: place.kept) == place)
        }
        #expect(Place(kept: "") == nil && Place(kept: "elsewhere x") == nil)
    }

    @Test("What was typed before the conversations came goes on where one opens; what was left there is not lost")
    func typedEarly() {
        var desk = Desk(state: .connecting)
        desk.send(.start(topics: [], keeps: true))
        desk.type("early")
        desk.effects = []
        desk.send(.opened(KeptDesk(topics: ["chat.lobby"], drafts: ["chat.lobby": "left"])))
        #expect(desk.view == .conversation("chat.lobby") && desk.text == "early")
        #expect(desk.effects.contains(.store(.keepDraft(Draft(conversation: "chat.lobby", text: "early")))))
        #expect(desk.effects.contains(.store(.keepLine(KeptLine("left", in: "chat.lobby")))))
        desk.press(.up)
        #expect(desk.text == "left")
        desk.press(.down)
        #expect(desk.text == "early")
    }

    @Test("What was cut in one conversation can be put into another, and undo stays in its own")
    func cut() {
        var desk = Desk.opened(KeptDesk(topics: ["chat.lobby", "chat.qa"]))
        desk.type("moved")
        desk.press(.control("u"))
        desk.press(.down, .alt)
        desk.press(.control("y"))
        #expect(desk.text == "moved")
        desk.press(.control("_"))
        #expect(desk.text.isEmpty)
        desk.press(.up, .alt)
        desk.press(.control("_"))
        #expect(desk.text.isEmpty)
    }

    @Test("A line that was typed is kept before it is sent, and Up brings the lines of earlier runs back")
    func lines() throws {
        var desk = Desk.opened(KeptDesk(topics: ["chat.lobby"], lines: [KeptLine("one"), KeptLine("two")]))
        desk.press(.up)
        #expect(desk.text == "two")
        desk.press(.up)
        #expect(desk.text == "one")
        desk.press(.control("c"))
        let sent = desk.enter("three")
        let kept = try #require(sent.core.firstIndex(of: .store(.keepLine(KeptLine("three", in: "chat.lobby")))))
        let published = try #require(sent.core.firstIndex { if case .topics(.publish) = $0 { true } else { false } })
        #expect(kept < published)
        desk.effects = []
        desk.enter("/leave")
        #expect(
            desk.effects.contains(.store(.keepLine(KeptLine("/leave"))))
                && desk.effects.contains(.store(.keepJoined([]))))
    }

    @Test("The order by activity and the folded sidebar come back at the next start, and are kept as they change")
    func choices() {
        var desk = Desk.opened(KeptDesk(topics: ["chat.a", "chat.b"]))
        #expect(desk.press(.function(5)).contains(.store(.keepChoice(.topicsFolded, true))))
        #expect(desk.press(.function(2), .alt("o")).contains(.store(.keepChoice(.topicsByActivity, true))))

        let kept = DeskChoices(["topics-by-activity": true, "topics-folded": true])
        var again = Desk.opened(KeptDesk(topics: ["chat.a", "chat.b"], choices: kept))
        #expect(again.effects.choices.isEmpty && !again.shows("TOPICS"))
        again.send(.past("chat.b", .kept(Self.kept(1...2, readThrough: 2, topic: "chat.b"))))
        #expect(again.press(.function(5)).contains(.store(.keepChoice(.topicsFolded, nil))))
        #expect(again.screen()[1].hasPrefix(" TOPICS by activity") && again.screen()[2].contains("chat.b"))
        #expect(again.press(.function(2), .alt("o")).contains(.store(.keepChoice(.topicsByActivity, nil))))
        #expect(again.screen()[1].hasPrefix(" TOPICS  "))
    }

    @Test("The order of the letters and their sort come back at the next start, and are kept as they change")
    func letterChoices() {
        var desk = Desk.opened(KeptDesk(topics: ["chat.a"]))
        #expect(desk.press(.function(3)).isListing(token: nil, order: .newestFirst))
        desk.answerPage([letter(2), letter(1)])
        desk.press(.alt("o"))
        // It counts from when the letters are there in that order.
        #expect(desk.effects.choices.isEmpty)
        desk.answerPage([letter(1), letter(2)])
        #expect(desk.effects.contains(.store(.keepChoice(.lettersOldestFirst, true))))
        #expect(desk.press(.alt("b")).contains(.store(.keepChoice(.lettersBySender, true))))
        let byPostbox = desk.press(.alt("b"))
        #expect(byPostbox.contains(.store(.keepChoice(.lettersBySender, nil))))
        #expect(byPostbox.contains(.store(.keepChoice(.lettersByPostbox, true))))
        #expect(desk.press(.alt("b")).contains(.store(.keepChoice(.lettersByPostbox, nil))))

        let kept = DeskChoices(["letters-oldest-first": true, "letters-by-sender": true])
        var again = Desk.opened(KeptDesk(topics: ["chat.a"], choices: kept))
        #expect(again.press(.function(3)).isListing(token: nil, order: .oldestFirst))
        again.answerPage([letter(1, from: "carol"), letter(2, from: "bob")])
        #expect(again.effects.choices.isEmpty && again.letterIDs == ["l2", "l1"])
        #expect(again.shows("oldest first ─ by sender"))
        again.press(.alt("o"))
        again.answerPage([letter(2, from: "bob"), letter(1, from: "carol")])
        #expect(again.effects.contains(.store(.keepChoice(.lettersOldestFirst, nil))))
    }

    @Test("That unread letters alone are shown comes back at the next start, and ends for good with Escape")
    func unreadLettersAlone() {
        var desk = Desk.opened(KeptDesk(topics: ["chat.a"]))
        desk.press(.function(3))
        desk.answerPage([letter(2), letter(1)])
        desk.press(.alt("l"))
        desk.type("is:unread")
        #expect(desk.effects.choices.isEmpty)
        #expect(desk.press(.enter).contains(.store(.keepChoice(.unreadLettersAlone, true))))

        var again = Desk.opened(KeptDesk(topics: ["chat.a"], choices: DeskChoices(["unread-letters-alone": true])))
        again.press(.function(3))
        again.answerPage([letter(2), letter(1)])
        again.send(.postbox(.read(["l2"], counts: nil)))
        #expect(again.letterIDs == ["l1"])
        #expect(again.screen().contains { $0.contains("filter: is:unread") && $0.contains("1 of 2") })
        #expect(again.press(.escape).contains(.store(.keepChoice(.unreadLettersAlone, nil))))
        #expect(again.inbox.letters.count == 2)
    }

    @Test("A postbox that was opened before the local store is listed as it was begun")
    func letterChoicesCameLate() {
        var desk = Desk(state: .connecting)
        desk.send(.start(topics: [], keeps: true))
        #expect(desk.press(.function(3)).isListing(token: nil, order: .newestFirst))
        desk.send(.opened(KeptDesk(topics: ["chat.a"], choices: DeskChoices(["letters-oldest-first": true]))))
        desk.answerPage([letter(2), letter(1)])
        #expect(desk.inbox.order == .newestFirst && desk.letterIDs == ["l2", "l1"])
        #expect(desk.effects.choices.isEmpty)
    }

    @Test("The configuration says whether the sidebar is there at first; what was chosen since counts before it")
    func choicesAndConfiguration() {
        var hidden = ChatSettings()
        hidden.layout = LayoutSetting(sidebar: 0)
        func start(_ kept: DeskChoices) -> Desk {
            var desk = Desk(state: .connecting)
            desk.model.configure(hidden)
            desk.send(.start(topics: [], keeps: true))
            desk.send(.opened(KeptDesk(topics: ["chat.a"], choices: kept)))
            return desk
        }
        var desk = start(DeskChoices())
        #expect(!desk.shows("TOPICS"))
        #expect(desk.press(.function(5)).contains(.store(.keepChoice(.topicsFolded, false))))
        #expect(desk.screen()[1].hasPrefix(" TOPICS"))
        desk = start(DeskChoices(["topics-folded": false]))
        #expect(desk.screen()[1].hasPrefix(" TOPICS"))
        // Folded again, it is as the configuration has it, which goes on to count.
        #expect(desk.press(.function(5)).contains(.store(.keepChoice(.topicsFolded, nil))))
        desk.model.configure(ChatSettings())
        #expect(desk.screen()[1].hasPrefix(" TOPICS"))
    }

    @Test("Up goes through the lines of the conversation in view, and through commands in each")
    func linesOfConversations() {
        let lines = [KeptLine("to qa", in: "chat.qa"), KeptLine("to lobby", in: "chat.lobby")]
        var desk = Desk.opened(KeptDesk(topics: ["chat.lobby", "chat.qa"], lines: lines))
        desk.enter("here")
        desk.enter("/who")
        desk.press(.escape)
        for text in ["/who", "here", "to lobby", "to lobby"] {
            desk.press(.up)
            #expect(desk.text == text)
        }
        desk.press(.down, .alt)
        #expect(desk.text.isEmpty)
        for text in ["/who", "to qa", "to qa"] {
            desk.press(.up)
            #expect(desk.text == text)
        }
        // What was being written when the person turned to the lines is one of them.
        desk.press(.control("c"))
        desk.type("begun")
        desk.press(.up)
        let kept = desk.press(.enter).core.filter { if case .store(.keepLine) = $0 { true } else { false } }
        #expect(kept == [.store(.keepLine(KeptLine("begun", in: "chat.qa"))), .store(.keepLine(KeptLine("/who")))])
    }
}
