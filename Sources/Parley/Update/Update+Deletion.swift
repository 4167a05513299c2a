import Relay
import Terminal

// Letters are deleted: a few can be undone for some seconds, many are asked about.
extension ChatModel {
    // MARK: Undoing

    /// Deletes the marked letters, or the selected one where none is marked. Where all are shown, nothing leaves until it
    /// can be undone no more; otherwise the person is asked.
    mutating func deleteMarked() -> [ChatEffect] {
        guard !isStillMarking() else { return [] }
        let marked = inbox.markedInOrder.filter { !inbox.isBeingDeleted($0) }
        guard !marked.isEmpty else {
            guard let letter = inbox.selectedLetter, !inbox.isBeingDeleted(letter.id) else { return [] }
            return deleteSoon([letter.id], marked: [])
        }
        guard marked.count <= max(inbox.pageSize, inbox.page.count), marked.count == inbox.markedShown else {
            askToDelete(marked)
            return []
        }
        return deleteSoon(marked, marked: Set(marked))
    }

    private mutating func deleteSoon(_ ids: [String], marked: Set<String>) -> [ChatEffect] {
        var effects: [ChatEffect] = []
        let count = inbox.pending?.members.count ?? 0
        if count + ids.count > Inbox.PendingDeletion.limit { effects = settleDeletions() }
        let step = Inbox.PendingDeletion.Step(ids: ids, marked: marked)
        if inbox.pending == nil {
            inbox.pending = Inbox.PendingDeletion(step, now: now.instant)
        } else {
            inbox.pending?.add(step, now: now.instant)
        }
        _ = inbox.mark(ids, isMarked: false)
        leaveDeleted()
        return effects
    }

    /// The cursor goes on from a letter that leaves under it.
    private mutating func leaveDeleted() {
        guard let letter = inbox.selectedLetter, inbox.isBeingDeleted(letter.id) else { return }
        let stays = inbox.letters.indices.filter { !inbox.isBeingDeleted(inbox.letters[$0].id) }
        let next = stays.first { $0 > inbox.selected } ?? stays.last
        if inbox.open == letter.id { inbox.open = nil }
        if let next { inbox.selected = next }
    }

    /// Brings back what was deleted last, with its marks, while nothing has left.
    mutating func undoDeletion() {
        guard let step = inbox.pending?.undo() else {
            let words = inbox.deletion == nil ? "There is nothing to undo." : "These letters are being deleted already."
            return say(words)
        }
        if inbox.pending?.steps.isEmpty == true { inbox.pending = nil }
        inbox.markAgain(Array(step.marked))
        if let first = step.ids.first, let place = inbox.letters.firstIndex(where: { $0.id == first }) {
            inbox.selected = place
        }
        say("\(Wording.count(step.ids.count, "letter")) \(step.ids.count == 1 ? "stays" : "stay").")
    }

    /// Has what can still be undone leave now.
    mutating func settleDeletions() -> [ChatEffect] {
        guard let pending = inbox.pending else { return [] }
        inbox.pending = nil
        return delete(pending.ids, marks: pending.marked)
    }

    /// Has it leave when its time is over.
    mutating func settleDueDeletions() -> [ChatEffect] {
        guard let pending = inbox.pending, !pending.isHeld, pending.deadline <= now.instant else { return [] }
        return settleDeletions()
    }

    /// Whether a key brings back what was deleted, wherever the person has gone meanwhile.
    func undoesDeletion(_ key: Key) -> Bool {
        guard inbox.pending != nil, inbox.filter?.isTyped != true else { return false }
        return settings.keys.action(of: key, in: InboxPane.self) == .undo
    }

    // MARK: Asking

    /// Asks before the marked letters are deleted, or the selected one where none is marked.
    mutating func askToDelete() {
        guard !isStillMarking() else { return }
        let marked = inbox.markedInOrder.filter { !inbox.isBeingDeleted($0) }
        if marked.isEmpty { askToDeleteSelected() } else { askToDelete(marked) }
    }

    /// Asks whether a letter is to be deleted, whatever is marked.
    mutating func askToDelete(_ number: Int) { if selectLetter(number) { askToDeleteSelected() } }

    private mutating func askToDeleteSelected() {
        guard let letter = inbox.selectedLetter, !inbox.isBeingDeleted(letter.id) else { return }
        let sender = letter.from.flatMap { $0.isEmpty ? nil : " from \($0.prefix(64))" } ?? ""
        let stamp = CivilTime(letter.createdAt, zone: zone).shortStamp.drop { $0 == " " }
        ask(.delete([letter.id]), "Delete the letter\(sender) of \(stamp)?")
    }

    private mutating func askToDelete(_ ids: [String]) {
        let hidden = ids.count - inbox.markedShown
        // Those that the filter hides are on this page, the others elsewhere.
        let isElsewhere = ids.count - inbox.markedHere == hidden
        guard ids.count > 1 else {
            let marked = isElsewhere ? "letter marked on another page" : "marked letter, which is not shown"
            let words = hidden > 0 ? "the \(marked)" : "1 letter"
            return ask(.delete(ids), "Delete \(words)?")
        }
        let place = isElsewhere ? "on other pages" : "not shown"
        let words = hidden > 0 ? ", \(Wording.grouped(hidden)) of them \(place)" : ""
        ask(.delete(ids), "Delete \(Wording.count(ids.count, "letter"))\(words)?")
    }

    /// Deletes what was asked about; the cursor goes on from a letter that leaves under it.
    mutating func deleteAsked(_ ids: [String]) -> [ChatEffect] {
        let effects = delete(ids, marks: inbox.marked.intersection(ids))
        leaveDeleted()
        return effects
    }

    // MARK: Deleting

    /// Deletes letters, a chunk at a time; while a deletion runs they join it.
    private mutating func delete(_ ids: [String], marks: Set<String>) -> [ChatEffect] {
        guard !ids.isEmpty else { return [] }
        guard inbox.deletion == nil else {
            inbox.deletion?.add(ids, marks: marks)
            return []
        }
        let deletion = Inbox.Deletion(ids, marks: marks, request: newNumber(), now: now.instant)
        inbox.deletion = deletion
        return Self.deleteEffects(deletion.request, deletion.current)
    }

    private static func deleteEffects(_ request: UInt64, _ ids: [String]) -> [ChatEffect] {
        if ids.count == 1, let id = ids.first { return [.deleteMessage(request: request, id: id)] }
        return [.bulkDelete(request: request, ids: ids)]
    }

    mutating func handleDeletion(_ result: BulkDeletion, _ request: UInt64) -> [ChatEffect] {
        guard var deletion = inbox.deletion, deletion.request == request else {
            inbox.remove(result.deleted, at: now.instant)
            return []
        }
        inbox.deletion = nil
        inbox.remove(deletion.take(result), at: now.instant)
        if let chunk = deletion.next(newNumber()) {
            inbox.deletion = deletion
            return Self.deleteEffects(deletion.request, chunk)
        }
        return end(deletion)
    }

    /// The network did not do what was asked, or nobody knows.
    mutating func handleFailedDeletion(_ error: RelayError, _ request: UInt64) -> [ChatEffect] {
        guard var deletion = inbox.deletion, deletion.request == request else { return [] }
        inbox.deletion = nil
        deletion.fail(error)
        return end(deletion)
    }

    /// Says what became of the letters. Those that stay are marked as before.
    private mutating func end(_ deletion: Inbox.Deletion) -> [ChatEffect] {
        inbox.markAgain(deletion.marks.filter { !inbox.tombstones.contains($0) }.sorted())
        let report = deletion.report
        say(report.words, report.isFailure ? .failure : .information)
        var effects: [ChatEffect] = [.countLetters] + refresh(after: deletion)
        effects += delete(deletion.following, marks: deletion.followingMarks)
        if case .question(let question)? = overlay, question.act == .leaveDeletion {
            overlay = nil
            if !report.isFailure { effects += quit() }
        }
        return effects
    }

    /// Stops a deletion after the chunk that is with the network.
    mutating func stopDeletion() -> Bool {
        guard inbox.deletion?.stop() == true else { return false }
        say("Stopping after this part.")
        return true
    }
}
