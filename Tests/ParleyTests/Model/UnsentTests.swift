import Relay
import Terminal
import Testing

@testable import Parley

@Suite("Lines that were not sent")
struct UnsentTests {
    private static func unsent(
        _ id: String, _ text: String, _ state: KeptPublish.State = .queued, to topic: String = "chat.lobby",
        mayBeStored: Bool = false
    ) -> KeptPublish {
        let line = ChatLine(username: "alice", text: text, timestamp: Desk.wall)
        let envelope = Envelope(clientID: "c", id: id, room: topic, message: line.value, start: Desk.wall)
        let message = OutboxMessage(
            id: id, destination: .topic(topic), payload: envelope.encoded(), mayBeStored: mayBeStored)
        return KeptPublish(message: message, state: state, since: Desk.wall)
    }

    private static let failed = KeptPublish.State.notSent("The session ended.")

    /// A client that has not connected, with what earlier runs left.
    private static func opened(_ unsent: [KeptPublish], topics: [String] = ["chat.lobby"]) -> Desk {
        var desk = Desk.opened(KeptDesk(topics: topics, unsent: unsent), size: Size(rows: 24, columns: 120))
        desk.effects = []
        return desk
    }

    /// Three lines that were not sent, and the keys on their conversation.
    private static func three() -> Desk {
        var desk = opened(["a", "b", "c"].map { unsent($0, "line \($0)", failed) })
        desk.press(.backTab)
        return desk
    }

    private func row(_ desk: Desk, with text: String) -> String { desk.screen().first { $0.contains(text) } ?? "" }

    @Test("B32 what waits comes back in its order as waiting, counts as not sent, and gets its tick when it is stored")
    func waiting() {
        var desk = Self.opened([Self.unsent("a", "first"), Self.unsent("b", "second")])
        #expect(desk.texts("chat.lobby") == ["queued first", "queued second"])
        #expect(row(desk, with: "first").hasSuffix("…") && desk.screen()[0].contains("⇅ 2"))
        desk.becomes(.connected)
        desk.published("a", .sending)
        #expect(row(desk, with: "first").hasSuffix("↑"))
        desk.published("a", .acknowledged(sequence: 1))
        desk.published("b", .acknowledged(sequence: 2))
        #expect(desk.texts("chat.lobby") == ["1 own first", "2 own second"])
        #expect(row(desk, with: "second").hasSuffix("✓") && desk.screen()[0].contains("⇅ 0"))
    }

    @Test(
        "B32 what waits for a topic that is not joined, or was left, is asked about as well",
        arguments: [
            ("/quit", ChatEffects.screen(.quit)), ("/disconnect", ChatEffects(core: [.connection(.disconnect)])),
        ])
    func elsewhere(command: String, effects: ChatEffects) {
        for topic in ["chat.old", "chat.lobby"] {
            var desk = Self.opened([Self.unsent("a", "waits", to: topic)])
            if topic == "chat.lobby" { desk.enter("/leave") }
            desk.enter(command)
            #expect(desk.bottom.contains("1 message is not sent yet."), "\(topic)")
            #expect(desk.effects.screen.isEmpty && !desk.effects.contains(.connection(.disconnect)))
            #expect(desk.press(.plain("y")) == effects, "\(topic)")
        }
    }

    @Test(
        "B32 quitting asks about what failed where no local store keeps it, also in a topic that was left, and only there",
        arguments: [nil, KeptDesk(topics: ["chat.lobby"], isReadOnly: true), KeptDesk(topics: ["chat.lobby"])],
        [true, false])
    func failedWithoutStore(_ kept: KeptDesk?, leaves: Bool) {
        var desk = Desk.joined("chat.lobby", state: .reconnecting)
        if let kept { desk.send(.opened(kept)) }
        desk.enter("hello")
        desk.published(desk.model.network.outbox.messages.keys.first ?? "", .discarded(.closedByUser))
        if leaves { desk.enter("/leave") }
        let keeps = kept.map { !$0.isReadOnly } ?? false
        desk.enter("/quit")
        #expect(desk.effects.contains(.quit) == keeps)
        #expect(desk.bottom.contains("1 message is not sent yet. Quit anyway? y/N") == !keeps)
        guard !keeps, !leaves else { return }
        desk.press(.plain("n"))
        desk.enter("/discard")
        #expect(desk.enter("/quit") == .screen(.quit))
    }

    @Test("B32 what an earlier run left in a store is not lost by quitting, though that can only be read")
    func failedEarlier() {
        var kept = Self.opened([Self.unsent("a", "refused", Self.failed)])
        #expect(kept.enter("/quit").contains(.quit))
        var earlier = Desk(state: .connecting)
        earlier.send(.start(topics: [], keeps: true))
        let lines = [Self.unsent("a", "refused", Self.failed, to: "chat.old")]
        earlier.send(.opened(KeptDesk(topics: ["chat.lobby"], unsent: lines, isReadOnly: true)))
        #expect(earlier.enter("/quit").contains(.quit))
    }

    @Test("B32 a line whose end is told before the store is read is not shown as waiting")
    func early() {
        var desk = Desk(state: .connecting)
        desk.send(.start(topics: [], keeps: true))
        desk.published("a", .acknowledged(sequence: 7))
        desk.published("b", .failed(.timeout("The publish")))
        let lines = ["a", "b", "c"].map { Self.unsent($0, "line \($0)") }
        desk.send(.opened(KeptDesk(topics: ["chat.lobby"], unsent: lines)))
        #expect(desk.texts("chat.lobby").first == "7 own line a" && desk.texts("chat.lobby").last == "queued line c")
        #expect(desk.conversation("chat.lobby")?.failedLines.map(\.id) == ["b"])
        #expect(desk.model.network.outbox.queuedCount == 1 && desk.model.network.outbox.early.isEmpty)
    }

    @Test(
        "B32 what was not sent comes back with its reason, and is sent again under its id or dropped, also on the disk")
    func notSent() {
        var desk = Self.opened([Self.unsent("a", "refused", Self.failed), Self.unsent("b", "waits")])
        #expect(row(desk, with: "refused").hasSuffix("✗"))
        #expect(desk.shows("not sent: The session ended. /resend or /discard"))
        #expect(desk.model.network.outbox.queuedCount == 1)
        let again = desk.enter("/resend")
        #expect(again.contains(.topics(.sendAgain(id: "a", topic: "chat.lobby", text: "refused"))))
        #expect(desk.texts("chat.lobby") == ["queued refused", "queued waits"])
        desk.published("a", .discarded(.closedByUser))
        #expect(desk.enter("/discard").contains(.topics(.drop(ids: ["a"]))))
        #expect(desk.texts("chat.lobby") == ["queued waits"])
    }

    @Test("r sends the chosen line again and x drops it; the oldest is chosen first, and the arrows choose another")
    func keys() {
        var desk = Self.three()
        #expect(row(desk, with: "r sends it again, x drops it") != "")
        #expect(desk.model.chosenLine?.id == "a")
        #expect(desk.press(.down).isEmpty && desk.model.chosenLine?.id == "b")
        #expect(desk.press(.plain("r")) == [.topics(.sendAgain(id: "b", topic: "chat.lobby", text: "line b"))])
        #expect(desk.model.chosenLine?.id == "c")
        #expect(desk.press(.plain("x")) == [.topics(.drop(ids: ["c"]))])
        #expect(desk.model.chosenLine?.id == "a")
        desk.press(.up)
        #expect(desk.press(.plain("x")) == [.topics(.drop(ids: ["a"]))])
        #expect(desk.texts("chat.lobby") == ["queued line b"])
        // With nothing unsent, they are letters like others.
        desk.press(.plain("x"))
        #expect(desk.text == "x" && desk.focus == .compose)
    }

    @Test("A line that is out of view is brought into view before a key does anything to it")
    func outOfView() {
        let lines = (1...40).map { Self.unsent("id-\($0)", "line number \($0).", Self.failed) }
        var desk = Self.opened(lines)
        desk.press(.backTab)
        #expect(row(desk, with: "line number 1.").isEmpty)
        #expect(desk.press(.plain("x")).isEmpty)
        #expect(!row(desk, with: "line number 1.").isEmpty)
        #expect(desk.press(.plain("x")) == [.topics(.drop(ids: ["id-1"]))])
        for _ in 1...39 {
            desk.press(.plain("x"), .plain("x"))
        }
        #expect(desk.conversation("chat.lobby")?.failedLines.isEmpty == true)
    }

    @Test(
        "From the palette a line is sent again or dropped whatever message is selected, with a text begun and without",
        arguments: ["", "fine"])
    func fromThePalette(begun: String) {
        let choices: [(typed: String, effect: CoreEffect)] = [
            (
                "send the line again that was not sent",
                .topics(.sendAgain(id: "a", topic: "chat.lobby", text: "refused"))
            ),
            ("drop the line that was not sent", .topics(.drop(ids: ["a"]))),
        ]
        for (typed, effect) in choices {
            var desk = Self.opened([Self.unsent("a", "refused", Self.failed)])
            desk.receive([message(1, "shall we?")])
            desk.press(.backTab, .up)
            #expect(desk.model.selectedRow?.text == "shall we?")
            desk.type(begun)
            desk.press(.control("k"))
            desk.type(typed)
            #expect(desk.press(.enter).contains(effect), "\(typed) with “\(begun)”")
            #expect(desk.text == begun && desk.model.palette == nil)
        }
    }

    @Test("Lines on a topic that is not joined are told of, and shown when it is joined; leaving it keeps them")
    func unjoined() {
        var desk = Self.opened([
            Self.unsent("a", "elsewhere", Self.failed, to: "chat.old"), Self.unsent("b", "waits", to: "chat.old"),
        ])
        #expect(row(desk, with: "A message to another place was not sent; parley outbox list shows it.") != "")
        #expect(desk.model.network.outbox.queuedCount == 1)
        desk.enter("/join chat.old")
        #expect(desk.conversation("chat.old")?.pending.map(\.text) == ["elsewhere", "waits"])
        desk.enter("/leave")
        desk.published("b", .acknowledged(sequence: 3))
        desk.enter("/join chat.old")
        #expect(desk.conversation("chat.old")?.pending.map(\.text) == ["elsewhere"])
    }

    @Test("B39 a line that counts as not sent, and comes from the stream all the same, is one line and needs nobody")
    func arrived() {
        var desk = Self.opened([Self.unsent("a", "perhaps", .notSent("The answer was lost."), mayBeStored: true)])
        let kept = KeptTopic(messages: [message(4, "perhaps", from: "alice", id: "a")])
        #expect(desk.send(.past("chat.lobby", .kept(kept))).contains(.topics(.drop(ids: ["a"]))))
        #expect(desk.texts("chat.lobby") == ["4 own perhaps"])
    }

    @Test("A letter that comes back to its writer does not wait in the local store as well")
    func letter() {
        let letter = #"{"id":"l","createdAt":0,"message":"dear Bob","subject":"Lunch"}"#
        let message = OutboxMessage(
            id: "l", destination: .postbox(user: "bob", postbox: "work"), payload: Array(letter.utf8))
        var desk = Self.opened([KeptPublish(message: message, since: Desk.wall)])
        #expect(desk.model.network.outbox.queuedCount == 1)
        let effects = desk.published("l", .failed(.postboxNotAccepting("bob/work")))
        #expect(effects.contains(.topics(.drop(ids: ["l"]))))
        #expect(desk.text == "/post bob/work Subject: Lunch | dear Bob")
    }
}
