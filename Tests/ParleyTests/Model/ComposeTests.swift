import Relay
import Terminal
import Testing

@testable import Parley

@Suite("Writing")
struct ComposeTests {
    @Test("B54: the compose pane takes and sends text in every state", arguments: ConnectionStatus.State.allCases)
    func neverLocks(state: ConnectionStatus.State) {
        var desk = Desk.joined("chat.lobby", state: state)
        desk.effects = []
        let sent = desk.enter("hi")
        #expect(sent.lines == ["chat.lobby: hi"])
        #expect(desk.model.network.outbox.queuedCount == 1)
        #expect(desk.text.isEmpty)
    }

    @Test("B32: what the core has not accepted yet is on the screen, and nothing says that it waits")
    func unaccepted() {
        var desk = Desk.joined("chat.lobby", state: .reconnecting)
        desk.acceptsAtOnce = false
        desk.enter("hello")
        desk.enter("/post bob/personal hi")
        let ids = Array(desk.model.network.outbox.messages.keys)
        #expect(ids.count == 2)
        #expect(desk.texts("chat.lobby") == ["typed hello"])
        #expect(desk.screen().contains { $0.contains("hello") && !$0.hasSuffix("…") })
        #expect(desk.top.contains("⇅ 0") && desk.model.notices.shown == nil)
        // It is not lost with a kind word either.
        #expect(desk.enter("/quit") == [] && desk.overlay != nil)
        desk.press(.escape)
        desk.becomes(.suspended)
        #expect(desk.texts("chat.lobby") == ["typed hello"])

        for id in ids { desk.published(id, .queued) }
        #expect(desk.texts("chat.lobby") == ["queued hello"])
        #expect(desk.notice == "The letter to bob/personal goes when connected.")
        #expect(desk.top.contains("⇅ 2"))
    }

    @Test("B54: offline says that the text will wait")
    func offlineWords() {
        var desk = Desk.joined("chat.lobby", state: .reconnecting)
        #expect(desk.screen().contains { $0.hasPrefix(" > offline: will be sent when connected") })
        desk.type("typed")
        #expect(desk.shows("─ offline: will be sent when connected ─"))
        desk.press(.enter)
        #expect(desk.screen().contains { $0.contains("typed") && $0.hasSuffix("…") })
        #expect(desk.top.contains("⇅ 1"))
    }

    @Test("B54 B35: what goes nowhere is not said to be sent later, and nothing is published to a pattern")
    func noPromise() {
        for state in [ConnectionStatus.State.reconnecting, .connecting, .suspended, .disconnected, .connected] {
            var desk = Desk.joined("alerts.>", state: state)
            if state != .connected {
                let offline = state == .disconnected ? "disconnected" : "offline"
                #expect(desk.screen().contains { $0.hasPrefix(" > \(offline): /join a topic to write") })
            }
            desk.type("typed")
            #expect(desk.shows("─ alerts.> is a pattern for many topics."))
            #expect(state == .connected || desk.shows("for many topics. /join the one"))
            #expect(!desk.screen().contains { $0.contains("will be sent") || $0.contains("to send") })
            #expect(desk.press(.enter).lines.isEmpty && desk.text == "typed")
        }
        // Nothing typed in the postbox or before the first topic goes anywhere by itself either.
        for text in ["typed", "/join chat.qa", "/post bob", "/kv get a"] {
            var desk = Desk(state: .reconnecting)
            desk.type(text)
            #expect(!desk.shows("will be sent"), "\(text)")
        }
    }

    @Test(
        "B54: commands that wait for a connection say so",
        arguments: ["/post bob/home lunch?", "/kv put a b", "/say x"])
    func waitingCommands(text: String) {
        var desk = Desk.joined("chat.lobby", state: .reconnecting)
        desk.type(text)
        #expect(desk.shows("─ offline: will be sent when connected ─"))
        desk.becomes(.connected)
        #expect(!desk.shows("will be sent"))
    }

    @Test(
        "A paste keeps its line breaks and sends nothing; more than five lines are asked about, and stay until a yes",
        arguments: [("", "chat.lobby"), ("/say ", "chat.lobby"), ("/post bob/work ", "bob/work")])
    func manyLines(command: String, place: String) {
        var desk = Desk.joined("chat.lobby")
        let lines = "1\n2\n3\n4\n5\n6"
        #expect(desk.paste(command + lines) == [])
        for no in [Key.plain("n"), .escape] {
            #expect(desk.press(.enter) == [])
            #expect(desk.bottom.hasPrefix(" Send 6 lines to \(place)? y/N"))
            desk.press(no)
            #expect(desk.text == command + lines)
        }
        let sent = desk.press(.enter, .plain("y"))
        #expect(sent.lines + sent.letters == ["\(place): \(lines)"] && desk.text.isEmpty)
    }

    @Test("The line break at a paste's end is no part of it, unless the text goes on behind it")
    func pastedBreak() {
        var desk = Desk.joined("chat.lobby")
        desk.paste("one\ntwo\n\n")
        #expect(desk.text == "one\ntwo")
        desk.press(.control("a"))
        desk.paste("and\n")
        #expect(desk.text == "one\nand\ntwo")
        desk.press(.enter)
        #expect(desk.texts("chat.lobby") == ["sending one\nand\ntwo"])
        desk.paste("/join chat.qa\n")
        #expect(desk.press(.enter) == [.topics(.subscribe(topic: "chat.qa"))])
    }

    @Test("B35: a paste that is too long for a message is kept whole, says so, and goes once it is shortened")
    func longPaste() {
        var desk = Desk.joined("chat.lobby")
        desk.paste(String(repeating: "x", count: 160_000))
        #expect(desk.text.count == 160_000)
        #expect(desk.shows("─ 28,928 bytes too many for one message ─"))
        #expect(desk.press(.enter) == [])
        #expect(desk.text.count == 160_000)
        #expect(desk.bottom.hasPrefix(" It has 160,000 bytes, a message at most 131,072."))
        // A server may take less.
        desk.send(.bounded(messageBytes: 65_536))
        #expect(desk.press(.enter) == [])
        #expect(desk.bottom.hasPrefix(" It has 160,000 bytes, a message at most 65,536."))
        #expect(desk.shows("─ 94,464 bytes too many for one message ─"))
        desk.press(.control("u"))
        desk.type("short")
        #expect(!desk.shows("too many"))
        #expect(desk.press(.enter).core.count == 1)
    }

    @Test("B59 A topic that may only be read says so where the text is, before a line is sent, until the rights change")
    func readOnly() {
        var desk = Desk.joined("deploys")
        #expect(desk.screen().contains { $0.hasPrefix(" > write to deploys") })
        desk.send(.permitted(AccessRights(publish: ["chat.>"], subscribe: [">"])))
        #expect(desk.screen().contains { $0.hasPrefix(" > deploys is read-only with this key") })
        desk.type("hello")
        #expect(desk.shows("─ deploys is read-only with this key. "))
        #expect(desk.press(.enter) == [] && desk.text == "hello")
        #expect(desk.bottom.hasPrefix(" deploys is read-only with this key. Ask the network's"))
        // Other topics, and commands, are as they were.
        #expect(desk.model.readOnlyWords(of: "chat.lobby") == nil)
        desk.send(.permitted(AccessRights(topics: [">"])))
        #expect(!desk.screen().contains { $0.contains("read-only") && $0.hasPrefix("─") })
        #expect(desk.press(.enter) == [.topics(.publish(id: "own-1", topic: "deploys", text: "hello"))])
        // A network that does not say refuses the line itself.
        desk.send(.permitted(AccessRights(topics: [])))
        #expect(desk.screen().contains { $0.hasPrefix(" > deploys is not open to this key") })
        desk.send(.permitted(nil))
        #expect(desk.screen().contains { $0.hasPrefix(" > write to deploys") })
    }

    @Test("Behind ^V the keys that send, complete and quit are characters of the text, or refused")
    func quoted() {
        var desk = Desk.joined("chat.lobby")
        desk.type("a")
        #expect(desk.press(.control("v"), .tab, .control("v"), .enter).isEmpty)
        #expect(desk.text == "a\t\n")
        #expect(desk.press(.control("v"), .control("q")).isEmpty)
        #expect(desk.text == "a\t\n" && desk.notice == "A text has no control characters.")
        #expect(desk.enter("b").lines == ["chat.lobby: a\t\nb"])
    }

    @Test("B35: /say and /post send no more than a message can have either", arguments: ["/say ", "/post bob/work "])
    func longCommand(command: String) {
        var desk = Desk.joined("chat.lobby")
        let text = command + String(repeating: "é", count: 65_537)
        desk.paste(text)
        #expect(desk.press(.enter) == [])
        #expect(desk.text == text)
        #expect(desk.model.notices.shown?.kind == .failure)
    }

    @Test("What a paste has beyond the room for it is said, and so is a key that finds none")
    func fullText() {
        var desk = Desk.joined("chat.lobby")
        let limit = desk.model.compose.editor.limit
        desk.paste(String(repeating: "x", count: limit + 7))
        #expect(desk.text.count == limit)
        #expect(desk.notice.hasPrefix("The last 7 characters of the paste are missing"))
        desk.wait(.seconds(60))
        desk.type("y")
        #expect(desk.notice.hasPrefix("There is no room"))
        desk.send(.input(.pasteCut))
        #expect(desk.notice.hasPrefix("The end of the paste is missing"))
    }

    @Test("Alt-Enter breaks the line, and the pane grows to a third of the screen")
    func grows() {
        var desk = Desk.joined("chat.lobby")
        for number in 1...9 {
            desk.type("line \(number)")
            let rows = desk.screen().count { $0.contains("line ") && !$0.contains("─") && !$0.contains("Alt-Enter") }
            #expect(rows == min(number, 8) && desk.shows("↑ 1 more line ─") == (number == 9))
            if number < 9 { desk.press(Key(.enter, .alt)) }
        }
    }

    @Test("^R looks for an earlier line, says so above the text, and Enter sends what it found")
    func reverseSearch() {
        var desk = Desk.joined("chat.lobby")
        desk.enter("the build is green")
        desk.enter("lunch?")
        desk.type("half")
        desk.press(.control("r"))
        desk.type("buil")
        #expect(desk.screen().contains { $0.hasPrefix("── search: buil ──") })
        #expect(desk.screen().contains { $0.hasPrefix(" ? the build is green") })
        desk.type("x")
        #expect(desk.screen().contains { $0.hasPrefix("── no earlier line has builx ──") })
        // Escape keeps what was found, and the letters are text again.
        desk.press(.escape, .control("e"))
        desk.type("!")
        #expect(desk.screen().contains { $0.hasPrefix(" > the build is green!") })
        desk.press(.control("r"))
        desk.type("lu")
        #expect(desk.press(.enter).core.count == 1)
        #expect(desk.texts("chat.lobby").last == "sending lunch?")
        #expect(desk.text.isEmpty)
        desk.press(.up, .up)
        #expect(desk.text == "half")
    }

    @Test("A number for the next key is shown, and ends with it")
    func number() {
        var desk = Desk.joined("chat.lobby")
        desk.type("abc")
        desk.press(.alt("0"))
        desk.type("2")
        #expect(desk.screen().contains { $0.hasPrefix("── times 2 ──") })
        desk.press(.backspace)
        #expect(desk.text == "a")
        #expect(!desk.shows("times"))
    }

    @Test("What the pane hides of a long text is said at its edge, and on the smallest screen by a mark")
    func hiddenLines() {
        let lines = (1...200).map { "row \($0)." }.joined(separator: "\n")
        var desk = Desk.joined("chat.lobby")
        desk.paste(lines)
        #expect(desk.screen().contains { $0.hasSuffix("─ ↑ 192 more lines ──") })
        for _ in 0..<100 { desk.press(.up) }
        #expect(desk.screen().contains { $0.hasSuffix("─ ↑ 92  ↓ 100 more lines ──") })
        desk.press(Key(.home, .control))
        #expect(desk.screen().contains { $0.hasSuffix("─ ↓ 192 more lines ──") })

        desk.send(.resized(Size(rows: 5, columns: 20)))
        #expect(desk.bottom.hasPrefix(" > row 1.") && desk.bottom.hasSuffix("↓"))
        desk.press(.down)
        #expect(desk.bottom.hasSuffix("↕"))
        desk.press(.alt(">"))
        #expect(desk.bottom.hasPrefix(" > row 200.") && desk.bottom.hasSuffix("↑"))
    }

    private static let carriedOut: [(text: String, effects: ChatEffects)] = [
        ("/join chat.qa", [.topics(.subscribe(topic: "chat.qa"))]),
        ("/leave", [.topics(.unsubscribe(topic: "chat.lobby"))]),
        ("/disconnect", [.connection(.disconnect)]),
        ("/reconnect", [.connection(.reconnect)]),
        ("/quit", .screen(.quit)),
        ("/kv get a", [.keys(.answer(.get("a")))]),
        ("/kv put a.b x  y", [.keys(.change(id: "own-1", KeyValueRequest.Change(key: "a.b", value: .string("x  y"))))]),
        ("/kv delete a", [.keys(.change(id: "own-1", KeyValueRequest.Change(key: "a", value: Optional.none)))]),
        ("/kv keys", [.keys(.answer(.keys(nil)))]),
        ("/kv watch a.*", [.keys(.answer(.watch("a.*")))]),
    ]

    @Test("B56: commands are carried out, and leave the pane empty", arguments: carriedOut)
    func commands(text: String, effects: ChatEffects) {
        var desk = Desk.joined("chat.lobby")
        #expect(desk.enter(text) == effects)
        #expect(desk.text.isEmpty)
    }

    @Test(
        "A slash can be said", arguments: [("//join x", "/join x"), ("/say /join x", "/join x"), ("///", "//")])
    func slash(text: String, said: String) {
        var desk = Desk.joined("chat.lobby")
        desk.enter(text)
        #expect(desk.texts("chat.lobby") == ["sending \(said)"])
    }

    @Test(
        "An unknown or half-written command stays, says what helps, and names the one key that takes it away",
        arguments: [
            ("/nonsense", "/help"), ("/jion x", "Did you mean /join?"), ("/topic x", "Did you mean /topics?"),
            ("/set irc.look.color_nicks_in_nicklist on", "There is no command /set."),
            ("/post bob/b/c", " Write it as /post USER[/POSTBOX] [TEXT]"),
        ])
    func unknown(typed: String, words: String) {
        var desk = Desk.joined("chat.lobby")
        #expect(desk.enter(typed) == [] && desk.text == typed)
        #expect(desk.bottom.contains(words) && desk.shows("─ ^C clears it ─"), "\(desk.screen())")
        desk.press(.control("c"))
        #expect(desk.text.isEmpty)
        // It can be had again to be mended.
        desk.press(.up)
        #expect(desk.text == typed)
    }

    @Test("A topic that breaks the grammar is refused with words, and blanks around one count for nothing")
    func badTopic() {
        var desk = Desk.joined("chat.lobby")
        #expect(desk.enter("/join a..b") == [])
        #expect(desk.model.network.conversations.count == 1)
        #expect(desk.model.notices.shown?.kind == .failure)
        desk.press(.control("u"))
        #expect(desk.enter("/join  chat.qa  ") == [.topics(.subscribe(topic: "chat.qa"))])
    }

    @Test("Typing in another pane goes to the text")
    func typingReturns() {
        var desk = Desk.joined("chat.lobby")
        desk.press(.function(2))
        desk.type("hey")
        #expect(desk.focus == .compose && desk.text == "hey")
    }

    @Test("A notice goes when what it says is settled, and one that is not settled stays")
    func staleNotices() {
        var desk = Desk.joined("chat.lobby", state: .disconnected)
        desk.enter("/reconnect")
        #expect(desk.bottom.contains("Connecting …"))
        desk.becomes(.connecting, attempt: 1)
        desk.becomes(.connected)
        #expect(desk.model.notices.shown == nil)

        desk.becomes(.reconnecting, .connectionLost("x"))
        #expect(desk.bottom.contains("The connection was lost (x)."))
        desk.becomes(.connected)
        #expect(desk.model.notices.shown == nil)

        desk.press(.control("c"))
        #expect(desk.bottom.contains("^C again quits."))
        desk.press(.plain("x"))
        #expect(desk.model.notices.shown == nil)
        desk.press(.backspace)

        desk.enter("/nonsense")
        #expect(desk.model.notices.shown?.kind == .failure)
        desk.press(.control("c"))
        desk.enter("a message")
        #expect(desk.model.notices.shown == nil)

        desk.send(.past("chat.lobby", .historyFailed(.notConnected)))
        #expect(desk.model.notices.shown != nil)
        desk.becomes(.connecting)
        #expect(desk.model.notices.shown != nil)
        desk.send(.past("chat.lobby", .history([], isComplete: true)))
        #expect(desk.model.notices.shown == nil)
    }

    @Test("A command that takes nothing, or one word, refuses what stands behind it, and its text stays")
    func surplus() {
        for typed in [
            "/quit now", "/inbox work", "/who chat.qa", "/history 50", "/unsent 2", "/next one", "/back soon", "/log x",
            "/disconnect please", "/reconnect 5", "/errors all", "/links 2", "/more 3", "/edit file", "/details 1 2",
            "/notify on off", "/lab open it", "/link 1 2", "/delete 1 2", "/ignore bob carol", "/unignore bob carol",
            "/leave chat.qa now", "/close x y", "/mute chat.lobby x", "/unmute chat.lobby x", "/topics 1 2",
            "/join bad name", "/join \"a b\" c", "/postbox create for", " /quit now", "\t/ignore bob carol",
        ] {
            var desk = Desk.joined("chat.lobby")
            #expect(desk.enter(typed) == [], "\(typed)")
            #expect(desk.notice.hasPrefix("Write it as /"), "\(typed)")
            #expect(desk.text == typed)
        }
    }

    @Test("A command behind blanks runs; what only looks like one is a line")
    func commandBehindBlanks() {
        var desk = Desk.joined("chat.lobby")
        desk.enter("  /help")
        #expect(desk.overlay != nil && desk.text.isEmpty)
        desk.press(.escape)
        for text in [" /usr/bin is full", " //help"] { #expect(desk.enter(text).core.count == 1, "\(text)") }
    }

    @Test("What stands between quotation marks is one word")
    func quotationMarks() throws {
        for (typed, meant) in [
            ("/join \"chat.qa\"", SlashCommand.join("chat.qa")), ("/ignore \"Ann Lee\"", .ignore("Ann Lee")),
            ("/save \"my letter.txt\"", .save("my letter.txt")), ("/lab save \"a b.json5\"", .lab(.save("a b.json5"))),
            ("/kv get \"room\"", .keyValue(.get("room"))),
            ("/kv put \"room\" \"5\"", .keyValue(.change(.init(key: "room", value: .string("5"))))),
            ("/away \"lunch\" until two", .away("\"lunch\" until two")), ("/find \"a", .find("\"a")),
        ] {
            #expect(try SlashCommand.parse(typed) == meant, "\(typed)")
        }
    }

    @Test("A command below a quotation is not sent to everybody; with a doubled slash the line is text")
    func commandBelowQuotation() {
        func quoted(_ command: String = "/reply") -> Desk {
            var desk = Desk.joined("chat.lobby")
            desk.receive([message(1, "hi")])
            desk.enter(command)
            return desk
        }
        for command in ["/reply", "/quote 1"] {
            var desk = quoted(command)
            #expect(desk.text == "> bob: hi\n")
            #expect(desk.enter(" /quit") == [])
            for _ in 1...6 { desk.press(.backspace) }
            #expect(desk.enter("/post bob secret") == [])
            #expect(desk.notice.hasPrefix("Not sent: /post stands below a quotation."))
            #expect(desk.text == "> bob: hi\n/post bob secret")
        }
        for (typed, sent) in [
            ("//post is a command", "/post is a command"), ("/etc/passwd it is", "/etc/passwd it is"),
        ] {
            var desk = quoted()
            #expect(desk.enter(typed).lines == ["chat.lobby: > bob: hi\n\(sent)"])
        }
        #expect(quoted("/reply /msg bob secret").notice.hasPrefix("Not sent: "))
    }

    @Test(
        "A short name between colons is sent as its emoji, and what only looks like one as it is",
        arguments: [
            ("hi :wave:", "hi 👋"), (":+1: :TADA:!", "👍 🎉!"), (":wave::fire:", "👋🔥"), ("std::ok: x", "std::ok: x"),
            ("at 10:100:20", "at 10:100:20"), ("http://a/:ok:/b", "http://a/:ok:/b"), ("`:ok:` :ok:", "`:ok:` 👌"),
            ("a`b :ok:", "a`b 👌"), (":nothing: :", ":nothing: :"), ("> :ok:\n:ok:", "> :ok:\n👌"),
            ("```\n:ok:\n```\n:ok:", "```\n:ok:\n```\n👌"), ("//:ok:", "/:ok:"), ("/say :ok:", ":ok:"),
        ])
    func emoji(typed: String, sent: String) {
        var desk = Desk.joined("chat.lobby")
        desk.model.compose.set(typed)
        #expect(desk.press(.enter).lines == ["chat.lobby: \(sent)"])
        // A letter says it, too.
        guard !typed.hasPrefix("/") else { return }
        #expect(EmojiCode.replaced(in: typed) == sent)
    }

    @Test("What other clients call a command is that command here too")
    func otherNames() throws {
        for (typed, meant) in [
            ("/j chat.qa", SlashCommand.join("chat.qa")), ("/go chat.qa", .join("chat.qa")), ("/PART", .leave(nil)),
            ("/wc", .close), ("/names", .who), ("/whois", .who), ("/list", .topics("")),
            ("/buffer 2", .topics("2")),
            ("/win chat.qa", .topics("chat.qa")), ("/bye", .quit), ("/connect", .reconnect),
            ("/reply", .quote(nil, "")),
            ("/reply yes", .quote(nil, "yes")), ("/lastlog plan", .search("plan")), ("/scrollback", .history),
            ("/query bob", .write(to: "bob/personal")), ("/q bob", .write(to: "bob/personal")),
            ("/msg bob hi", .post(user: "bob", postbox: "personal", subject: nil, text: "hi")),
        ] {
            #expect(try SlashCommand.parse(typed) == meant, "\(typed)")
        }
        // One that stands for several says so.
        var desk = Desk.joined("chat.lobby")
        desk.enter("/q")
        #expect(desk.notice == "/q alone can be several commands: /quit or /query NAME.")
        #expect(desk.text == "/q" && !desk.effects.contains(.quit))
        // Every name stands for a command that there is, and takes none away.
        let names = Set(SlashCommand.entries.map(\.name))
        let aliases = SlashCommand.entries.flatMap(\.aliases)
        #expect(names.isDisjoint(with: aliases) && Set(aliases).count == aliases.count)
    }

    @Test("/topics and /buffer with a number or a name go to that topic")
    func topicsByNumber() {
        var desk = Desk.joined("chat.lobby", "chat.qa")
        desk.enter("/buffer 2")
        #expect(desk.view == .conversation("chat.qa"))
        desk.enter("/topics #chat.lobby")
        #expect(desk.view == .conversation("chat.lobby"))
        desk.enter("/win chat.ops")
        #expect(desk.notice.hasPrefix("chat.ops is not joined. /join TOPIC"))
    }

    @Test("A letter to a person alone goes to the postbox that everyone begins with; without a text it is begun")
    func lettersToPeople() {
        for typed in ["/post bob hello", "/msg bob hello", "/post bob/ hello", "/DM bob hello"] {
            var desk = Desk.joined("chat.lobby")
            #expect(desk.enter(typed).letters == ["bob/personal: hello"], "\(typed)")
        }
        for typed in ["/query bob", "/post bob", "/post bob/", "/post bob/personal"] {
            var desk = Desk.joined("chat.lobby")
            #expect(desk.enter(typed) == [] && desk.text == "/post bob/personal ", "\(typed)")
        }
        for typed in ["/post", "/post b\u{F6}b hello", "/post bob/b/c hello"] {
            var desk = Desk.joined("chat.lobby")
            desk.enter(typed)
            #expect(desk.bottom.hasPrefix(" Write it as /post USER[/POSTBOX] [TEXT]"), "\(typed)")
            #expect(desk.text == typed)
        }
    }

    @Test("A letter to a topic is none: it says how one writes there, and stays")
    func lettersToTopics() {
        for (typed, words) in [
            ("/msg #dev hello", "/topics dev goes to the topic;"), ("/msg dev hello", "/topics dev goes to the topic;"),
            ("/query dev", ""),
        ] {
            var desk = Desk.joined("chat.lobby", "dev")
            #expect(desk.enter(typed) == [] && desk.text == typed)
            #expect(desk.notice.hasPrefix("Letters go to people. \(words)"))
        }
        // Whoever names a postbox means a person.
        for (typed, sent) in [
            ("/post bob/personal hello", "bob/personal: hello"), ("/msg bob/work hello", "bob/work: hello"),
            ("/msg bob/ hello", "bob/personal: hello"),
        ] {
            var desk = Desk.joined("chat.lobby", "bob")
            #expect(desk.enter(typed).letters == [sent], "\(typed)")
        }
        // Somebody may be called as a topic is.
        var desk = Desk.joined("bob", "dev")
        desk.receive([message(1, "hi", topic: "dev")])
        #expect(desk.enter("/msg bob hello").letters.count == 1)
    }

    @Test("A letter that comes back unsent stands in the text, with the key that takes it away")
    func refusedLetter() {
        var desk = Desk.joined("chat.lobby")
        desk.enter("/msg nobody hello")
        desk.published("own-1", .failed(.tooLarge(bytes: 2, limit: 1)))
        #expect(desk.text == "/post nobody/personal hello" && desk.shows("─ ^C clears it ─"))
    }

    @Test("/join #dev joins dev and says that topics have no #; /leave #dev leaves it")
    func channels() {
        var desk = Desk.joined("chat.lobby")
        #expect(desk.enter("/join #dev") == [.topics(.subscribe(topic: "dev"))])
        #expect(desk.view == .conversation("dev"))
        #expect(desk.notice == "This is dev: topics have no # here.")
        #expect(desk.enter("/leave #dev") == [.topics(.unsubscribe(topic: "dev"))])
        #expect(desk.enter("/join #") == [] && desk.model.notices.shown?.kind == .failure)
    }

    @Test("What other clients have a command for and this one has not says where to look, and stays to be mended")
    func otherWays() {
        for (typed, words) in [
            ("/nick carol", "There is no command /nick. Your name comes with your credentials"),
            ("/me waves", "There is no command /me. Write it as a line"),
            ("/SET x on", "There is no command /SET. Settings are in the configuration file"),
            ("/bind meta-x quit", "There is no command /bind. Keys are in the configuration file"),
            ("/reload", "There is no command /reload. A changed configuration file counts at once."),
            ("/kick bob", "There is no command /kick. In a shell, parley network user does that."),
        ] {
            var desk = Desk.joined("chat.lobby")
            #expect(desk.enter(typed).lines.isEmpty)
            #expect(desk.bottom.contains(words) && desk.text == typed, "\(typed)")
        }
    }

    @Test("A question can be read to its end on every screen, over as many rows as it takes")
    func wholeQuestion() {
        let words = "1 message is not sent yet. Disconnect anyway? y/N"
        for (rows, columns, taken) in [(24, 80, 1), (12, 40, 2), (8, 30, 2), (5, 20, 4)] {
            let size = Size(rows: rows, columns: columns)
            var desk = Desk.joined("chat.lobby", size: size, state: .reconnecting)
            desk.enter("hello")
            desk.enter("/disconnect")
            let frame = render(desk.model, size: size, now: desk.model.now.instant)
            let shown = frame.rows.suffix(taken).joined(separator: " ").split(separator: " ").joined(separator: " ")
            #expect(shown == words, "\(columns): \(frame.rows)")
            let last = frame.text(row: rows - 1)
            #expect(frame.cursor?.row == rows - 1 && last.hasSuffix("y/N"), "\(last)")
        }
    }

    @Test("/close closes what is in view, as in other clients, and says how to come back")
    func closingView() {
        var desk = Desk.joined("chat.lobby", "chat.qa")
        desk.press(.alt("2"))
        #expect(desk.enter("/close") == [.topics(.unsubscribe(topic: "chat.qa"))])
        #expect(desk.view == .conversation("chat.lobby"))
        #expect(desk.notice == "Left chat.qa. /join chat.qa comes back; /disconnect is what goes offline.")
        // A topic that is named is left wherever one is.
        #expect(desk.enter("/join chat.ops") == [.topics(.subscribe(topic: "chat.ops"))])
        desk.press(.alt("1"))
        #expect(desk.enter("/close chat.ops") == [.topics(.unsubscribe(topic: "chat.ops"))])
        #expect(desk.view == .conversation("chat.lobby"))
        // Elsewhere it goes back, and no topic is left.
        desk.press(.function(3), .escape)
        #expect(desk.enter("/close") == [])
        #expect(desk.view == .conversation("chat.lobby") && desk.model.network.conversations.count == 1)
        #expect(!desk.effects.contains(.connection(.disconnect)))
    }

    @Test("/close goes back one step, from a letter that is read to the list, and from the list to the topic")
    func closingStepByStep() {
        var desk = Desk.inbox([letter(1), letter(2)])
        func close() {
            desk.model.screen.focus = .compose
            #expect(desk.enter("/close") == [])
        }
        desk.press(.enter, .function(4))
        #expect(desk.view != .inbox(nil))
        close()
        #expect(desk.view == .inbox(nil) && desk.inbox.open == "l1")
        close()
        #expect(desk.view == .inbox(nil) && desk.inbox.open == nil)
        desk.model.screen.focus = .main
        desk.filter("x")
        #expect(desk.shows("filter: x"))
        close()
        #expect(desk.view == .inbox(nil) && !desk.shows("filter: x"))
        close()
        #expect(desk.view == .conversation("chat.lobby"))
    }

    @Test("What a paste that comes in parts has between them is in the text, and what ends it is not")
    func pasteInParts() {
        var desk = Desk.joined("chat.lobby")
        desk.paste("a\nb\n")
        #expect(desk.text == "a\nb")
        desk.wait(.milliseconds(200))
        desk.paste("c\n\n")
        desk.paste("d\n")
        #expect(desk.text == "a\nb\nc\n\nd")
        desk.wait(.seconds(1))
        desk.paste("e\n")
        desk.type("f")
        desk.paste("g")
        #expect(desk.text == "a\nb\nc\n\ndefg")
    }

    @Test("/disconnect says what it did")
    func disconnecting() {
        var desk = Desk.joined("chat.lobby")
        #expect(desk.enter("/disconnect") == [.connection(.disconnect)])
        desk.becomes(.disconnected, .closedByUser)
        #expect(desk.bottom.contains("Disconnected until /reconnect."))
        #expect(desk.enter("/disconnect") == [.connection(.disconnect)])
        #expect(desk.bottom.contains("Disconnected already; /reconnect connects again."))
    }

    @Test("A notice goes with time, or with a key once it could be read, and the hints come back")
    func noticesGo() {
        var desk = Desk.joined("chat.lobby")
        desk.enter("/nonsense")
        // Whoever is typing while it comes still reads it.
        desk.wait(.milliseconds(500))
        desk.type("x")
        #expect(desk.bottom.contains("There is no command /nonsense."))
        desk.wait(.milliseconds(1_500))
        desk.type("x")
        #expect(desk.notice.isEmpty && desk.bottom.contains("Enter send"))
        desk.press(.control("c"))
        #expect(desk.bottom.contains("Cleared; ^_ brings the text back."))
        desk.wait(.seconds(2))
        #expect(desk.bottom.contains("F1 help"))
        desk.press(.control("_"))
        #expect(desk.text == "/nonsensexx")
    }

    @Test("What a key was answered with goes with the next change of the text; what comes from elsewhere can be read")
    func answersGo() {
        var desk = Desk.joined("chat.lobby")
        desk.type("a line")
        desk.press(.control("c"))
        #expect(desk.bottom.contains("Cleared; "))
        desk.type("x")
        #expect(desk.notice.isEmpty)
        desk.send(.notice("Something happened.", isFailure: false))
        desk.type("x")
        #expect(desk.bottom.contains("Something happened."))
        desk.wait(.seconds(3))
        desk.type("x")
        #expect(desk.notice.isEmpty)
    }

    @Test("What was typed behind Escape and a slash that came as Alt-/ is no message: it gets its slash, and waits")
    func lackingSlash() {
        for typed in [
            "who", "quit", "close", "close chat.qa", "j chat.ops", "join chat.ops", "msg bob hello", "read 4",
            "away for lunch",
        ] {
            var desk = Desk.joined("chat.lobby", "chat.qa")
            desk.press(.alt("2"), .alt("/"))
            #expect(desk.enter(typed) == [] && desk.text == "/\(typed)")
            #expect(desk.notice.hasPrefix("Not sent: Esc and / came as Alt-/. Enter runs /"))
        }
        // Any other text is a message, and so is one that was not begun behind it.
        for typed in [
            "good morning", "I quit", "host is down", "line 4 fails", "day off", "read this", "quit it", "who is it",
            "leave it alone", "close the door", "Close it",
        ] {
            var desk = Desk.joined("chat.lobby", "chat.qa")
            desk.press(.alt("/"))
            desk.enter(typed)
            desk.enter("who")
            #expect(desk.texts("chat.lobby") == ["sending \(typed)", "sending who"])
        }
        // Nor did a text begin behind it that was there before.
        var draft = Desk.joined("chat.lobby", "chat.qa")
        draft.type("quit")
        #expect(draft.press(.alt("2"), .alt("/"), .enter).lines == ["chat.lobby: quit"])
        var later = Desk.joined("chat.lobby")
        later.press(.alt("/"), .control("l"))
        #expect(later.enter("who").lines == ["chat.lobby: who"])
    }

    @Test("What did not work can be read in the log, once, and a long failure says which key shows it")
    func failuresInTheLog() {
        let words = "The local store takes nothing any more, since the disk is full: free some space on it, then go on."
        var desk = Desk.joined("chat.lobby")
        desk.send(.notice(words, isFailure: true))
        desk.wait(.milliseconds(3))
        desk.send(.log(words))
        desk.send(.notice("Watching a.*, 3 keys now.", isFailure: false))
        desk.send(.notice(words, isFailure: true))
        #expect(desk.bottom.hasSuffix("… F8 log"))
        desk.press(.function(8))
        #expect(desk.shows("connection log ─ 1 entry"))
        #expect(desk.shows("✗ The local store takes nothing"))
        // The same failure at another time is another one.
        desk.wait(.seconds(5))
        desk.send(.notice(words, isFailure: true))
        #expect(desk.shows("connection log ─ 2 entries"))
        #expect(desk.screen(Size(rows: 24, columns: 160)).last?.hasSuffix("then go on.") == true)
    }

    @Test("A notice is seen on the smallest screen too, and so is the text being written")
    func noticeOnTheSmallest() {
        var desk = Desk.joined("chat.lobby", size: Size(rows: 5, columns: 20))
        desk.receive((1...9).map { message($0, "m\($0)") })
        desk.enter("/jion x")
        #expect(desk.screen().dropFirst(2) == [" There is no", " command /jion. Di…", " > /jion x"])
        #expect(desk.screen()[1].contains("m7"))
        desk.wait(.seconds(12))
        #expect(desk.screen().dropFirst().map { $0.suffix(2) } == ["m7", "m8", "m9", " x"])
    }

    @Test("Tab completes commands and topics, and otherwise changes the pane")
    func tab() {
        var desk = Desk.joined("chat.lobby", "chat.quality")
        for (typed, whole) in [("/le", "/leave "), ("", "/leave chat."), ("q", "/leave chat.quality")] {
            desk.type(typed)
            desk.press(.tab)
            #expect(desk.text == whole)
        }
        desk.press(.control("c"))
        for focus in [Focus.sidebar, .main, .compose] {
            desk.press(.tab)
            #expect(desk.focus == focus)
        }
    }

    @Test("A slash offers the commands on the bottom line, fewer with each letter, and one alone with what it does")
    func offeredCommands() {
        var desk = Desk.joined("chat.lobby")
        let hints = desk.bottom
        desk.type("/")
        #expect(desk.bottom.hasPrefix(" Tab completes  /join  /leave  /say  /post  /resend"))
        #expect(desk.bottom.contains("…") && desk.bottom.hasSuffix("⇣ bottom"))
        desk.type("jo")
        #expect(desk.bottom.hasPrefix(" Tab completes  /join TOPIC  join a topic, or a pattern"))
        desk.press(.backspace, .backspace, .backspace)
        #expect(desk.bottom == hints)
        // What stands behind the name, what is no command and a line with a slash have the keys again.
        for text in ["/jo x", "/jo/", "/jozz", "//"] {
            var desk = Desk.joined("chat.lobby")
            desk.type(text)
            #expect(desk.bottom.contains("Enter send"), "\(text)")
        }
    }

    @Test("The commands that are offered stay within the bottom line, and take no other; on the least screen are none")
    func offeredOnLittleRoom() {
        func chat(_ size: Size) -> Desk {
            var desk = Desk.joined("chat.lobby", size: size)
            desk.receive((1...9).map { message($0, "m\($0)") })
            return desk
        }
        for columns in 20...80 {
            var desk = chat(Size(rows: 8, columns: columns))
            let before = desk.screen()
            for text in ["/", "p", "o"] {
                desk.type(text)
                #expect(desk.screen().dropLast(2) == before.dropLast(2) && desk.bottom.contains("/"), "\(columns)")
            }
        }
        var desk = chat(Size(rows: 5, columns: 20))
        let before = desk.screen()
        desk.type("/")
        #expect(desk.screen().dropLast() == before.dropLast() && desk.bottom == " > /")
    }

    @Test("^C clears the text, then twice quits")
    func interrupt() {
        var desk = Desk.joined("chat.lobby")
        desk.type("text")
        #expect(desk.press(.control("c")) == [])
        #expect(desk.text.isEmpty)
        #expect(desk.press(.control("c")) == [])
        desk.type("x")
        #expect(desk.press(.backspace, .control("c")) == [])
        #expect(desk.press(.control("c")) == .screen(.quit))
    }

    /// The ways out of the chat, or out of its network alone.
    enum WayOut: CaseIterable, Sendable {
        case quitCommand, exitCommand, quitKey, interruptTwice, palette, disconnectCommand

        var effects: ChatEffects { self == .disconnectCommand ? [.connection(.disconnect)] : .screen(.quit) }

        func take(in desk: inout Desk) {
            switch self {
            case .quitCommand: desk.enter("/quit")
            case .exitCommand: desk.enter("/exit")
            case .quitKey: desk.press(.control("q"))
            case .interruptTwice: for _ in 1...2 { desk.press(.control("c")) }
            case .palette:
                desk.press(.alt("x"))
                desk.enter("quit")
            case .disconnectCommand: desk.enter("/disconnect")
            }
        }
    }

    @Test(
        "B32: each way out asks first while a line, a letter or a value of a key has not left, and only y is a yes",
        arguments: WayOut.allCases, ["hello", "/post bob/personal hi", "/kv put a.b x"])
    func asked(way: WayOut, text: String) {
        var desk = Desk.joined("chat.lobby", state: .reconnecting)
        desk.enter(text)
        for no in [Key(.character("n")), Key(.escape), Key(.enter), .control("c")] {
            way.take(in: &desk)
            #expect(desk.bottom.contains("1 message is not sent yet."))
            desk.press(no)
            #expect(
                desk.overlay == nil && desk.effects.screen.isEmpty
                    && !desk.effects.contains(.connection(.disconnect)))
            #expect(desk.model.network.outbox.queuedCount == 1)
        }
        way.take(in: &desk)
        #expect(desk.press(.plain("y")) == way.effects)
    }

    @Test(
        "B9 A key between two attempts tries to connect at once, after an offline start too, but not each key of a typist",
        arguments: [ConnectionStatus.State.connecting, .reconnecting])
    func nudge(_ state: ConnectionStatus.State) {
        var desk = Desk.joined("chat.lobby", state: state)
        // While an attempt is under way there is nothing to hasten.
        #expect(desk.press(.plain("a")) == [])
        let reason = ConnectionReason.unreachable("connection refused")
        desk.send(
            .statusChanged(
                ConnectionStatus(state: state, reason: reason, attempt: 1, nextRetryAt: Desk.start + .seconds(11))))
        #expect(desk.press(.plain("b")) == [.connection(.nudge)])
        #expect(desk.press(.plain("c")) == [])
        desk.wait(.seconds(6))
        #expect(desk.press(.plain("d")) == [.connection(.nudge)])
    }

    @Test("B8 A first connection given up after a time limit ends the chat, which asks first about unsent lines")
    func givenUp() {
        let end = ChatEvent.statusChanged(
            ConnectionStatus(state: .disconnected, reason: .timeLimit(.seconds(2), after: .networkUnavailable)))
        var desk = Desk.joined("chat.lobby", state: .connecting)
        #expect(desk.send(end) == .screen(.quit))
        #expect(desk.model.connectionGivenUp?.code == .noConnection)

        var busy = Desk.joined("chat.lobby", state: .connecting)
        busy.enter("hello")
        #expect(busy.send(end) == [])
        #expect(busy.bottom.contains("1 message is not sent yet. Quit anyway?"))
        #expect(busy.press(.plain("n")) == [] && busy.model.network.status.state == .disconnected)

        // The lines may be told of as not sent before the end is; whether they are kept makes no difference.
        var failed = Desk.joined("chat.lobby", state: .connecting)
        failed.model.network.keepsOutbox = true
        failed.enter("hello")
        for case .topics(.publish(let id, _, _)) in failed.effects.core {
            failed.published(id, .failed(.connection(.timeLimit(.seconds(2)))))
        }
        #expect(failed.send(end).screen.isEmpty)
        #expect(failed.bottom.contains("1 message is not sent yet. Quit anyway?"))
        #expect(failed.press(.plain("n")) == [] && failed.press(.control("q")) == .screen(.quit))

        var closed = Desk.joined("chat.lobby", state: .connecting)
        #expect(closed.becomes(.disconnected, .banned(nil)) == [])
    }

    @Test("^L paints, ^Z suspends, also over the help")
    func screenKeys() {
        var desk = Desk.joined("chat.lobby")
        #expect(desk.press(.control("l")) == .screen(.redraw))
        desk.press(.function(1))
        #expect(desk.press(.control("z")) == .screen(.suspendProcess))
        #expect(desk.send(.suspending) == [.connection(.setActive(false))])
        #expect(desk.send(.resumed) == ChatEffects(core: [.connection(.setActive(true))], screen: [.redraw]))
        // Stopped without a word, by SIGSTOP, it has kept a connection that may be dead by now.
        #expect(desk.send(.resumed) == ChatEffects(core: [.connection(.probe)], screen: [.redraw]))
        desk.press(.escape)
        #expect(desk.overlay == nil)
    }

    @Test("The screen is drawn again when a countdown or a notice changes, and not otherwise")
    func nextChange() throws {
        var desk = Desk.joined("chat.lobby")
        let now = desk.model.now.instant
        #expect(desk.model.nextChange(after: now) == nil)
        desk.send(
            .statusChanged(
                ConnectionStatus(
                    state: .reconnecting, attempt: 3, nextRetryAt: now.advanced(by: .milliseconds(3500)))))
        #expect(desk.model.nextChange(after: now) == now.advanced(by: .milliseconds(500)))
        #expect(
            desk.model.nextChange(after: now.advanced(by: .milliseconds(500))) == now.advanced(by: .milliseconds(1500)))
        #expect(desk.screen(after: .zero).first?.contains("↻ RECONNECTING attempt 3 · in 4 s") == true)
        #expect(desk.screen(after: .milliseconds(501)).first?.contains("in 3 s") == true)
    }
}
