import Relay
import Terminal
import Testing

@testable import Parley

@Suite("Deleting letters")
struct InboxDeletionTests {
    /// A page with some marked letters about which the person was asked, and said yes: those of the page and more.
    private static func deleting(_ count: Int) -> Desk {
        var desk = Desk.inbox((1...19).map { letter($0) }, next: "t2")
        var listed = 19
        desk.press(.control("a"))
        while listed < count {
            desk.press(.alt("n"))
            let end = min(count, listed + 19)
            desk.answerPage((listed + 1...end).map { letter($0) }, next: end < count ? "t\(end)" : nil)
            desk.press(.control("a"))
            listed = end
        }
        desk.press(.delete, .plain("y"))
        desk.wait(.seconds(5))
        return desk
    }

    /// What became of letters: the first are gone, then come those of which nobody knows, and the others stay.
    private func result(
        _ ids: [String], deleted: Int, unknown: Int = 0, _ error: RelayError = .notConnected
    ) -> ChatEvent {
        let rest = ids.dropFirst(deleted)
        return .postbox(
            .deleted(
                BulkDeletion(
                    deleted: Array(ids.prefix(deleted)),
                    failed: rest.dropFirst(unknown).map { .init(id: $0, error: error) },
                    unknown: rest.prefix(unknown).map { .init(id: $0, error: .timeout("deleting a letter")) })))
    }

    @Test("B50: a letter goes some seconds after it was deleted, and a list made before cannot bring it back")
    func deleteOne() {
        var desk = Desk.inbox([letter(1), letter(2)])
        #expect(desk.press(.delete) == [])
        #expect(desk.shows("✕ 1 letter is deleted in 5 s, Alt-u undoes"))
        #expect(desk.screen().contains { $0.contains("✕") && $0.contains("bob") })
        #expect(desk.inbox.selectedLetter?.id == "l2")
        desk.wait(.seconds(2))
        #expect(desk.shows("deleted in 3 s"))
        #expect(desk.effects == [])
        desk.wait(.seconds(3))
        #expect(desk.effects == [.letters(.delete(ids: ["l1"]))])
        #expect(desk.press(.control("r")).isListing(token: nil))
        let before = desk.inbox.fetch?.request ?? 0
        // The list on its way may have been made before: it is asked for again.
        #expect(desk.send(.postbox(.deleted(BulkDeletion(deleted: ["l1"])))).isListing(token: nil))
        #expect(desk.letterIDs == ["l2"])
        #expect(desk.inbox.selected == 0)
        #expect(desk.notice == "Deleted 1 letter.")
        desk.send(.postbox(.page(request: before, ListOutput(items: [letter(1), letter(2)], nextToken: nil))))
        #expect(desk.letterIDs == ["l2"])
        desk.answerPage([letter(2)])
        #expect(desk.letterIDs == ["l2"])
        // What a server has again after a crash is there.
        desk.press(.control("r"))
        desk.answerPage([letter(1), letter(2)])
        #expect(desk.letterIDs == ["l1", "l2"])
    }

    @Test("B50: a list that was made before thousands were deleted brings none of them back, the first ones neither")
    func notBroughtBackByThousands() {
        var desk = Desk.inbox([letter(1), letter(2)])
        desk.model.mark((1...10_000).map { letter($0) })
        desk.press(.delete, .plain("y"))
        desk.model.network.inbox.unmarkAll()
        desk.model.mark((10_001...20_000).map { letter($0) })
        desk.press(.delete, .plain("y"))
        desk.wait(.seconds(5))
        desk.press(.control("r"))
        for _ in 1...2 {
            let before = desk.inbox.fetch?.request ?? 0
            let ids = desk.inbox.deletion.run?.ids ?? []
            #expect(desk.send(.postbox(.deleted(BulkDeletion(deleted: ids)))).isListing(token: nil))
            #expect(desk.notice == "Deleted 10,000 letters.")
            let list = ListOutput(items: [letter(1), letter(2), letter(20_001)], nextToken: nil)
            desk.send(.postbox(.page(request: before, list)))
            #expect(desk.inbox.letters.isEmpty)
        }
        #expect(desk.inbox.deletion.isEmpty)
        desk.answerPage([letter(20_001)])
        #expect(desk.letterIDs == ["l20001"])
    }

    @Test("B50: what is deleted behind thousands that are leaving waits for them, and cannot be undone after its time")
    func oneAfterTheOther() {
        var desk = Self.deleting(60)
        desk.press(.alt("<"))
        desk.answerPage([letter(98), letter(99)])
        desk.press(.delete)
        desk.wait(.seconds(5))
        #expect(desk.shows("deleting 0 of 60"))
        desk.press(.alt("u"))
        #expect(desk.notice == "These letters are being deleted already.")
        desk.press(.delete)
        desk.wait(.seconds(5))
        for (count, next) in [(60, [["l98"]]), (1, [["l99"]]), (1, [])] as [(Int, [[String]])] {
            let ids = desk.inbox.deletion.run?.ids ?? []
            #expect(ids.count == count && desk.send(result(ids, deleted: count)).deletions == next)
        }
        #expect(desk.inbox.deletion.isEmpty)
    }

    @Test("B50: a new connection's list is taken at its word while a deletion ends, and nothing gone is marked")
    func broughtBackMeanwhile() throws {
        var desk = Self.deleting(60)
        let ids = try #require(desk.inbox.deletion.run).ids
        desk.becomes(.reconnecting, .connectionLost("x"))
        desk.becomes(.connected)
        desk.press(.control("r"))
        desk.answerPage([letter(1), letter(2)])
        #expect(desk.letterIDs == ["l1", "l2"])
        desk.send(result(ids, deleted: 25))
        #expect(desk.inbox.marked == Set(ids.dropFirst(25)))
    }

    @Test("The screen is drawn again with every second that is left, and when it is over")
    func ticks() {
        var desk = Desk.inbox([letter(1)])
        desk.press(.delete)
        var due: [Duration] = []
        while let next = desk.model.nextChange(after: desk.model.now.instant),
            !desk.inbox.deletion.steps.isEmpty
        {
            due.append(desk.model.now.instant.duration(to: next))
            desk.wait(desk.model.now.instant.duration(to: next))
        }
        #expect(due == Array(repeating: .seconds(1), count: 5))
        #expect(desk.effects.core.count == 1)
    }

    @Test("Alt-u brings back what was deleted last, with its marks; nothing of it has left")
    func undo() {
        var desk = Desk.inbox((1...5).map { letter($0) })
        desk.press(.insert, .insert, .alt("d"))
        #expect(desk.inbox.marked.isEmpty && desk.shows("2 letters are deleted in 5 s"))
        desk.wait(.seconds(4))
        desk.press(.alt("d"))
        // The time begins anew with each key.
        #expect(desk.shows("3 letters are deleted in 5 s"))
        desk.press(.alt("u"))
        #expect(desk.shows("2 letters are deleted in"))
        desk.press(.alt("u"))
        #expect(desk.inbox.marked == ["l1", "l2"] && desk.inbox.selectedLetter?.id == "l1")
        #expect(desk.notice == "Restored 2 letters.")
        desk.press(.alt("u"))
        #expect(desk.notice == "There is nothing to undo.")
        desk.wait(.seconds(60))
        #expect(desk.effects == [] && desk.letterIDs.count == 5)
    }

    @Test("What is deleted keeps its time and its undo wherever the person goes meanwhile")
    func leaving() {
        var desk = Desk.inbox([letter(1), letter(2, "text")])
        desk.press(.delete, .function(4), .escape, .alt("1"))
        desk.type("one two")
        desk.press(.alt("u"))
        #expect(desk.effects.deletions.isEmpty && desk.notice == "Restored 1 letter." && desk.text == "one two")

        desk = Desk.inbox([letter(1), letter(2, "text")])
        desk.press(.delete, .alt("1"))
        desk.wait(.seconds(6))
        #expect(desk.effects.deletions == [["l1"]])
    }

    @Test("B50: whoever stops the program can undo a deletion after the return; the time begins anew then")
    func suspended() {
        for undoes in [true, false] {
            var desk = Desk.inbox([letter(1), letter(2)])
            desk.press(.delete)
            desk.wait(.seconds(4))
            desk.send(.suspending)
            desk.wait(.seconds(3_600))
            desk.send(.resumed)
            #expect(desk.effects.deletions.isEmpty && desk.shows("1 letter is deleted in 5 s, Alt-u undoes"))
            if undoes { desk.press(.alt("u")) }
            desk.wait(.seconds(5))
            #expect(desk.effects.deletions == (undoes ? [] : [["l1"]]))
        }
    }

    @Test(
        "B50: turning the page, listing again, filter and order leave a deletion its time and its undo",
        arguments: [Key.alt("n"), .control("r"), .alt("l"), .alt("b"), .alt("o"), .alt(">")], [true, false])
    func elsewhereInTheList(key: Key, undoes: Bool) {
        var desk = Desk.inbox([letter(1), letter(2)], next: "t2")
        desk.press(.insert, .delete, key)
        if desk.inbox.fetch != nil { desk.answerPage([letter(3), letter(4)]) }
        // The filter has the keys while it is typed.
        if desk.inbox.filter != nil { desk.press(.escape) }
        #expect(desk.shows("1 letter is deleted in"))
        if undoes { desk.press(.alt("u")) }
        desk.wait(.seconds(5))
        #expect(desk.effects.deletions == (undoes ? [] : [["l1"]]))
        #expect(desk.inbox.marked == Set(undoes ? ["l1"] : []))
    }

    @Test("What stays of a deletion is marked again in the list that it was marked in, and in no other")
    func otherList() throws {
        for (box, count) in [("b2" as String?, 0), (nil, 60)] {
            var desk = Self.deleting(60)
            desk.press(.alt("1"))
            _ = desk.model.openInbox(box)
            desk.answerPage([letter(99, box: "b2")])
            let deletion = try #require(desk.inbox.deletion.run)
            desk.send(result(deletion.ids, deleted: 0))
            #expect(desk.notice.hasPrefix("No letter was deleted; 60 stay."))
            #expect(desk.inbox.marked.count == count)
        }
    }

    @Test("As many of the letters that stay are marked again as can be marked")
    func tooManyMarks() {
        var desk = Desk.inbox((1...19).map { letter($0) })
        desk.press(.control("a"), .delete)
        desk.model.mark((1_001...10_990).map { letter($0) })
        #expect(desk.inbox.marked.count == 9_990)
        desk.press(.alt("u"))
        #expect(desk.inbox.marked.count == 10_000)
    }

    @Test("Quitting asks whether what can still be undone is to leave; a no keeps it undoable")
    func quittingUndoable() {
        var desk = Desk.inbox([letter(1), letter(2)])
        desk.press(.delete)
        #expect(desk.press(.control("q")) == [])
        #expect(desk.bottom.hasPrefix(" 1 letter is about to be deleted (Alt-u undoes it). Delete and quit? y/N"))
        // While that is asked nothing leaves.
        desk.wait(.seconds(60))
        desk.press(.escape, .alt("u"))
        #expect(desk.effects.deletions.isEmpty && !desk.effects.contains(.quit) && desk.notice == "Restored 1 letter.")
        #expect(desk.press(.control("q")) == .screen(.quit))
    }

    @Test("B50: whoever stops the program while quitting asks about letters finds question and letters on return")
    func suspendedQuestion() {
        var desk = Desk.inbox([letter(1), letter(2)])
        desk.press(.delete, .control("q"))
        #expect(desk.press(.control("z")) == .screen(.suspendProcess))
        desk.send(.suspending)
        desk.send(.resumed)
        desk.wait(.seconds(60))
        #expect(desk.effects.deletions.isEmpty && desk.bottom.contains("Delete and quit? y/N"))
        desk.send(.line("no"))
        desk.wait(.seconds(4))
        #expect(desk.effects.deletions.isEmpty)
        desk.wait(.seconds(2))
        #expect(desk.effects.deletions == [["l1"]])
    }

    @Test("/close that stops a deletion stays in the list")
    func closing() {
        var desk = Self.deleting(200)
        desk.model.screen.focus = .compose
        desk.enter("/close")
        #expect(desk.inbox.deletion.run?.isStopped == true && desk.view == .inbox(nil))
    }

    @Test("Quitting has deleted letters leave and waits for the end of it, unless the person does not")
    func quitting() {
        func quitting() -> Desk {
            var desk = Desk.inbox([letter(1), letter(2)])
            desk.press(.delete, .control("q"))
            let effects = desk.press(.plain("y"))
            #expect(effects.deletions == [["l1"]] && !effects.contains(.quit))
            #expect(desk.bottom.hasPrefix(" 1 letter is still being deleted; Parley quits afterwards. Quit now?"))
            return desk
        }
        var (desk, waiting, failing) = (quitting(), quitting(), quitting())
        #expect(waiting.send(result(["l1"], deleted: 1)).contains(.quit))
        #expect(!failing.send(result(["l1"], deleted: 0)).contains(.quit))
        #expect(failing.overlay == nil && failing.notice.hasPrefix("No letter was deleted; 1 stays."))
        #expect(failing.press(.control("q")) == .screen(.quit))
        #expect(desk.press(.plain("y")) == .screen(.quit))
    }

    @Test("Quitting over a deletion asks about lines that are not sent, too")
    func quittingUnsent() {
        var desk = Desk.inbox([letter(1)])
        desk.enter("/post bob/personal hello")
        desk.press(.function(3), .delete, .control("q"), .plain("y"))
        #expect(desk.bottom.hasPrefix(" 1 letter is still being deleted;"))
        #expect(desk.press(.plain("y")) == [])
        #expect(desk.bottom.contains("1 message is not sent yet. Quit anyway? y/N"))
        #expect(desk.press(.plain("y")) == .screen(.quit))
    }

    @Test(
        "B50: letters on several pages and of several postboxes are deleted after a question that names these, and undone by one key",
        arguments: [true, false])
    func overPages(undoes: Bool) {
        var desk = Desk.inbox([letter(1), letter(2, box: "b2")], next: "t2")
        desk.press(.control("a"), .alt("n"))
        desk.answerPage([letter(3), letter(4)])
        desk.press(.control("a"), .delete)
        #expect(desk.bottom.hasPrefix(" Delete 4 letters (3 from personal, 1 from work), 2 of them not in view? y/N"))
        #expect(desk.press(.plain("y")) == [])
        #expect(desk.shows("✕ 4 letters are deleted in 5 s, Alt-u undoes"))
        // The undo goes along to another list, too.
        desk.press(.function(2), .down, .down, .enter)
        #expect(desk.view == .inbox("b2"))
        desk.wait(.seconds(4))
        if undoes {
            desk.press(.alt("u"))
            #expect(desk.notice == "Restored 4 letters." && desk.inbox.marked.isEmpty)
        }
        desk.wait(.seconds(1))
        #expect(desk.effects.deletions == (undoes ? [] : [["l3", "l4", "l1", "l2"]]))
    }

    @Test("A question about letters of many postboxes names those with the most")
    func manyPostboxes() {
        var desk = Desk.inbox([letter(1)], next: "t2", size: Size(rows: 24, columns: 160))
        desk.send(.postbox(.boxes((1...6).map { postbox("b\($0)", "box\($0)") })))
        desk.model.mark((2...22).map { letter($0, box: "b\(min(6, 1 + $0 % 8))") })
        desk.press(.delete)
        let boxes = "(8 from box6, 3 from box3, 3 from box4, 7 from 3 other postboxes)"
        #expect(desk.bottom.hasPrefix(" Delete 21 letters \(boxes), none of them in view?"))
    }

    @Test("What can be undone is said before how far an earlier deletion is")
    func undoWhileDeleting() {
        var desk = Self.deleting(60)
        #expect(desk.shows("deleting 0 of 60"))
        desk.press(.alt("<"))
        desk.answerPage([letter(99)])
        desk.press(.delete)
        #expect(desk.shows("✕ 1 letter is deleted in 5 s, Alt-u undoes") && !desk.shows("deleting 0 of 60"))
        desk.press(.alt("u"))
        #expect(desk.shows("deleting 0 of 60") && desk.notice == "Restored 1 letter.")
    }

    @Test("B50: a single letter that is marked on another page is asked about as one")
    func questionAboutOne() {
        var desk = Desk.inbox([letter(1)], next: "t2")
        desk.press(.insert, .alt("n"))
        desk.answerPage([letter(2)])
        desk.press(.delete)
        #expect(desk.bottom.contains("Delete 1 letter from personal, which is not in view? y/N"))
    }

    @Test("B50: marked letters that the filter hides are not deleted without a question, which counts them")
    func hiddenByFilter() {
        var desk = Desk.inbox([letter(1, "lunch"), letter(2, "build"), letter(3, "build")])
        desk.press(.control("a"), .alt("l"))
        desk.enter("lunch")
        desk.press(.delete)
        #expect(desk.inbox.deletion.steps.isEmpty)
        #expect(desk.bottom.contains("Delete 3 letters from personal, 2 of them not in view? y/N"))
        #expect(desk.press(.enter) == [] && desk.inbox.marked.count == 3)
        // What is shown alone needs no question.
        desk.press(.escape, .delete)
        #expect(desk.overlay == nil && desk.inbox.deletion.steps.flatMap(\.ids) == ["l1", "l2", "l3"])
    }

    @Test("B50: any number of letters is one deletion, and what failed is reported")
    func many() throws {
        var desk = Self.deleting(60)
        let ids = try #require(desk.inbox.deletion.run).ids
        #expect(desk.effects.deletions == [ids])
        desk.send(result(ids, deleted: 59, .notAuthorized("that")))
        #expect(desk.inbox.marked == [ids[59]] && desk.inbox.deletion.run == nil)
        #expect(desk.notice.hasPrefix("Deleted 59 letters, 1 was refused."))
    }

    @Test("A bar grows with what is done, and on a narrow screen the figures and the key stay")
    func bar() {
        var desk = Self.deleting(200)
        #expect(desk.shows(" ░░░░░░░░░░░░ deleting 0 of 200   Esc stops"))
        desk.wait(.seconds(1))
        desk.send(.postbox(.deleting(done: 50)))
        #expect(desk.shows(" ███░░░░░░░░░ deleting 50 of 200, 50 a second   Esc stops"))
        #expect(
            desk.screen(Size(rows: 24, columns: 120)).contains {
                $0.contains(" █████░░░░░░░░░░░░░░░ deleting 50 of 200, 50 a second   Esc stops")
            })
        let narrow = desk.screen(Size(rows: 12, columns: 40))
        #expect(narrow.contains(" deleting 50 of 200   Esc stops"))
        // The rest is with the network.
        desk.send(.postbox(.deleting(done: 75)))
        #expect(desk.shows("deleting 75 of 200") && !desk.shows("Esc stops"))
    }

    @Test("Thousands are deleted with a bar, the rate and the key on 80 columns; what Escape leaves is told as it is")
    func thousands() throws {
        var desk = Desk.inbox((1...19).map { letter($0) }, next: "t2")
        desk.press(.control("a"))
        desk.model.mark((20...10_000).map { letter($0) })
        desk.press(.delete)
        let question = "Delete 10,000 letters from personal, 9,981 of them not in view? y/N"
        #expect(desk.bottom.contains(question))
        desk.press(.plain("y"))
        desk.wait(.seconds(5))
        desk.wait(.seconds(20))
        desk.send(.postbox(.deleting(done: 5_000)))
        #expect(desk.shows(" ███░░░ deleting 5,000 of 10,000, 250 a second   Esc stops"))
        desk.press(.escape)
        #expect(desk.notice == "Stopping the deletion." && desk.effects.contains(.letters(.stopDeleting)))
        let ids = try #require(desk.inbox.deletion.run).ids
        let failed = ids.dropFirst(5_024).map {
            BulkDeletion.Failure(id: $0, error: $0 == ids[5_024] ? .notFound($0) : .cancelled)
        }
        desk.send(.postbox(.deleted(BulkDeletion(deleted: Array(ids.prefix(5_024)), failed: failed))))
        #expect(desk.inbox.deletion.run == nil && desk.inbox.marked.count == 4_975)
        #expect(desk.notice == "Deleted 5,024 of 10,000, 1 was gone already; 4,975 stay.")
    }

    @Test("Escape stops a deletion behind what is under way, and says what is gone and what is not")
    func stop() throws {
        var desk = Self.deleting(200)
        #expect(desk.press(.escape).contains(.letters(.stopDeleting)))
        #expect(!desk.shows("Esc stops") && !desk.press(.escape).contains(.letters(.stopDeleting)))
        let ids = try #require(desk.inbox.deletion.run).ids
        desk.send(result(ids, deleted: 128, .cancelled))
        #expect(desk.inbox.marked.count == 72 && desk.shows("Deleted 128 of 200; 72 stay."))
        desk.wait(.seconds(60))
        #expect(!desk.shows("Deleted 128 of 200; 72 stay."))
        desk.press(.function(8))
        #expect(desk.shows("Deleted 128 of 200; 72 stay."))
    }

    @Test("B50: what is deleted while another deletion is being stopped leaves after it, and is told apart from it")
    func deletedAfterStop() throws {
        var desk = Self.deleting(200)
        desk.press(.alt("<"))
        desk.answerPage([letter(99_999)])
        desk.press(.escape, .delete)
        desk.wait(.seconds(5))
        let stopped = try #require(desk.inbox.deletion.run)
        #expect(desk.inbox.isBeingDeleted("l99999") && !stopped.contains("l99999"))
        #expect(desk.shows("deleting 0 of 200"))
        let effects = desk.send(result(stopped.ids, deleted: 25, .cancelled))
        #expect(desk.notice == "Deleted 25 of 200; 175 stay.")
        #expect(desk.inbox.marked.count == 175)
        #expect(effects.contains(.letters(.delete(ids: ["l99999"]))))
        desk.send(.postbox(.deleted(BulkDeletion(deleted: ["l99999"]))))
        #expect(desk.notice == "Deleted 1 letter.")
        #expect(desk.inbox.deletion.run == nil && desk.inbox.marked.count == 175)
    }

    @Test("Whoever quits over a deletion that was stopped is told of the letters that are with the network alone")
    func quittingStopped() {
        var desk = Self.deleting(200)
        desk.press(.escape, .control("q"))
        #expect(desk.bottom.hasPrefix(" 128 letters are still being deleted;"))
    }

    @Test(
        "What became of the letters is not written over by the outage that ended their deletion",
        arguments: [true, false])
    func brokenIsRead(statusFirst: Bool) throws {
        var desk = Self.deleting(60)
        let ids = try #require(desk.inbox.deletion.run).ids
        let outage = ChatEvent.statusChanged(ConnectionStatus(state: .reconnecting, reason: .connectionLost("x")))
        if statusFirst { desk.send(outage) }
        desk.send(result(ids, deleted: 25, unknown: 25))
        if !statusFirst { desk.send(outage) }
        // The page that is listed for it cannot be had either.
        let fetch = try #require(desk.inbox.fetch)
        desk.send(.postbox(.pageFailed(request: fetch.request, .notConnected)))
        #expect(desk.shows("Deleted 25 of 60; 25 unknown, 10 stay.") && desk.inbox.marked.count == 35)
        // It is listed once more when there is a connection.
        let effects = desk.becomes(.connected)
        #expect(effects.core.contains { if case .letters(.listPage) = $0 { true } else { false } })
        #expect(desk.shows("Deleted 25 of 60; 25 unknown, 10 stay."))
    }

    @Test(
        "What became of letters is said, and those that stay are marked",
        arguments: [
            (3, [], "No letter was deleted; 3 stay.", 3),
            (3, [.notFound("l3")], "Deleted 2 letters, 1 was gone already.", 0),
            (1, [.notAuthorized("that")], "No letter was deleted, 1 was refused.", 1),
        ] as [(Int, [RelayError], String, Int)])
    func outcome(count: Int, last: [RelayError], words: String, marked: Int) {
        var desk = Desk.inbox((1...count).map { letter($0) })
        desk.press(.control("a"), .delete)
        desk.wait(.seconds(5))
        let ids = desk.inbox.deletion.run?.ids ?? []
        if let error = last.first {
            desk.send(result(ids, deleted: count - 1, error))
        } else {
            desk.send(result(ids, deleted: 0))
        }
        #expect(desk.bottom.hasPrefix(" \(words)"), "\(desk.bottom)")
        #expect(desk.inbox.marked.count == marked && desk.letterIDs.count == marked)
    }

    @Test("/delete asks, and what it deletes can be undone as well")
    func command() {
        var desk = Desk.inbox([letter(1), letter(2)])
        desk.enter("/delete 2")
        #expect(desk.bottom.hasPrefix(" Delete the letter from bob of 21 Nov 10:02? y/N"))
        desk.press(.plain("y"))
        #expect(desk.shows("1 letter is deleted in 5 s, Alt-u undoes"))
        desk.wait(.seconds(5))
        #expect(desk.effects.deletions == [["l2"]])
    }
}
