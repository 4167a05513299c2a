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

    /// A deletion of which the first letters are gone, and the others were not sent any more.
    private func broken(_ ids: [String], behind count: Int, _ error: RelayError = .notConnected) -> BulkDeletion {
        BulkDeletion(
            deleted: Array(ids.prefix(count)), failed: ids.dropFirst(count).map { .init(id: $0, error: error) })
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
        #expect(desk.inbox.deletion.undoableCount == 0 && desk.shows("deleting 0 of 60"))
        desk.press(.alt("u"))
        #expect(desk.notice == "These letters are being deleted already.")
        desk.press(.delete)
        desk.wait(.seconds(5))
        #expect(desk.inbox.deletion.count == 62)
        for (count, next) in [(60, ["l98"]), (1, ["l99"]), (1, nil)] as [(Int, [String]?)] {
            let ids = desk.inbox.deletion.run?.ids ?? []
            let effects = desk.send(.postbox(.deleted(BulkDeletion(deleted: ids))))
            let deletions = effects.core.filter { if case .letters(.delete) = $0 { true } else { false } }
            #expect(ids.count == count && deletions == (next.map { [CoreEffect.letters(.delete(ids: $0))] } ?? []))
        }
        #expect(desk.inbox.deletion.isEmpty)
    }

    @Test("B50: a new connection's list is taken at its word while a deletion ends, and nothing gone is marked")
    func broughtBackMeanwhile() throws {
        var desk = Self.deleting(60)
        let ids = try #require(desk.inbox.deletion.run).ids
        desk.send(.statusChanged(ConnectionStatus(state: .reconnecting, reason: .connectionLost("x"))))
        desk.send(.statusChanged(ConnectionStatus(state: .connected)))
        desk.press(.control("r"))
        desk.answerPage([letter(1), letter(2)])
        #expect(desk.letterIDs == ["l1", "l2"])
        desk.send(.postbox(.deleted(broken(ids, behind: 25))))
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
        #expect(desk.inbox.deletion.steps.flatMap(\.ids) == ["l1", "l2"])
        desk.press(.alt("u"))
        #expect(desk.inbox.deletion.steps.isEmpty && desk.inbox.marked == ["l1", "l2"])
        #expect(desk.inbox.selectedLetter?.id == "l1")
        #expect(desk.notice == "Restored 2 letters.")
        desk.press(.alt("u"))
        #expect(desk.notice == "There is nothing to undo.")
        desk.wait(.seconds(60))
        #expect(desk.effects == [])
        #expect(desk.inbox.letters.count == 5)
    }

    @Test("What is deleted keeps its time and its undo wherever the person goes meanwhile")
    func leaving() {
        var desk = Desk.inbox([letter(1), letter(2, "text")])
        desk.press(.delete, .function(4), .escape, .alt("1"))
        desk.type("one two")
        #expect(desk.effects.deletions.isEmpty)
        desk.press(.alt("u"))
        #expect(desk.inbox.deletion.steps.isEmpty)
        #expect(desk.notice == "Restored 1 letter." && desk.text == "one two")

        desk = Desk.inbox([letter(1), letter(2, "text")])
        desk.press(.delete, .alt("1"))
        desk.wait(.seconds(6))
        #expect(desk.effects.contains(.letters(.delete(ids: ["l1"]))))
        #expect(desk.inbox.deletion.steps.isEmpty)
    }

    @Test("B50: whoever stops the program can undo a deletion after the return; the time begins anew then")
    func suspended() {
        func resumed() -> Desk {
            var desk = Desk.inbox([letter(1), letter(2)])
            desk.press(.delete)
            desk.wait(.seconds(4))
            desk.send(.suspending)
            desk.wait(.seconds(3_600))
            #expect(desk.inbox.deletion.run == nil && desk.inbox.deletion.steps.flatMap(\.ids) == ["l1"])
            desk.send(.resumed)
            #expect(desk.shows("1 letter is deleted in 5 s, Alt-u undoes"))
            return desk
        }
        var (desk, undone) = (resumed(), resumed())
        undone.press(.alt("u"))
        undone.wait(.seconds(60))
        #expect(undone.inbox.deletion.steps.isEmpty && undone.inbox.deletion.run == nil)
        desk.wait(.seconds(5))
        #expect(desk.effects.contains(.letters(.delete(ids: ["l1"]))))
    }

    @Test("B50: turning the page, listing again, filter and order leave a deletion its time and its undo")
    func elsewhereInTheList() {
        func behind(_ key: Key) -> Desk {
            var desk = Desk.inbox([letter(1), letter(2)], next: "t2")
            desk.press(.insert, .delete, key)
            if desk.inbox.fetch != nil { desk.answerPage([letter(3), letter(4)]) }
            // The filter has the keys while it is typed.
            if desk.inbox.filter != nil { desk.press(.escape) }
            #expect(desk.inbox.deletion.steps.flatMap(\.ids) == ["l1"], "\(key)")
            return desk
        }
        for key in [Key.alt("n"), .control("r"), .alt("l"), .alt("b"), .alt("o"), .alt(">")] {
            var (desk, undone) = (behind(key), behind(key))
            undone.press(.alt("u"))
            undone.wait(.seconds(60))
            #expect(undone.inbox.deletion.steps.isEmpty && undone.inbox.deletion.run == nil, "\(key)")
            #expect(undone.inbox.marked == ["l1"], "\(key)")
            desk.wait(.seconds(5))
            #expect(desk.inbox.deletion.run?.ids == ["l1"], "\(key)")
        }
    }

    @Test("What stays of a deletion is marked again in the list that it was marked in, and in no other")
    func otherList() throws {
        for (box, count) in [("b2" as String?, 0), (nil, 60)] {
            var desk = Self.deleting(60)
            desk.press(.alt("1"))
            _ = desk.model.openInbox(box)
            desk.answerPage([letter(99, box: "b2")])
            let deletion = try #require(desk.inbox.deletion.run)
            desk.send(.postbox(.deleted(broken(deletion.ids, behind: 0))))
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
        let question = " 1 letter is about to be deleted (Alt-u undoes it). Delete and quit? y/N"
        #expect(desk.bottom.hasPrefix(question))
        // While that is asked nothing leaves.
        desk.wait(.seconds(60))
        #expect(!desk.inbox.deletion.steps.isEmpty && desk.inbox.deletion.run == nil)
        desk.press(.escape, .alt("u"))
        #expect(desk.inbox.deletion.steps.isEmpty && !desk.effects.contains(.quit))
        #expect(desk.notice == "Restored 1 letter.")
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
        #expect(!desk.inbox.deletion.steps.isEmpty && desk.inbox.deletion.run == nil)
        #expect(desk.bottom.contains("Delete and quit? y/N"))
        desk.press(.escape)
        desk.wait(.seconds(4))
        #expect(!desk.inbox.deletion.steps.isEmpty)
        desk.wait(.seconds(2))
        #expect(desk.inbox.deletion.run?.ids == ["l1"])
    }

    @Test("A line that is no yes lets letters leave in their time about which quitting has asked")
    func declinedByLine() {
        var desk = Desk.inbox([letter(1), letter(2)])
        desk.press(.delete, .control("q"))
        desk.send(.line("no"))
        desk.wait(.seconds(4))
        #expect(!desk.inbox.deletion.steps.isEmpty && desk.inbox.deletion.run == nil)
        desk.wait(.seconds(2))
        #expect(desk.inbox.deletion.run?.ids == ["l1"])
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
            #expect(effects.contains(.letters(.delete(ids: ["l1"]))))
            #expect(!effects.contains(.quit))
            let question = " 1 letter is still being deleted; Parley quits afterwards. Quit now?"
            #expect(desk.bottom.hasPrefix(question))
            return desk
        }
        var (desk, waiting, failing) = (quitting(), quitting(), quitting())
        #expect(waiting.send(.postbox(.deleted(BulkDeletion(deleted: ["l1"])))).contains(.quit))
        #expect(!failing.send(.postbox(.deleted(broken(["l1"], behind: 0)))).contains(.quit))
        #expect(failing.overlay == nil)
        #expect(failing.notice.hasPrefix("No letter was deleted; 1 stays."))
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
        "B50: letters on several pages and of several postboxes are deleted after a question that names these, and undone by one key"
    )
    func overPages() {
        func elsewhere() -> Desk {
            var desk = Desk.inbox([letter(1), letter(2, box: "b2")], next: "t2")
            desk.press(.control("a"), .alt("n"))
            desk.answerPage([letter(3), letter(4)])
            desk.press(.control("a"), .delete)
            let question = " Delete 4 letters (3 from personal, 1 from work), 2 of them not in view? y/N"
            #expect(desk.bottom.hasPrefix(question))
            #expect(desk.press(.plain("y")) == [])
            #expect(desk.shows("✕ 4 letters are deleted in 5 s, Alt-u undoes"))
            // The undo goes along to another list, too.
            desk.press(.function(2), .down, .down, .enter)
            #expect(desk.view == .inbox("b2"))
            desk.wait(.seconds(4))
            return desk
        }
        var (desk, undone) = (elsewhere(), elsewhere())
        undone.press(.alt("u"))
        #expect(undone.notice == "Restored 4 letters." && undone.inbox.marked.isEmpty)
        undone.wait(.seconds(60))
        #expect(undone.effects.deletions.isEmpty)
        desk.wait(.seconds(1))
        let effects = desk.effects.core.filter { if case .letters(.delete) = $0 { true } else { false } }
        #expect(effects == [.letters(.delete(ids: ["l3", "l4", "l1", "l2"]))])
    }

    @Test("A question about letters of many postboxes names those with the most")
    func manyPostboxes() {
        var desk = Desk.inbox([letter(1)], next: "t2")
        desk.send(.postbox(.boxes((1...6).map { postbox("b\($0)", "box\($0)") })))
        desk.model.mark((2...22).map { letter($0, box: "b\(min(6, 1 + $0 % 8))") })
        desk.press(.delete)
        let words =
            "Delete 21 letters (8 from box6, 3 from box3, 3 from box4, 7 from 3 other postboxes), none of them in view?"
        guard case .question(let question)? = desk.overlay else {
            Issue.record("nothing is asked")
            return
        }
        #expect(question.text == words)
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

    @Test("B50: any number of letters is one deletion, with progress and rate, and what failed is reported")
    func many() throws {
        var desk = Self.deleting(60)
        let ids = try #require(desk.inbox.deletion.run).ids
        #expect(
            desk.effects.core.filter { if case .letters(.delete) = $0 { true } else { false } } == [
                .letters(.delete(ids: ids))
            ])
        #expect(desk.shows("deleting 0 of 60") && !desk.shows("a second"))
        desk.wait(.seconds(1))
        desk.send(.postbox(.deleting(done: 25)))
        #expect(desk.shows("deleting 25 of 60, 25 a second"))
        var result = BulkDeletion(deleted: ids)
        let kept = result.deleted.removeLast()
        result.failed = [.init(id: kept, error: .notAuthorized("that"))]
        desk.send(.postbox(.deleted(result)))
        #expect(desk.inbox.marked == [kept] && desk.inbox.deletion.run == nil)
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
        var result = broken(ids, behind: 5_025, .cancelled)
        let gone = result.deleted.removeLast()
        result.failed.insert(.init(id: gone, error: .notFound(gone)), at: 0)
        desk.send(.postbox(.deleted(result)))
        #expect(desk.inbox.deletion.run == nil && desk.inbox.marked.count == 4_975)
        #expect(desk.notice == "Deleted 5,024 of 10,000, 1 was gone already; 4,975 stay.")
    }

    @Test("Escape stops a deletion behind what is under way, and says what is gone and what is not")
    func stop() throws {
        var desk = Self.deleting(200)
        #expect(desk.press(.escape).contains(.letters(.stopDeleting)))
        #expect(!desk.shows("Esc stops") && !desk.press(.escape).contains(.letters(.stopDeleting)))
        let ids = try #require(desk.inbox.deletion.run).ids
        desk.send(.postbox(.deleted(broken(ids, behind: 128, .cancelled))))
        #expect(desk.inbox.deletion.run == nil)
        #expect(desk.notice == "Deleted 128 of 200; 72 stay.")
        desk.wait(.seconds(60))
        #expect(!desk.shows("Deleted 128 of 200; 72 stay."))
        desk.press(.function(8))
        #expect(desk.shows("Deleted 128 of 200; 72 stay."))
        #expect(desk.inbox.marked.count == 72)
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
        let effects = desk.send(.postbox(.deleted(broken(stopped.ids, behind: 25, .cancelled))))
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

    @Test("A deletion that the connection broke says what is gone, what is not and what nobody knows")
    func outage() throws {
        var desk = Self.deleting(60)
        let ids = try #require(desk.inbox.deletion.run).ids
        var result = broken(ids, behind: 45)
        result.unknown = ids[45..<50].map { .init(id: $0, error: .timeout("deleting a letter")) }
        result.failed.removeFirst(5)
        let effects = desk.send(.postbox(.deleted(result)))
        #expect(desk.inbox.deletion.run == nil)
        #expect(desk.notice.hasPrefix("Deleted 45 of 60; 5 unknown, 10 stay."))
        #expect(desk.inbox.marked.count == 15)
        // The page is listed again, which tells.
        #expect(effects.core.contains { if case .letters(.listPage) = $0 { true } else { false } })
    }

    @Test(
        "What became of the letters is not written over by the outage that ended their deletion",
        arguments: [true, false])
    func brokenIsRead(statusFirst: Bool) throws {
        var desk = Self.deleting(60)
        let ids = try #require(desk.inbox.deletion.run).ids
        var result = broken(ids, behind: 25)
        result.unknown = ids[25..<50].map { .init(id: $0, error: .timeout("deleting a letter")) }
        result.failed.removeFirst(25)
        let outage = ChatEvent.statusChanged(ConnectionStatus(state: .reconnecting, reason: .connectionLost("x")))
        if statusFirst { desk.send(outage) }
        desk.send(.postbox(.deleted(result)))
        if !statusFirst { desk.send(outage) }
        // The page that is listed for it cannot be had either.
        let fetch = try #require(desk.inbox.fetch)
        desk.send(.postbox(.pageFailed(request: fetch.request, .notConnected)))
        #expect(desk.shows("Deleted 25 of 60; 25 unknown, 10 stay."))
        // It is listed once more when there is a connection.
        let effects = desk.send(.statusChanged(ConnectionStatus(state: .connected)))
        #expect(effects.core.contains { if case .letters(.listPage) = $0 { true } else { false } })
        #expect(desk.shows("Deleted 25 of 60; 25 unknown, 10 stay."))
    }

    @Test("A deletion that could not begin keeps the letters and their marks")
    func offline() throws {
        var desk = Desk.inbox((1...3).map { letter($0) })
        desk.press(.control("a"), .delete)
        desk.wait(.seconds(5))
        let ids = try #require(desk.inbox.deletion.run).ids
        desk.send(.postbox(.deleted(broken(ids, behind: 0))))
        #expect(desk.inbox.letters.count == 3)
        #expect(desk.inbox.marked.count == 3)
        #expect(desk.notice.hasPrefix("No letter was deleted; 3 stay."))
    }

    @Test("Letters that were gone already are no failure")
    func gone() {
        var desk = Desk.inbox((1...3).map { letter($0) })
        desk.press(.control("a"), .delete)
        desk.wait(.seconds(5))
        var result = BulkDeletion(deleted: ["l1", "l2"])
        result.failed = [.init(id: "l3", error: .notFound("l3"))]
        desk.send(.postbox(.deleted(result)))
        #expect(desk.inbox.letters.isEmpty)
        #expect(desk.notice == "Deleted 2 letters, 1 was gone already.")
    }

    @Test("A letter that the network does not delete is said to be refused")
    func refused() {
        var desk = Desk.inbox([letter(1)])
        desk.press(.delete)
        desk.wait(.seconds(5))
        var result = BulkDeletion(deleted: [])
        result.failed = [.init(id: "l1", error: .notAuthorized("that"))]
        desk.send(.postbox(.deleted(result)))
        #expect(desk.notice.hasPrefix("No letter was deleted, 1 was refused."))
    }

    @Test("/delete asks, and what it deletes can be undone as well")
    func command() {
        var desk = Desk.inbox([letter(1), letter(2)])
        desk.enter("/delete 2")
        #expect(desk.bottom.hasPrefix(" Delete the letter from bob of 21 Nov 10:02? y/N"))
        desk.press(.plain("y"))
        #expect(desk.shows("1 letter is deleted in 5 s, Alt-u undoes"))
        desk.wait(.seconds(5))
        #expect(desk.effects.contains(.letters(.delete(ids: ["l2"]))))
    }
}
