import Relay
import Terminal
import TestSupport
import Testing

@testable import Parley

@Suite("The order of the topics")
struct TopicOrderTests {
    @Test("By hand a topic is moved with the cursor on it, up to the ends, and the order is kept")
    func byHand() {
        var desk = Desk.opened(KeptDesk(topics: ["chat.a", "chat.b", "chat.c"]))
        desk.press(.function(2))
        #expect(desk.press(.alt("j")) == [.store(.keepJoined(["chat.b", "chat.a", "chat.c"]))])
        #expect(desk.topics == ["chat.b", "chat.a", "chat.c"] && desk.model.screen.sidebar.cursor == 2)
        #expect(desk.screen()[2].hasPrefix(" chat.b ") && desk.screen()[3].hasPrefix("▌chat.a "))
        #expect(desk.press(.down, .shift) == [.store(.keepJoined(["chat.b", "chat.c", "chat.a"]))])
        #expect(desk.press(.down, .shift) == [])
        #expect(desk.press(.up, .shift) == [.store(.keepJoined(["chat.b", "chat.a", "chat.c"]))])
        desk.press(.home)
        #expect(desk.press(.alt("k")) == [])
        #expect(desk.topics == ["chat.b", "chat.a", "chat.c"])
        // What is shown and what has a name is the same as before.
        #expect(desk.view == .conversation("chat.a"))
        desk.press(.alt("1"))
        #expect(desk.view == .conversation("chat.b"))
        desk.press(.down, .alt)
        #expect(desk.view == .conversation("chat.a"))
        desk.receive([message(1, "x", topic: "chat.c")])
        #expect(desk.conversation("chat.c")?.unread == 1 && desk.conversation("chat.a")?.unread == 0)
    }

    @Test("By activity the topic with the newest message comes first, but no row moves under the cursor")
    func byActivity() {
        var desk = Desk.joined("chat.a", "chat.b", "chat.c", "chat.d")
        desk.receive([message(1, "x", topic: "chat.c", minutes: 1)])
        desk.receive([message(2, "x", topic: "chat.b", minutes: 2)])
        desk.press(.function(2), .alt("o"))
        #expect(desk.topics == ["chat.b", "chat.c", "chat.a", "chat.d"])
        #expect(desk.screen()[1].hasPrefix(" TOPICS by activity"))
        // The cursor stays on its topic.
        #expect(desk.model.screen.sidebar.cursor == 3)
        desk.receive([message(3, "x", topic: "chat.d", minutes: 3)])
        #expect(desk.topics == ["chat.b", "chat.c", "chat.a", "chat.d"])
        desk.press(.escape)
        #expect(desk.topics == ["chat.d", "chat.b", "chat.c", "chat.a"])
        desk.press(.alt("1"))
        #expect(desk.view == .conversation("chat.d"))
        desk.press(.down, .alt)
        #expect(desk.view == .conversation("chat.b"))
        // What is older than what is known moves nothing, and an own line is activity.
        desk.send(.past("chat.a", .history([message(1, "old", topic: "chat.a", minutes: -60)], isComplete: true)))
        #expect(desk.topics.first == "chat.d")
        desk.wait(.seconds(600))
        desk.enter("mine")
        #expect(desk.topics.first == "chat.b")

        desk.press(.function(2))
        desk.press(.down, .shift)
        #expect(desk.notice.contains("by activity"))
        desk.press(.alt("o"))
        #expect(desk.topics == ["chat.a", "chat.b", "chat.c", "chat.d"])
        #expect(desk.screen()[1].hasPrefix(" TOPICS  "))
    }

    @Test("By activity topics are joined, left and found by name as ever")
    func joining() {
        var desk = Desk.joined("chat.a", "chat.b", "chat.c")
        desk.receive([message(1, "x", topic: "chat.c", minutes: 1)])
        desk.choose("order topics activity")
        #expect(desk.topics == ["chat.c", "chat.a", "chat.b"])
        desk.press(.escape)
        desk.enter("/join chat.d")
        #expect(desk.topics == ["chat.c", "chat.a", "chat.b", "chat.d"])
        #expect(desk.screen().contains { $0.hasPrefix("▌chat.d") })
        desk.press(.alt("1"))
        desk.enter("/leave")
        #expect(desk.topics == ["chat.a", "chat.b", "chat.d"])
        #expect(desk.view == .conversation("chat.a"))
        for name in desk.topics { #expect(desk.conversation(name)?.name == name) }
    }

    @Test("Two thousand topics are kept in their order while messages come to all of them", .processorBound)
    func many() {
        var desk = Desk()
        desk.send(.start(topics: (0..<2_000).map { "room.\($0)" }))
        desk.press(.function(2), .alt("o"), .escape)
        for number in 0..<200 {
            let topic = "room.\(1_999 - number)"
            desk.receive([message(UInt64(number) + 1, "x", topic: topic, minutes: Int64(number))])
        }
        #expect(Array(desk.topics.prefix(3)) == ["room.1800", "room.1801", "room.1802"])
        #expect(Set(desk.topics).count == 2_000)
    }
}

extension Desk {
    /// The topics as the sidebar shows them.
    fileprivate var topics: [String] {
        (0..<model.network.conversations.count).compactMap { model.network.conversations.shown(at: $0)?.name }
    }
}
