import Relay
import Terminal
import Testing

@testable import Parley

@Suite("Letters that cannot be read")
struct UnreadableLetterTests {
    private static func id(_ sequence: UInt64) -> String { PostboxMessageID(incarnation: 1, sequence: sequence).text }

    private static func unreadable(_ sequence: UInt64) -> UnreadableLetter {
        UnreadableLetter(id: id(sequence), createdAt: Desk.wall, postboxId: "b2", from: "mallory", bytes: 12)
    }

    private static func page(_ sequences: [UInt64], unreadable: [UInt64]) -> ListOutput<PostboxMessage> {
        let letters = sequences.map { sequence in
            var letter = letter(Int(sequence), "letter \(sequence)")
            letter.id = id(sequence)
            return letter
        }
        return ListOutput(items: letters, nextToken: "t", unreadable: unreadable.map { Self.unreadable($0) })
    }

    @Test("B49: on its page each stands in its place, in either order")
    func places() {
        let forwards = Self.page([1, 3, 4], unreadable: [2, 5]).withUnreadable(.oldestFirst)
        #expect(forwards.items.map(\.id) == [1, 2, 3, 4, 5].map { Self.id($0) })
        let backwards = Self.page([4, 3, 1], unreadable: [5, 2]).withUnreadable(.newestFirst)
        #expect(backwards.items.map(\.id) == [5, 4, 3, 2, 1].map { Self.id($0) })
        #expect(backwards.nextToken == "t" && backwards.unreadable.isEmpty)
        let whole = Self.page([1, 2], unreadable: [])
        #expect(whole.withUnreadable(.oldestFirst) == whole)
    }

    @Test("B49: it is shown as what it is, and can be deleted like any other")
    func shown() throws {
        var desk = Desk.inbox(Self.page([2], unreadable: [1]).withUnreadable(.newestFirst).items)
        #expect(desk.screen().contains { $0.contains("mallory") && $0.contains("(a letter of 12 bytes that") })
        desk.press(.end, .delete)
        desk.effects = []
        desk.wait(.seconds(5))
        let id = Self.id(1)
        #expect(desk.effects.contains(.letters(.delete(ids: [id]))))
    }

    @Test("B49: what is shown of it is not its text: it is not quoted, sent on, saved or read whole as if it were")
    func refused() {
        func opened() -> Desk {
            var desk = Desk.inbox(Self.page([2], unreadable: [1]).withUnreadable(.newestFirst).items)
            desk.press(.end)
            return desk
        }
        var desk = opened()
        let ways: [(inout Desk) -> Void] = [
            { _ = $0.press(.alt("q")) }, { _ = $0.press(.alt("f")) }, { _ = $0.press(.alt("s")) },
            { _ = $0.enter("/save letter.txt") }, { $0.model.readWhole() },
        ]
        for way in ways {
            var copy = opened()
            way(&copy)
            #expect(copy.notice == "This letter cannot be read; it can be deleted.")
            #expect(!copy.text.contains("(a letter") && copy.view == desk.view)
            #expect(!copy.effects.core.contains { if case .letters(.save) = $0 { true } else { false } })
        }
        // Its sender is known, and can be told.
        desk.press(.alt("r"))
        #expect(desk.text == "/post mallory/personal ")
    }
}
