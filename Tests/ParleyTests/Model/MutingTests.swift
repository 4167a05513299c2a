import Relay
import Terminal
import Testing

@testable import Parley

@Suite("Muting topics")
struct MutingTests {
    private static func desk() -> Desk { Desk.joined("chat.lobby", "alerts.disk", "chat.qa") }

    private static func alert(_ sequence: UInt64) -> ChatEvent {
        .topic("alerts.disk", .messages([message(sequence, "@alice the disk is full", topic: "alerts.disk")]))
    }

    /// The sidebar's row of a topic.
    private static func row(_ name: String, on desk: Desk) -> String {
        desk.screen().first { $0.dropFirst().hasPrefix(name) }.map { String($0.prefix(20)) } ?? ""
    }

    @Test("A topic that is muted by hand rings no bell, is in no count and is passed over, until it is unmuted")
    func muted() {
        var desk = Self.desk()
        desk.enter("/mute alerts.disk")
        #expect(desk.notice == "alerts.disk is muted: no bell, no count in the title. /unmute alerts.disk ends that.")
        desk.loseFocus()
        #expect(desk.send(Self.alert(1)) == [])
        #expect(desk.conversation("alerts.disk")?.unread == 1 && desk.model.unreadMessages == 0)
        #expect(!desk.model.screen.title.contains("("))
        desk.send(.input(.focusIn))
        desk.press(.alt("a"))
        #expect(desk.notice == "Nothing is unread.")

        desk.enter("/unmute alerts.disk")
        #expect(desk.notice == "alerts.disk rings and counts again.")
        #expect(desk.model.unreadMessages == 1 && desk.model.screen.title.hasPrefix("(@1, 1) "))
        desk.loseFocus()
        #expect(desk.send(Self.alert(2)) == .screen(.bell))
    }

    @Test("Without a name it is the open topic, and where none is open one has to be named")
    func open() {
        var desk = Self.desk()
        desk.enter("/mute")
        #expect(
            desk.model.network.conversations.isMuted("chat.lobby")
                && !desk.model.network.conversations.isMuted("chat.qa"))
        desk.enter("/unmute")
        #expect(!desk.model.network.conversations.isMuted("chat.lobby"))
        desk.press(.function(3))
        for command in ["/mute", "/unmute"] {
            desk.enter(command)
            #expect(desk.notice == "Name the topic: \(command) TOPIC")
        }
    }

    @Test("The sidebar marks it, in ASCII too, and /topics says it")
    func marked() {
        var desk = Self.desk()
        #expect(!desk.shows("⊘"))
        desk.enter("/mute alerts.disk")
        desk.send(Self.alert(1))
        #expect(Self.row("alerts.disk", on: desk).hasSuffix(" ⊘ @1 1 "))
        #expect(!Self.row("chat.qa", on: desk).contains("⊘"))
        #expect(PlainSymbols.table["⊘"] == "%")
        desk.enter("/topics")
        #expect(desk.screen().contains { $0.contains("alerts.disk") && $0.contains("muted") })
    }

    @Test("A pattern mutes what it matches, joined before or later, and says so where one of them is unmuted")
    func pattern() {
        var desk = Self.desk()
        desk.enter("/mute alerts.>")
        desk.enter("/join alerts.cpu")
        #expect(
            desk.model.network.conversations.isMuted("alerts.disk")
                && desk.model.network.conversations.isMuted("alerts.cpu"))
        desk.enter("/mute alerts.disk")
        #expect(desk.notice == "alerts.disk is muted already, with alerts.>.")
        desk.enter("/unmute alerts.disk")
        #expect(desk.notice == "alerts.disk is muted with alerts.>: /unmute alerts.> ends that.")
        desk.enter("/unmute alerts.>")
        #expect(!desk.model.network.conversations.isMuted("alerts.disk"))
    }

    @Test("The configuration's mutes count besides, and a change of it takes none away that was made by hand")
    func configuration() throws {
        var desk = Self.desk()
        var settings = ChatSettings()
        settings.mutes = [try TopicPattern("alerts.>")]
        desk.model.configure(settings)
        desk.enter("/mute chat.qa")
        #expect(
            desk.model.network.conversations.isMuted("alerts.disk")
                && desk.model.network.conversations.isMuted("chat.qa"))
        desk.enter("/mute alerts.disk")
        #expect(desk.notice == "alerts.disk is muted already, by the configuration.")
        desk.enter("/unmute alerts.disk")
        #expect(desk.notice == "alerts.disk is muted by the configuration: take it out of mutes there.")
        #expect(desk.model.network.conversations.isMuted("alerts.disk"))
        desk.send(.configuration(.changed(ChatSettings())))
        #expect(
            !desk.model.network.conversations.isMuted("alerts.disk")
                && desk.model.network.conversations.isMuted("chat.qa"))
    }

    @Test("What is muted is kept, and comes back at the next start before anything rings")
    func kept() {
        var desk = Desk.opened(
            KeptDesk(topics: ["chat.lobby", "alerts.disk"], muted: ["alerts.>"]), named: ["chat.lobby"],
            state: .connected)
        desk.loseFocus()
        desk.send(.topic("alerts.disk", .live))
        #expect(!desk.send(Self.alert(1)).contains(.bell))
        #expect(desk.enter("/mute chat.lobby").contains(.store(.keepMuted("chat.lobby", true))))
        #expect(desk.enter("/unmute alerts.>").contains(.store(.keepMuted("alerts.>", false))))
        let again = desk.enter("/mute chat.lobby") + desk.enter("/unmute chat.qa")
        #expect(again.core.filter { if case .store(.keepMuted) = $0 { true } else { false } }.isEmpty)
    }

    @Test("What cannot be muted is refused with words")
    func refused() {
        var desk = Self.desk()
        desk.enter("/unmute chat.qa")
        #expect(desk.notice == "chat.qa is not muted." && desk.model.notices.shown?.kind == .failure)
        desk.enter("/mute a..b")
        #expect(desk.model.notices.shown?.kind == .failure && desk.model.network.quiet.mutes.isEmpty)
    }

    @Test("Tab completes joined topics behind /mute, and what is muted behind /unmute")
    func completion() {
        var desk = Self.desk()
        desk.enter("/mute alerts.>")
        desk.type("/mute alerts.d")
        desk.press(.tab)
        #expect(desk.text == "/mute alerts.disk")
        desk.press(.control("u"))
        desk.type("/unmute a")
        desk.press(.tab)
        #expect(desk.text == "/unmute alerts.>")
    }
}
