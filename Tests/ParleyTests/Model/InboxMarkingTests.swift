import Relay
import Terminal
import Testing

@testable import Parley

@Suite("Marking letters on every page")
struct InboxMarkingTests {

    /// The postbox with 250 letters, of which a page is shown, and a filter if one is given.
    private static func desk(filter: String? = nil, size: Size = Size(rows: 24, columns: 120)) -> Desk {
        var desk = Desk.inbox((232...250).reversed().map { letter($0) }, next: "t2", size: size)
        desk.send(.postbox(.counts(["b1": 150, "b2": 100])))
        if let filter {
            desk.filter(filter)
        }
        desk.effects = []
        return desk
    }

    /// Letters from the oldest on; each tenth is about lunch.
    private static func portion(_ numbers: ClosedRange<Int>, next: String? = nil) -> LetterPortion {
        LetterPortion(
            letters: numbers.map { letter($0, $0.isMultiple(of: 10) ? "Lunch?" : "The build is green.") },
            nextToken: next)
    }

    @Test("Alt-* marks what the filter finds on every page, says in the heading how far it is, and how many at the end")
    func matching() {
        var desk = Self.desk(filter: "lunch")
        #expect(desk.press(.alt("*")).isReading(token: nil))
        #expect(desk.shows("postbox ─ 0 marked, 0 of 250 looked at, Esc stops"))
        #expect(desk.answerPortion(Self.portion(1...100, next: "p2")).isReading(token: "p2", from: .network))
        #expect(desk.shows("postbox ─ 10 marked, 100 of 250 looked at, Esc stops"))
        #expect(desk.answerPortion(Self.portion(101...200, next: "p3")).isReading(token: "p3", from: .network))
        #expect(desk.answerPortion(Self.portion(201...250)) == [])
        #expect(desk.inbox.marked.count == 25 && desk.inbox.marking == nil)
        #expect(desk.notice == "All 25 letters that match are marked.")
        // They are deleted as marks on other pages are, after a question with their number.
        desk.press(.escape, .delete)
        #expect(desk.bottom.contains("Delete 25 letters from personal, 23 of them not in view? y/N"))
    }

    @Test("Without a filter all letters of the list are marked, those of one postbox where that is open")
    func all() {
        var desk = Self.desk()
        desk.press(.function(2), .down, .enter)
        desk.answerPage([letter(250)])
        #expect(desk.press(.alt("*")).isReading(token: nil, box: "b1"))
        #expect(desk.shows("postbox personal ─ 0 marked, 0 of 150 looked at"))
        desk.answerPortion(Self.portion(1...100, next: "p2"))
        desk.answerPortion(Self.portion(101...150))
        #expect(desk.inbox.marked.count == 150)
        #expect(desk.notice == "All 150 letters are marked.")
    }

    @Test("The person goes on meanwhile: reads, turns pages and writes, and the marks go on")
    func meanwhile() {
        var desk = Self.desk(filter: "lunch")
        desk.press(.alt("*"), .alt("n"))
        desk.answerPage([letter(230), letter(229)], next: "t3")
        desk.answerPortion(Self.portion(1...100, next: "p2"))
        desk.press(.function(4))
        desk.type("a line")
        #expect(desk.text == "a line")
        desk.answerPortion(Self.portion(101...130))
        #expect(desk.inbox.marked.count == 13 && desk.inbox.marking == nil)
    }

    @Test(
        "A filter of which a word is not finished marks nothing, and says so",
        arguments: ["is:unr", "lunch is:", "from:"])
    func unfinished(filter: String) {
        var desk = Self.desk(filter: filter)
        #expect(desk.press(.alt("*")) == [])
        #expect(desk.inbox.marking == nil && desk.notice == "The filter is not finished.")
        // One in which nothing stands is none.
        var blank = Self.desk()
        blank.press(.alt("l"))
        blank.type(" ")
        blank.press(.alt("*"))
        #expect(blank.inbox.marking?.filter == nil && blank.inbox.marking != nil)
    }

    @Test("What is unread is what was read neither here nor earlier on this machine")
    func unread() {
        var desk = Self.desk(filter: "is:unread")
        desk.press(.alt("*"))
        var portion = Self.portion(1...10)
        portion.readIDs = ["l1", "l2", "l3"]
        desk.answerPortion(portion)
        #expect(desk.inbox.marked == Set((4...10).map { "l\($0)" }))
    }

    @Test("Escape stops it, keeps the marks and says how many letters were looked at")
    func stop() {
        var desk = Self.desk(filter: "lunch")
        desk.press(.alt("*"))
        desk.answerPortion(Self.portion(1...100, next: "p2"))
        let late = desk.inbox.marking?.request ?? 0
        desk.press(.escape)
        #expect(desk.notice == "Stopped. 10 letters are marked of the 100 that were looked at.")
        #expect(desk.inbox.filter != nil && !desk.shows("looked at, Esc"))
        // What was on its way changes nothing any more.
        #expect(desk.send(.postbox(.portion(request: late, Self.portion(101...200, next: "p3")))) == [])
        #expect(desk.inbox.marked.count == 10)
    }

    @Test("A connection that is lost meanwhile is told, and the marks made so far stay")
    func failed() {
        var desk = Self.desk()
        desk.press(.alt("*"))
        desk.answerPortion(Self.portion(1...100, next: "p2"))
        desk.send(.postbox(.portionFailed(request: desk.inbox.marking?.request ?? 0, .notConnected)))
        #expect(desk.inbox.marked.count == 100 && desk.inbox.marking == nil)
        #expect(desk.model.notices.shown?.kind == .failure)
        #expect(
            desk.notice.hasPrefix(
                "100 letters are marked of the 100 that were looked at. The others could not be listed."))
    }

    @Test("Without a connection it says that these are the letters that are kept here, and nothing found is said so")
    func kept() {
        var desk = Self.desk(filter: "lunch")
        desk.press(.alt("*"))
        var portion = Self.portion(10...10)
        portion.source = .kept
        desk.answerPortion(portion)
        #expect(
            desk.notice == "The only letter that matches is marked. "
                + "Without a connection these are the ones that are kept here.")
        desk.press(.alt("*"))
        desk.answerPortion(Self.portion(1...9))
        #expect(desk.notice == "No letter matches.")
    }

    @Test("No more are marked than can be, and no letter that is being deleted")
    func limit() {
        var desk = Self.desk()
        desk.model.mark((1_001...Inbox.markLimit + 995).map { letter($0) })
        desk.press(.alt("*"))
        desk.answerPortion(Self.portion(1...100, next: "p2"))
        #expect(desk.inbox.marked.count == Inbox.markLimit && desk.inbox.marking == nil)
        #expect(desk.notice.hasPrefix("10,000 letters are marked, no more can be. 5 letters are"))

        var deleting = Self.desk()
        deleting.press(.delete)
        #expect(deleting.inbox.deletion.steps.flatMap(\.ids) == ["l250"])
        deleting.press(.alt("*"))
        deleting.answerPortion(Self.portion(249...250))
        #expect(deleting.inbox.marked == ["l249"])
    }

    @Test("A portion that was read before a deletion was over is read again, so that nothing is marked that is gone")
    func outdated() {
        var desk = Self.desk()
        desk.press(.delete)
        desk.wait(.seconds(5))
        desk.press(.alt("*"))
        desk.answerPortion(Self.portion(1...100, next: "p2"))
        desk.send(.postbox(.deleted(BulkDeletion(deleted: ["l250"]))))
        #expect(desk.answerPortion(Self.portion(249...250)).isReading(token: "p2", from: .network))
        #expect(desk.inbox.marked.count == 100)
        desk.answerPortion(Self.portion(249...249))
        #expect(desk.inbox.marked.count == 101 && desk.inbox.isMarked("l249"))
        #expect(desk.notice == "All 101 letters are marked.")
    }

    @Test("Nothing is deleted while letters are being marked, and taking all marks away ends it")
    func unmark() {
        var desk = Self.desk()
        desk.press(.alt("*"))
        desk.answerPortion(Self.portion(1...100, next: "p2"))
        #expect(desk.press(.delete) == [])
        #expect(desk.overlay == nil && desk.inbox.deletion.steps.isEmpty)
        #expect(desk.notice == "Letters are still being marked; Esc stops that.")
        #expect(desk.press(.alt("*")) == [])
        desk.press(.alt("t"))
        #expect(desk.inbox.marked.isEmpty && desk.inbox.marking == nil)
    }

    @Test("Whoever leaves the postbox has it end, and is told so")
    func leaving() {
        var desk = Self.desk()
        desk.press(.alt("*"), .alt("1"))
        #expect(desk.answerPortion(Self.portion(1...100, next: "p2")) == [])
        #expect(desk.inbox.marking == nil)
        let words = "The list was left, so no more letters are marked there."
        #expect(desk.notice == "\(words) No letter was looked at.")

        // Another list ends it at once.
        var other = Self.desk()
        other.press(.alt("*"))
        other.answerPortion(Self.portion(1...100, next: "p2"))
        other.press(.function(2), .down, .enter)
        #expect(other.view == .inbox("b1") && other.inbox.marking == nil)
        #expect(other.notice == "\(words) 100 letters are marked of the 100 that were looked at.")
    }

    @Test("Escape stops it in the list alone: what is read whole is closed, and the marks go on")
    func escapeElsewhere() {
        var desk = Self.desk()
        desk.press(.alt("*"), .function(4), .escape)
        #expect(desk.view == .inbox(nil) && desk.inbox.marking != nil)
        desk.press(.escape)
        #expect(desk.view == .inbox(nil) && desk.inbox.marking == nil)
    }

    @Test("This machine's letters are read where they are as many as the network's and the newest one is among them")
    func source() {
        let counts = ["b1": 5, "b2": 2, "empty": 0]
        #expect(LetterPortion.Source.of(nil, counts: counts, kept: ["b1": 5, "b2": 2]) == .store)
        #expect(LetterPortion.Source.of(nil, counts: counts, kept: ["b1": 5, "b2": 1]) == .network)
        #expect(LetterPortion.Source.of("b1", counts: counts, kept: ["b1": 5]) == .store)
        #expect(LetterPortion.Source.of("b2", counts: counts, kept: ["b1": 5]) == .network)
        #expect(LetterPortion.Source.of("b1", counts: counts, kept: nil) == .network)
        #expect(LetterPortion.Source.of("b1", counts: nil, kept: ["b1": 4]) == .kept)
        // As many letters may be others: the newest one tells.
        let store = LetterPortion.Source.store
        #expect(store.confirmed(network: "l5", kept: "l5") == .store)
        #expect(store.confirmed(network: "l6", kept: "l5") == .network)
        #expect(store.confirmed(network: nil, kept: nil) == .network)
        #expect(LetterPortion.Source.kept.confirmed(network: nil, kept: "l5") == .kept)
    }
}

extension Desk {
    /// Answers the portion of letters that is awaited.
    @discardableResult
    fileprivate mutating func answerPortion(_ portion: LetterPortion) -> ChatEffects {
        guard let request = model.network.inbox.marking?.request else { return [] }
        return send(.postbox(.portion(request: request, portion)))
    }
}

extension ChatEffects {
    /// Whether a portion of letters is asked for.
    fileprivate func isReading(
        token: String?, box: String? = nil, from source: LetterPortion.Source? = nil
    ) -> Bool {
        core.contains { effect in
            guard case .letters(.readPortion(_, box, token, source, .oldestFirst)) = effect else { return false }
            return true
        }
    }
}
