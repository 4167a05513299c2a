import Relay
import Terminal
import Testing

@testable import Parley

@Suite("The postbox's pages")
struct InboxPageTests {

    /// The rows below the heading, without the sidebar.
    private func main(_ desk: Desk) -> [String] {
        desk.screen().dropFirst(2).dropLast().map { row in
            row.split(separator: "│", maxSplits: 1).last.map { String($0) } ?? ""
        }
    }

    /// A letter as the network stores it, which has its place in its id.
    private func stored(_ sequence: UInt64) -> PostboxMessage {
        let id = PostboxMessageID(incarnation: 7, sequence: sequence).text
        return PostboxMessage(
            id: id, createdAt: Desk.wall, updatedAt: Desk.wall, ownerId: "alice", sudoId: "s1", postboxId: "b1",
            message: "letter \(sequence)", from: "bob")
    }

    /// The places of the letters that are shown.
    private func numbers(_ desk: Desk) -> [UInt64] { desk.letterIDs.compactMap { PostboxMessageID($0)?.sequence } }

    // MARK: Letters that come meanwhile

    @Test("B41: a letter that comes while a page is being listed is there afterwards, once")
    func arrival() {
        var desk = Desk.joined("chat.lobby")
        desk.press(.function(3))
        for number in 4...6 { desk.send(.postbox(.created(letter(number)))) }
        // The list was made between the second and the third of them.
        desk.answerPage([letter(5), letter(4), letter(3)])
        #expect(desk.letterIDs == ["l6", "l5", "l4", "l3"])
        desk.press(.control("r"))
        desk.send(.postbox(.created(letter(7))))
        #expect(desk.letterIDs.first == "l7")
        desk.answerPage([letter(6), letter(5), letter(4), letter(3)])
        #expect(desk.letterIDs == ["l7", "l6", "l5", "l4", "l3"])
        desk.press(.control("r"))
        desk.answerPage([letter(7), letter(6)])
        #expect(desk.letterIDs == ["l7", "l6"])
    }

    @Test("B41: what a list lacks because it was deleted meanwhile does not come back")
    func deletedMeanwhile() {
        var desk = Desk.joined("chat.lobby")
        desk.press(.function(3))
        for number in 4...5 { desk.send(.postbox(.created(letter(number)))) }
        desk.answerPage([letter(5), letter(3)])
        #expect(desk.letterIDs == ["l5", "l3"])
    }

    @Test("B41: in a list of the oldest, letters that come meanwhile stand at the end of its last page alone")
    func oldestFirst() {
        var desk = Desk.inbox([letter(2), letter(1)])
        #expect(desk.press(.alt("o")).isListing(token: nil, order: .oldestFirst))
        desk.send(.postbox(.created(letter(3))))
        desk.answerPage([letter(1)], next: "t2")
        #expect(desk.letterIDs == ["l1"] && desk.shows("oldest first ─ 1 newer"))
        #expect(desk.press(.alt("n")).isListing(token: "t2", order: .oldestFirst))
        desk.send(.postbox(.created(letter(4))))
        desk.answerPage([letter(2), letter(3)])
        #expect(desk.letterIDs == ["l2", "l3", "l4"])
    }

    @Test("B41: a letter of another postbox does not come into this one's page")
    func otherBox() {
        var desk = Desk.inbox([letter(1)])
        desk.press(.function(2), .down, .enter)
        desk.send(.postbox(.created(letter(2, box: "b2"))))
        desk.send(.postbox(.created(letter(3))))
        desk.answerPage([letter(1)])
        #expect(desk.letterIDs == ["l3", "l1"])
    }

    @Test("Another postbox begins with nothing marked and no letter open")
    func anotherBox() {
        var desk = Desk.inbox([letter(1), letter(2)])
        desk.press(.insert, .enter)
        #expect(desk.inbox.marked == ["l1"] && desk.inbox.open == "l2")
        desk.press(.function(2), .down, .enter)
        desk.answerPage([letter(1)])
        #expect(desk.view == .inbox("b1") && desk.inbox.marked.isEmpty && desk.inbox.open == nil)
    }

    @Test("The cursor stays on its letter while others come and go, and the open letter stays open")
    func position() {
        var desk = Desk.inbox((1...30).map { letter(31 - $0) })
        for _ in 0..<25 { desk.press(.down) }
        desk.press(.enter)
        let before = main(desk)
        let selected = desk.inbox.selectedLetter?.id
        desk.send(.postbox(.created(letter(31))))
        #expect(desk.inbox.selectedLetter?.id == selected && desk.inbox.open == selected)
        #expect(main(desk) == before)
        desk.press(.control("r"))
        desk.answerPage((1...31).map { letter(32 - $0) }.filter { $0.id != "l20" })
        #expect(desk.inbox.selectedLetter?.id == selected)
        // Where it is gone, the cursor is on the next one.
        desk.press(.control("r"))
        desk.answerPage((1...31).map { letter(32 - $0) }.filter { $0.id != selected })
        #expect(desk.inbox.selectedLetter?.id == "l4" && desk.inbox.open == nil)
    }

    @Test("The first page keeps its length while letters come: what it has no room for is on the next page")
    func length() throws {
        let size = UInt64(Desk.inbox([]).model.network.inbox.pageSize)
        var desk = Desk.inbox((1...size).reversed().map(stored))
        for sequence in size + 1...size + 3 { desk.send(.postbox(.created(stored(sequence)))) }
        #expect(numbers(desk) == Array((4...size + 3).reversed()))
        // The next page begins with what was pushed off this one.
        let token = PageToken(incarnation: 7, sequence: 3, order: .newestFirst).text
        #expect(desk.press(.alt("n")).isListing(token: token, order: .newestFirst))
        // The letter under the cursor stays.
        var last = Desk.inbox((1...size).reversed().map(stored))
        last.press(.end)
        last.send(.postbox(.created(stored(size + 1))))
        #expect(numbers(last) == Array((1...size + 1).reversed()) && last.inbox.selected == Int(size))

        // In a list of the oldest the new ones are on the next page.
        var oldest = Desk.inbox([])
        oldest.press(.alt("o"))
        oldest.answerPage((1...size).map(stored))
        for sequence in size + 1...size + 2 { oldest.send(.postbox(.created(stored(sequence)))) }
        #expect(numbers(oldest) == Array(1...size) && oldest.shows("─ 2 newer"))
        let next = PageToken(incarnation: 7, sequence: size + 1, order: .oldestFirst).text
        #expect(oldest.press(.alt("n")).isListing(token: next, order: .oldestFirst))
    }

    @Test("Until the person chooses a letter, the newest one is selected, in view", arguments: [0, 1, 5] as [UInt64])
    func newest(before: UInt64) {
        var desk = Desk.inbox((0..<before).reversed().map { stored($0 + 1) })
        let size = UInt64(desk.inbox.pageSize)
        let last = before + 40
        for sequence in before + 1...last { desk.send(.postbox(.created(stored(sequence)))) }
        #expect(numbers(desk) == Array((last - size + 1...last).reversed()))
        #expect(desk.inbox.selected == 0)
        #expect(main(desk).first?.contains("letter \(last)") == true)
        #expect(!main(desk).contains { $0.hasSuffix("↑") })
    }

    @Test("A letter that the person has chosen stays selected, and arrows say that there are others out of view")
    func chosen() {
        var desk = Desk.inbox([stored(2), stored(1)])
        desk.press(.down)
        for sequence: UInt64 in 3...42 { desk.send(.postbox(.created(stored(sequence)))) }
        #expect(numbers(desk).count == 42 && desk.inbox.selectedLetter?.id == stored(1).id)
        #expect(main(desk).first?.hasSuffix("↑") == true && !main(desk).contains { $0.hasSuffix("↓") })
        desk.press(.home)
        #expect(main(desk).first?.contains("letter 42") == true)
        #expect(!main(desk).contains { $0.hasSuffix("↑") } && main(desk).contains { $0.hasSuffix("↓") })
        // Whoever reads the first letter has chosen it.
        var reading = Desk.inbox([stored(1)])
        reading.press(.enter)
        for sequence: UInt64 in 2...41 { reading.send(.postbox(.created(stored(sequence)))) }
        #expect(reading.inbox.selectedLetter?.id == stored(1).id)
    }

    @Test("The first letter of another page, of what a filter finds, and of a list that was empty is nobody's choice")
    func notChosen() {
        var turned = Desk.inbox([letter(3), letter(2)], next: "t2")
        turned.press(.end, .alt("n"))
        turned.answerPage([letter(1)])
        turned.press(.alt("p"))
        turned.answerPage([letter(3), letter(2)], next: "t2")
        turned.send(.postbox(.created(letter(4))))
        #expect(turned.inbox.selectedLetter?.id == "l4")

        var filtered = Desk.inbox([letter(2, "lunch"), letter(1, "the build")])
        filtered.press(.end, .alt("l"))
        filtered.enter("lunch")
        filtered.send(.postbox(.created(letter(3, "lunch again"))))
        #expect(filtered.letterIDs == ["l3", "l2"] && filtered.inbox.selectedLetter?.id == "l3")

        var emptied = Desk.inbox([letter(2), letter(1)])
        emptied.press(.end, .control("a"), .delete)
        emptied.wait(.seconds(5))
        emptied.send(.postbox(.deleted(BulkDeletion(deleted: ["l2", "l1"]))))
        for number in 3...4 { emptied.send(.postbox(.created(letter(number)))) }
        #expect(emptied.letterIDs == ["l4", "l3"] && emptied.inbox.selectedLetter?.id == "l4")
        // A key in an empty list chooses nothing.
        var empty = Desk.inbox([])
        empty.press(.down)
        for number in 1...2 { empty.send(.postbox(.created(letter(number)))) }
        #expect(empty.inbox.selectedLetter?.id == "l2")
    }

    // MARK: Pages

    @Test("B45: the newest letters come first, by a key the oldest, with the list's own order on the screen")
    func order() {
        var desk = Desk.joined("chat.lobby")
        #expect(desk.press(.function(3)).isListing(token: nil, order: .newestFirst))
        desk.answerPage([letter(2), letter(1)])
        #expect(desk.press(.alt("o")).isListing(token: nil, order: .oldestFirst))
        // What was there stays until the answer.
        #expect(desk.letterIDs == ["l2", "l1"])
        desk.answerPage([letter(1), letter(2)])
        #expect(desk.letterIDs == ["l1", "l2"] && desk.shows("oldest first"))
        #expect(desk.press(.alt("o")).isListing(token: nil, order: .newestFirst))
    }

    @Test(
        "A page has as many letters as the window has rows, within bounds", arguments: [(6, 5), (24, 19), (300, 100)])
    func pageSize(rows: Int, letters: Int) {
        var desk = Desk.joined("chat.lobby", size: Size(rows: rows, columns: 80))
        guard case .letters(.listPage(_, nil, nil, letters, .newestFirst))? = desk.press(.function(3)).core.first else {
            Issue.record("\(desk.effects)")
            return
        }
    }

    @Test("Another size of the window lists nothing again; the next page has it")
    func resizing() {
        var desk = Desk.inbox((1...19).map { letter($0) }, next: "t2")
        #expect(desk.send(.resized(Size(rows: 34, columns: 100))) == [])
        #expect(desk.inbox.letters.count == 19)
        guard case .letters(.listPage(_, nil, "t2", 29, _))? = desk.press(.alt("n")).core.first else {
            Issue.record("\(desk.effects)")
            return
        }
    }

    @Test("The heading says which page it is, and of how many as far as that is known")
    func heading() {
        var desk = Desk.inbox((1...19).map { letter($0) }, next: "t2")
        #expect(desk.shows("page 1, more ▸"))
        desk.send(.postbox(.counts(["b1": 200, "b2": 20])))
        #expect(desk.shows("page 1 of about 12"))
        desk.press(.alt("n"))
        desk.answerPage((20...38).map { letter($0) }, next: "t3")
        #expect(desk.shows("page 2 of about 12"))
        // What the count says is not what the list does: there is another page, or there is none.
        desk.send(.postbox(.counts(["b1": 1, "b2": 0])))
        #expect(desk.shows("page 2 of about 3"))
        desk.press(.alt("n"))
        desk.answerPage([letter(39)])
        #expect(desk.shows("page 3 of 3"))
    }

    @Test("The last page is the list's own end, and pages go back from there")
    func lastPage() {
        var desk = Desk.inbox([letter(9), letter(8)], next: "t2")
        desk.send(.postbox(.counts(["b1": 200])))
        #expect(desk.press(.alt(">")).isListing(token: nil, order: .oldestFirst))
        desk.answerPage([letter(1), letter(2)], next: "e2")
        #expect(desk.letterIDs == ["l2", "l1"] && desk.shows("last page of about 11"))
        desk.press(.alt("n"))
        #expect(desk.notice == "This is the last page.")
        #expect(desk.press(.alt("p")).isListing(token: "e2", order: .oldestFirst))
        desk.answerPage([letter(3), letter(4)], next: "e3")
        #expect(desk.letterIDs == ["l4", "l3"] && desk.shows("second to last page of about 11"))
        // New letters come on the first page, and this is none.
        desk.send(.postbox(.created(letter(10))))
        #expect(desk.letterIDs == ["l4", "l3"])
        #expect(desk.press(.alt("n")).isListing(token: nil, order: .oldestFirst))
        desk.answerPage([letter(1), letter(2)], next: "e2")
        #expect(desk.press(.alt("<")).isListing(token: nil, order: .newestFirst))
        desk.answerPage([letter(10), letter(9)], next: "t2")
        #expect(desk.letterIDs == ["l10", "l9"] && desk.shows("page 1 of about"))
    }

    @Test("A token that is not valid any more leads to the first page")
    func staleToken() throws {
        var desk = Desk.inbox([letter(2)], next: "t2")
        desk.press(.alt("n"))
        let request = try #require(desk.inbox.fetch?.request)
        #expect(desk.send(.postbox(.pageFailed(request: request, .invalidToken))).isListing(token: nil))
    }

    // MARK: Marks

    @Test("Marks stay over pages, and the heading says how many there are and how many of them here")
    func marks() {
        var desk = Desk.inbox((1...5).map { letter($0) }, next: "t2")
        for _ in 1...3 { desk.press(.insert) }
        #expect(desk.shows("─ 3 marked") && !desk.shows("on this page"))
        desk.press(.alt("n"))
        desk.answerPage([letter(6), letter(7)])
        #expect(desk.shows("3 marked, 0 on this page"))
        desk.press(.control("a"))
        #expect(desk.shows("5 marked, 2 on this page"))
        desk.press(.control("a"))
        #expect(desk.shows("3 marked, 0 on this page"))
        desk.press(.alt("p"))
        desk.answerPage((1...5).map { letter($0) }, next: "t2")
        #expect(desk.inbox.marked == ["l1", "l2", "l3"] && desk.screen().count { $0.contains("*") } == 3)
        desk.press(.alt("t"))
        #expect(desk.inbox.marked.isEmpty)
    }

    @Test("Letters that another device has deleted lose their marks with the next list; what has moved on keeps them")
    func ghosts() {
        var desk = Desk.inbox([letter(5), letter(4), letter(3)], next: "t2")
        desk.press(.control("a"), .control("r"))
        desk.answerPage([letter(7), letter(6), letter(4)], next: "t3")
        #expect(desk.inbox.marked == ["l3", "l4"])
        desk.press(.control("r"))
        desk.answerPage([letter(7), letter(6)])
        #expect(desk.inbox.marked == ["l3"])
    }

    @Test("A range is marked from the last mark to here, in either direction")
    func range() {
        var desk = Desk.inbox((1...9).map { letter($0) })
        desk.press(.alt("m"))
        #expect(desk.inbox.marked.isEmpty && desk.notice.contains("mark the first one"))
        for _ in 0..<3 { desk.press(.down) }
        desk.press(.insert)
        for _ in 0..<2 { desk.press(.down) }
        desk.press(.alt("m"))
        #expect(desk.inbox.marked == ["l4", "l5", "l6", "l7"])
        desk.press(.home, .alt("m"))
        #expect(desk.inbox.marked.count == 7)
    }

    @Test("So many letters can be marked and no more")
    func markLimit() {
        var desk = Desk.inbox([letter(1)])
        desk.model.mark((1_001...Inbox.markLimit + 1_000).map { letter($0) })
        desk.press(.insert)
        #expect(desk.inbox.marked.count == Inbox.markLimit)
        #expect(desk.notice == "10,000 letters can be marked, no more.")
    }
}
