import Testing

@testable import Relay

/// Pages and events that show each letter once.
@Suite("Letters of pages and of the subscription, merged")
struct LetterMergeTests {
    private func letter(_ id: String, postbox: String = "personal") -> PostboxMessage {
        let now = Timestamp(milliseconds: 0)
        return PostboxMessage(
            id: id, createdAt: now, updatedAt: now, ownerId: "alice", sudoId: "alice", postboxId: postbox, message: id)
    }

    private func unreadable(_ id: String) -> UnreadableLetter {
        UnreadableLetter(id: id, createdAt: Timestamp(milliseconds: 0), postboxId: "personal", bytes: 1)
    }

    @Test("B41 a letter is on a page or an event, whichever is first, and never both")
    func once() {
        var merge = LetterMerge()
        let page = ListOutput(items: [letter("1"), letter("2")], nextToken: "more", unreadable: [unreadable("3")])
        #expect(merge.new(of: page) == page)
        let events: [(PostboxEvent, Bool)] = [
            (.message(letter("2")), false), (.unreadable(unreadable("3")), false), (.message(letter("4")), true),
            (.message(letter("4")), false), (.unreadable(unreadable("5")), true), (.status(.connecting), true),
            (.status(.connecting), true), (.gap(lost: 2), true),
        ]
        for (event, isNew) in events {
            #expect(merge.isNew(event) == isNew)
        }
        let next = ListOutput(
            items: [letter("4"), letter("6")], nextToken: nil, unreadable: [unreadable("5"), unreadable("7")])
        #expect(merge.new(of: next) == ListOutput(items: [letter("6")], nextToken: nil, unreadable: [unreadable("7")]))
    }

    @Test("B41 however many pages come before the letters that came as events, each letter is there once")
    func manyPages() {
        func id(_ sequence: UInt64) -> String { PostboxMessageID(incarnation: 7, sequence: sequence).text }
        var merge = LetterMerge()
        // The subscription began behind the twenty thousandth letter.
        let heard = (20_001...20_010 as ClosedRange<UInt64>).filter { merge.isNew(.message(letter(id($0)))) }
        #expect(heard == Array(20_001...20_010))
        var listed: [String] = []
        for first in stride(from: 1 as UInt64, through: 20_012, by: 100) {
            let items = (first...min(first + 99, 20_012)).map { letter(id($0)) }
            listed += merge.new(of: ListOutput(items: items, nextToken: nil)).items.map(\.id)
        }
        #expect(listed == ((1...20_000).map(id) + [20_011, 20_012].map(id)))
        // What a page had before it came as an event is not told again, and what comes then is.
        #expect((20_011...20_013 as ClosedRange<UInt64>).filter { merge.isNew(.message(letter(id($0)))) } == [20_013])
    }

    @Test("B41 of one postbox no other letters come")
    func onePostbox() {
        var merge = LetterMerge(postbox: "work")
        let (other, wanted) = (
            merge.isNew(.message(letter("1"))), merge.isNew(.message(letter("2", postbox: "work")))
        )
        #expect(!other && wanted)
    }
}
