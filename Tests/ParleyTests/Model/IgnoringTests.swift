import Relay
import Terminal
import Testing

@testable import Parley

@Suite("Ignoring people")
struct IgnoringTests {
    private static func desk() -> Desk {
        var desk = Desk.joined("chat.lobby", "chat.ops")
        desk.receive([
            message(1, "hello", from: "bob"), message(2, "buy this", from: "Mallory"),
            message(3, "and that", from: "mallory"), message(4, "good day", from: "carol"),
        ])
        return desk
    }

    @Test("What an ignored person writes is hidden, before and after, in every topic, and comes back")
    func hidden() {
        var desk = Self.desk()
        desk.enter("/ignore mallory")
        #expect(desk.notice == "What mallory writes is hidden. /unignore mallory shows it again.")
        desk.receive([message(5, "still here", from: "MALLORY")])
        let screen = desk.screen()
        #expect(screen.contains { $0.hasSuffix("hello") } && screen.contains { $0.hasSuffix("good day") })
        for text in ["buy this", "and that", "still here"] {
            #expect(!screen.contains { $0.contains(text) }, "\(text)")
        }
        desk.enter("/unignore Mallory")
        for text in ["buy this", "and that", "still here"] {
            #expect(desk.screen().contains { $0.hasSuffix(text) }, "\(text)")
        }
    }

    @Test("An ignored person makes nothing unread, calls nobody and rings no bell")
    func silent() {
        var desk = Self.desk()
        desk.enter("/ignore mallory")
        let effects = desk.receive([message(1, "@alice look", from: "mallory", topic: "chat.ops")])
        #expect(effects.isEmpty)
        #expect(desk.model.unreadMessages == 0 && desk.model.unseenMentions == 0)
        desk.receive([message(2, "@alice hi", from: "bob", topic: "chat.ops")])
        #expect(desk.model.unreadMessages == 1 && desk.model.unseenMentions == 1)
    }

    @Test("The keys pass over what is hidden")
    func passedOver() {
        var desk = Self.desk()
        desk.enter("/ignore mallory")
        desk.press(.backTab, .up)
        #expect(desk.model.selectedRow?.text == "good day")
        desk.press(.up)
        #expect(desk.model.selectedRow?.text == "hello")
        desk.press(.escape)
        desk.enter("/find that")
        #expect(desk.model.selectedRow == nil)
    }

    @Test("A day keeps its line and a name its one place, whatever is hidden between two messages")
    func separators() throws {
        var desk = Desk.joined("chat.lobby")
        func line(_ text: String) -> String? { desk.screen().first { $0.hasSuffix(text) } }
        desk.receive([
            message(1, "yesterday", minutes: -900), message(2, "buy this", from: "mallory", minutes: -500),
            message(3, "good morning", minutes: -450), message(4, "and that", from: "mallory", minutes: -449),
            message(5, "writing on", minutes: -448),
        ])
        desk.enter("/ignore mallory")
        #expect(desk.shows("Friday 21 November"))
        #expect(line("good morning")?.contains("bob") == true)
        #expect(line("writing on")?.contains("bob") == false)
        desk.loseFocus()
        desk.receive([
            message(6, "still here", from: "mallory", minutes: -447), message(7, "back again", minutes: -447),
        ])
        let screen = desk.screen()
        let marker = try #require(screen.firstIndex { $0.contains("── new ─") })
        #expect(screen[marker + 1].hasSuffix("back again") && screen[marker + 1].contains("bob"))
    }

    @Test("A topic that is hidden whole scrolls, and holds nothing up")
    func allHidden() {
        var desk = Desk.joined("chat.lobby")
        desk.receive((1...300).map { message(UInt64($0), "spam \($0)", from: "mallory") })
        desk.enter("/ignore mallory")
        #expect(!desk.shows("spam"))
        for key in [Key(.pageUp), Key(.pageUp), Key(.pageDown), Key(.home), Key(.end)] { desk.press(key) }
        desk.press(.backTab)
        for key in [Key(.up), Key(.down), Key(.home), Key(.end)] { desk.press(key) }
        #expect(!desk.shows("spam"))
    }

    @Test("Who is ignored is kept, and comes back at the next start")
    func kept() {
        var desk = Desk.opened(
            KeptDesk(topics: ["chat.lobby"], ignored: ["mallory"]), named: ["chat.lobby"], state: .connected)
        desk.receive([message(1, "buy this", from: "Mallory"), message(2, "hello")])
        #expect(!desk.shows("buy this"))
        #expect(desk.enter("/ignore Eve").contains(.store(.keepIgnored("eve", true))))
        #expect(desk.enter("/unignore mallory").contains(.store(.keepIgnored("mallory", false))))
        #expect(desk.enter("/ignore").core.filter { if case .store(.keepIgnored) = $0 { true } else { false } }.isEmpty)
        #expect(desk.notice == "Ignored: eve. /unignore NAME shows them again.")
    }

    @Test("A topic that is joined later hides them too")
    func joinedLater() {
        var desk = Self.desk()
        desk.enter("/ignore mallory")
        desk.enter("/join chat.new")
        desk.receive([message(1, "buy this", from: "mallory", topic: "chat.new")])
        #expect(!desk.shows("buy this"))
    }

    @Test("What cannot be ignored is refused with words")
    func refused() {
        var desk = Self.desk()
        for (text, words) in [
            ("/ignore alice", "That is your own name."), ("/unignore bob", "bob is not ignored."),
            ("/ignore \(String(repeating: "x", count: 300))", "A name has 1 to 256 bytes."),
            ("/ignore", "Nobody is ignored. /ignore NAME hides what somebody writes."),
        ] {
            desk.enter(text)
            #expect(desk.notice == words)
        }
    }
}
