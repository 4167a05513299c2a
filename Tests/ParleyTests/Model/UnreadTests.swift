import Relay
import Terminal
import Testing

@testable import Parley

@Suite("What counts as read")
struct UnreadTests {
    /// The row below the mark of what is new.
    private static func belowMark(_ desk: Desk) -> String {
        let rows = desk.screen().drop { !$0.contains("── new ─") }
        return rows.dropFirst().first ?? ""
    }

    @Test("B21: nothing counts as read while the terminal is out of focus; what came is marked new on return")
    func outOfFocus() {
        var desk = Desk.joined("chat.lobby")
        desk.receive([message(1, "seen")])
        desk.loseFocus()
        #expect(desk.effects.core.last == .connection(.setActive(false)))
        desk.receive([message(2, "missed"), message(3, "missed too")])
        #expect(desk.conversation("chat.lobby")?.unread == 2)
        #expect(desk.send(.input(.focusIn)).contains(.connection(.setActive(true))))
        #expect(desk.conversation("chat.lobby")?.unread == 0)
        #expect(Self.belowMark(desk).hasSuffix("missed"))
    }

    @Test("In a terminal that never reports its focus all in view is read, and any key says that the person is back")
    func inFront() {
        var desk = Desk.joined("chat.lobby", "chat.qa")
        desk.send(.input(.focusOut))
        desk.receive([message(1, "a")])
        desk.receive([message(2, "b", topic: "chat.qa")])
        #expect(desk.conversation("chat.lobby")?.unread == 0 && desk.conversation("chat.qa")?.unread == 1)
        desk.loseFocus()
        #expect(desk.press(.plain("x")).core.first == .connection(.setActive(true)))
    }

    @Test("B27: what came while Parley was suspended is marked new on return, and what comes then is not")
    func suspended() {
        var desk = Desk.joined("chat.lobby")
        desk.receive([message(1, "seen")])
        desk.send(.suspending)
        desk.wait(.seconds(600))
        desk.send(.resumed)
        // It arrives bit by bit, after the return.
        for (sequence, text, minutes) in [(UInt64(2), "missed", Int64(3)), (3, "missed too", 8), (4, "live", 11)] {
            desk.receive([message(sequence, text, minutes: minutes)])
        }
        #expect(desk.screen().count { $0.contains("── new ─") } == 1)
        #expect(Self.belowMark(desk).hasSuffix("missed"))
        #expect(desk.conversation("chat.lobby")?.unread == 0)
    }

    @Test("What comes after a suspension in which nothing came is not marked new")
    func suspendedQuietly() {
        var desk = Desk.joined("chat.lobby")
        desk.send(.suspending)
        desk.wait(.seconds(60))
        desk.send(.resumed)
        desk.receive([message(1, "live", minutes: 2)])
        #expect(!desk.shows("── new ─"))
    }

    @Test("With followUnread a topic out of view that has much unread rests until it is in view")
    func resting() {
        var desk = Desk.joined("chat.lobby", "chat.qa", "chat.ops", size: Size(rows: 24, columns: 100))
        func receive(_ sequences: ClosedRange<UInt64>, in topic: String) -> ChatEffects {
            desk.receive(sequences.map { message($0, "news \($0)", topic: topic) }, in: topic)
        }
        #expect(receive(1...99, in: "chat.qa") == [])
        desk.model.settings.followedUnread = 100
        #expect(receive(1...300, in: "chat.lobby") == [] && desk.model.network.resting.topics.isEmpty)
        #expect(receive(100...100, in: "chat.qa") == [.topics(.follow(topic: "chat.qa", false))])
        let lists = desk.screen().map { $0.prefix { $0 != "│" } }
        #expect(lists.contains { $0.contains("chat.qa") && $0.contains("100+") })
        // What was on its way is taken in, and changes nothing.
        #expect(receive(101...101, in: "chat.qa") == [] && desk.model.network.resting.topics == ["chat.qa"])
        #expect(desk.press(.alt("a")).contains(.topics(.follow(topic: "chat.qa", true))))
        #expect(desk.view == .conversation("chat.qa") && desk.model.network.resting.topics.isEmpty)
        // Back in the other one, it is read and followed.
        #expect(!desk.press(.alt("1")).core.contains { if case .topics(.follow) = $0 { true } else { false } })
        // Without the setting everything is followed.
        #expect(receive(1...100, in: "chat.ops") == [.topics(.follow(topic: "chat.ops", false))])
        desk.model.settings.followedUnread = nil
        #expect(desk.send(.log("a remark")) == [.topics(.follow(topic: "chat.ops", true))])
    }

    @Test("With followLetters off letters rest while the inbox is out of view, and are followed again with it")
    func restingLetters() {
        var desk = Desk.joined("chat.lobby")
        desk.model.settings.followsLetters = false
        #expect(desk.send(.log("a remark")).contains(.letters(.follow(false))))
        #expect(!desk.send(.log("another")).core.contains { if case .letters(.follow) = $0 { true } else { false } })
        #expect(desk.press(.function(3)).contains(.letters(.follow(true))))
        #expect(desk.press(.alt("1")).contains(.letters(.follow(false))))
        // What is set in a running client counts at once.
        desk.model.settings.followsLetters = true
        #expect(desk.send(.log("a remark")).contains(.letters(.follow(true))) && !desk.model.network.resting.letters)
    }

    @Test("Nothing counts as read while scrolled up; going to the end reads it")
    func scrolledUp() {
        var desk = Desk.joined("chat.lobby")
        desk.receive((1...60).map { message($0, "m\($0)") })
        desk.press(.pageUp)
        let before = desk.screen().filter { $0.contains("m4") }
        desk.receive([message(61, "fresh")])
        #expect(desk.conversation("chat.lobby")?.unread == 1)
        #expect(desk.screen().filter { $0.contains("m4") } == before)
        #expect(desk.bottom.hasSuffix("↓ 1 new"))
        desk.press(.end)
        #expect(desk.conversation("chat.lobby")?.unread == 0)
        #expect(desk.bottom.hasSuffix("⇣ bottom"))
    }

    @Test("Own lines are never unread")
    func own() throws {
        var desk = Desk.joined("chat.lobby", "chat.qa")
        let id = try desk.publish("mine")
        desk.press(.down, .alt)
        desk.receive([message(1, "mine", from: "alice", id: id)])
        #expect(desk.conversation("chat.lobby")?.unread == 0)
    }

    /// Messages in another topic, and that topic in view.
    private static func unread(_ count: Int) -> Desk {
        var desk = Desk.joined("chat.lobby", "chat.qa")
        let messages = (1...count).map { message(UInt64($0), "line \($0).", topic: "chat.qa") }
        desk.receive(messages, in: "chat.qa")
        desk.press(.alt("2"))
        return desk
    }

    @Test("Alt-u goes to where the person left off, and the bottom line names it as long as that is above the pane")
    func leftOff() {
        var desk = Self.unread(60)
        #expect(desk.conversation("chat.qa")?.unread == 0)
        #expect(desk.bottom.contains("Alt-u first unread"))
        #expect(!desk.shows("── new ─"))
        desk.press(.alt("u"))
        #expect(Self.belowMark(desk).hasSuffix(" line 1.") && !desk.bottom.contains("first unread"))
        // The arrows begin there.
        desk.press(.backTab, .down)
        #expect(desk.model.selectedRow?.text == "line 1.")

        // In view already, nothing moves.
        var few = Self.unread(3)
        #expect(!few.bottom.contains("first unread"))
        few.press(.alt("u"))
        #expect(few.conversation("chat.qa")?.scroll == .bottom)
        few.press(.backTab, .up)
        #expect(few.model.selectedRow?.text == "line 1.")
    }

    /// A topic in view in which something came while the person was elsewhere.
    private static func marked() -> Desk {
        var desk = unread(3)
        #expect(isMarked(desk))
        desk.effects = []
        return desk
    }

    private static func isMarked(_ desk: Desk) -> Bool { desk.shows("── new ─") }

    @Test("Where the person left off stays marked through a search, a glance elsewhere, and until they leave or answer")
    func markStays() {
        let stays: [(inout Desk) -> Void] = [
            { desk in
                desk.enter("/search line")
                desk.press(.escape)
            },
            { desk in
                desk.loseFocus()
                desk.send(.input(.focusIn))
            },
            { desk in
                desk.press(.control("k"), .escape)
            },
        ]
        for (place, act) in stays.enumerated() {
            var desk = Self.marked()
            act(&desk)
            #expect(desk.view == .conversation("chat.qa") && Self.isMarked(desk), "\(place)")
        }
        var left = Self.marked()
        left.press(.alt("1"), .alt("2"))
        #expect(!Self.isMarked(left))
        var answered = Self.marked()
        answered.enter("thanks")
        #expect(!Self.isMarked(answered))
        // What nobody has seen yet stays, however often it is passed by.
        var unseen = Self.unread(60)
        unseen.press(.alt("1"), .alt("2"))
        #expect(unseen.conversation("chat.qa")?.newMarker == .message(1))
        unseen.press(.alt("u"))
        #expect(Self.isMarked(unseen))
        unseen.press(.alt("1"))
        #expect(unseen.conversation("chat.qa")?.newMarker == nil)
    }

    @Test("Where the person left off stays marked until they see it, however tall the messages are and whatever comes")
    func unseenMark() {
        var desk = Desk.joined("chat.lobby", "chat.qa")
        let tall = (1...10).map { "line \($0)" }.joined(separator: "\n")
        desk.receive((1...10).map { message($0, tall, topic: "chat.qa") }, in: "chat.qa")
        desk.press(.alt("2"))
        #expect(!Self.isMarked(desk))
        desk.press(.alt("1"))
        #expect(desk.conversation("chat.qa")?.newMarker == .message(1))
        desk.receive([message(11, "more", topic: "chat.qa")])
        desk.press(.alt("2"))
        #expect(desk.conversation("chat.qa")?.newMarker == .message(1) && !Self.isMarked(desk))
        desk.press(.alt("u"))
        #expect(Self.isMarked(desk))
        desk.press(.alt("1"))
        desk.receive([message(12, "the newest", topic: "chat.qa")])
        desk.press(.alt("2"))
        #expect(desk.conversation("chat.qa")?.newMarker == .message(12))
    }

    @Test("A mark above a message that is hidden since gives way to the next one, and hidden messages take no room")
    func hiddenMark() {
        var desk = Self.unread(60)
        desk.enter("/ignore bob")
        desk.press(.alt("1"))
        desk.receive([message(61, "hello", from: "carol", topic: "chat.qa")])
        #expect(desk.conversation("chat.qa")?.newMarker == .message(61))
        desk.receive((62...99).map { message($0, "x", topic: "chat.qa") }, in: "chat.qa")
        desk.press(.alt("2"))
        #expect(Self.isMarked(desk) && desk.conversation("chat.qa")?.awaitsMarkerSeen == false)
    }

    @Test("Where the person left off stays marked while they read on from there, and not from the end on")
    func leftOffStays() {
        var desk = Self.unread(60)
        func receive(_ sequence: UInt64) {
            desk.receive([message(sequence, "line \(sequence).", topic: "chat.qa")])
        }
        desk.press(.alt("u"))
        receive(61)
        #expect(desk.conversation("chat.qa")?.unread == 1 && Self.belowMark(desk).hasSuffix(" line 1."))
        desk.press(.end)
        #expect(desk.conversation("chat.qa")?.unread == 0)
        // From the end, what comes while they look back is marked by itself.
        desk.press(.pageUp)
        receive(62)
        desk.press(.end)
        #expect(Self.belowMark(desk).hasSuffix(" line 62."))
        desk.press(.alt("u"), .alt("1"))
        receive(63)
        desk.press(.alt("2"))
        #expect(Self.belowMark(desk).hasSuffix(" line 63."))
    }

    @Test("Within a text Alt-u writes capitals; at its end it goes to where the person left off, and the text stays")
    func leftOffWithText() {
        var desk = Self.unread(60)
        desk.type("two words")
        for (key, text) in [(Key.control("a"), "two words"), (.alt("u"), "TWO words"), (.alt("u"), "TWO WORDS")] {
            desk.press(key)
            #expect(desk.text == text && desk.conversation("chat.qa")?.scroll == .bottom)
        }
        desk.press(.alt("u"))
        #expect(desk.text == "TWO WORDS" && desk.shows("── new ─"))
        // With a number the words before the cursor are meant.
        desk.press(.alt("-"), .alt("u"))
        #expect(desk.text == "TWO WORDS" && desk.model.notices.shown == nil)
    }

    @Test("Where nothing is marked as new, Alt-u says so")
    func nothingLeftOff() {
        var desk = Desk.joined("chat.lobby")
        desk.receive([message(1, "seen")])
        desk.press(.alt("u"))
        #expect(desk.bottom.contains("Nothing is marked as new here."))
        var nowhere = Desk()
        nowhere.press(.alt("u"))
        #expect(nowhere.bottom.contains("No topic is in view."))
    }

    @Test("Alt-a walks the topics in the order in which they are shown, for mentions too")
    func shownOrder() {
        for text in ["x", "alice: x"] {
            var desk = Desk.joined("chat.a", "chat.b", "chat.c")
            for (number, topic) in [(1, "chat.b"), (2, "chat.c")] {
                desk.receive([message(UInt64(number), text, topic: topic, minutes: Int64(number))])
            }
            desk.model.network.conversations.show(byActivity: true)
            for topic in ["chat.c", "chat.b"] {
                desk.press(.alt("a"))
                #expect(desk.view == .conversation(topic))
            }
        }
    }

    @Test("Whoever has gone elsewhere meanwhile is not led back")
    func jumpEnds() {
        var desk = Desk.joined("chat.a", "chat.b", "chat.c")
        desk.receive([message(1, "x", topic: "chat.b")])
        desk.press(.alt("a"), .alt("3"), .alt("a"))
        #expect(desk.view == .conversation("chat.c") && desk.notice == "Nothing is unread.")
    }

    @Test("The title names who, where, and the unread count, without controls")
    func title() {
        var desk = Desk.joined("a", "b")
        desk.model.network.identity.user = "al\u{1B}]0;x\u{7}ice"
        desk.receive([message(1, "x", topic: "b")])
        #expect(desk.model.screen.title.hasPrefix("(1) parley al"))
        #expect(desk.model.screen.title.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7F })
    }
}
