import Relay
import Terminal
import Testing

@testable import Parley

/// Programs that read the screen aloud, or that enlarge a part of it, go by the terminal's own cursor.
@Suite("The cursor on what is selected")
struct SelectionCursorTests {
    private static let sizes = [
        Size(rows: 40, columns: 120), Size(rows: 24, columns: 80), Size(rows: 12, columns: 40),
    ]

    /// A list, the key with which it goes on, and what the rows have that it leads to, the first one first.
    private struct List {
        let name: String
        var desk: Desk
        var key = Key(.down)
        let rows: [String]
    }

    private static func allLists(_ size: Size) -> [List] {
        var topics = Desk.joined("chat.one", "chat.two", "chat.three", size: size)
        topics.press(.function(2))
        let names = ["bob", "carol", "dave"]
        let letters = Desk.inbox(names.enumerated().map { letter($0.offset, "a letter", from: $0.element) }, size: size)
        return [
            List(name: "topics", desk: topics, rows: ["chat.one", "chat.two", "chat.three"]),
            List(name: "letters", desk: letters, rows: names),
            List(name: "search", desk: search(names, size), rows: names),
            List(name: "messages", desk: conversation(size), key: Key(.up), rows: ["third", "second", "first"]),
            List(name: "joined", desk: joined(size), rows: ["chat.one", "chat.two", "chat.three"]),
            List(name: "postboxes", desk: postboxes(size), rows: ["personal", "work", "shop"]),
        ]
    }

    private static func conversation(_ size: Size) -> Desk {
        var desk = Desk.joined("chat.lobby", size: size)
        let texts = ["first", "second", "third"]
        desk.receive(texts.enumerated().map { message(UInt64($0.offset + 1), $0.element) })
        desk.press(.backTab, .up)
        return desk
    }

    private static func search(_ names: [String], _ size: Size) -> Desk {
        var desk = Desk.joined("chat.lobby", size: size)
        desk.enter("/search build")
        let stream = StreamIdentity(name: "local_stream", incarnation: 7)
        let items = names.enumerated().map { place, name in
            FoundItem.message(
                FoundMessage(
                    topic: "chat.lobby", place: KeptPlace(stream: stream, sequence: UInt64(9 - place)), id: "m\(place)",
                    from: name, time: Desk.wall, text: "the build"))
        }
        desk.answer(items)
        return desk
    }

    private static func joined(_ size: Size) -> Desk {
        var desk = Desk.joined("chat.one", "chat.two", "chat.three", size: size)
        desk.enter("/topics")
        return desk
    }

    private static func postboxes(_ size: Size) -> Desk {
        var desk = Desk.joined("chat.lobby", size: size)
        desk.send(.postbox(.boxes(["personal", "work", "shop"].map { postbox($0, $0) })))
        desk.enter("/postbox")
        return desk
    }

    @Test(
        "In each list the cursor is on the selected row, which stands out, and goes along with it",
        arguments: sizes + [ScreenLayout.minimum])
    func lists(size: Size) throws {
        for var list in Self.allLists(size) {
            for (place, words) in list.rows.enumerated() {
                if place > 0 { list.desk.press(list.key) }
                let frame = render(list.desk.model, size: size, now: list.desk.model.now.instant)
                let cursor = try #require(frame.cursor, "\(list.name), \(words)")
                let isMarked = frame[cursor.row, cursor.column].style.attributes.contains(.reverse)
                let row = frame.text(row: cursor.row)
                // On the smallest screen there may be no room for the words.
                #expect(isMarked, "\(list.name), \(words): \(frame.rows)")
                #expect(size == ScreenLayout.minimum || row.contains(words), "\(list.name), \(words): \(row)")
            }
        }
    }

    @Test("A list that is only read has no cursor, and the one that is written in has it where the next letter goes")
    func others() {
        var desk = Desk.joined("chat.lobby")
        desk.press(.function(1))
        #expect(render(desk.model, size: desk.model.size, now: desk.model.now.instant).cursor == nil)
        desk.press(.escape)
        desk.type("hello")
        let frame = render(desk.model, size: desk.model.size, now: desk.model.now.instant)
        #expect(frame.cursor.map { frame.text(row: $0.row) } == " > hello" && frame.cursor?.column == 8)
        desk.press(.control("g"))
        desk.type("lob")
        let palette = render(desk.model, size: desk.model.size, now: desk.model.now.instant)
        let row = palette.cursor.map { palette.text(row: $0.row) }
        #expect(row?.contains("> lob") == true, "\(palette.rows)")
    }
}
