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
            let found = merge.isNew(event)
            #expect(found == isNew)
        }
        let next = ListOutput(
            items: [letter("4"), letter("6")], nextToken: nil, unreadable: [unreadable("5"), unreadable("7")])
        let rest = merge.new(of: next)
        #expect(rest == ListOutput(items: [letter("6")], nextToken: nil, unreadable: [unreadable("7")]))
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
