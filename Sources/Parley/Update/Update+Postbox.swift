import Relay

extension ChatModel {
    /// Shows the letters of one postbox, or of all.
    mutating func openInbox(_ box: String?) -> [ChatEffect] {
        let isSame = view == .inbox(box)
        if !isSame { inbox.reset() }
        show(.inbox(box))
        return isSame && inbox.isLoaded ? [] : fetch(inbox.trail)
    }

    /// Takes in news of the postbox.
    mutating func handlePostboxNews(_ news: ChatEvent.PostboxNews) -> [ChatEffect] {
        switch news {
        case .boxes(let boxes):
            inbox.boxes = Array(boxes.prefix(1_000))
            if case .inbox(let box?) = view, !boxes.contains(where: { $0.id == box }) { return openInbox(nil) }
        case .counts(let counts):
            inbox.counts = counts
        case .read(let ids, let counts):
            inbox.noteRead(ids, counts: counts)
        case .page(let request, let output):
            return handlePage(output, request)
        case .pageFailed(let request, let error):
            guard inbox.fetch?.request == request else { return [] }
            inbox.fetch = nil
            inbox.dropHeld()
            inbox.failure = error.words
            if !inbox.letters.isEmpty { say("The page could not be listed. \(error.words)", .failure) }
            if error == .invalidToken, inbox.trail.count > 1 { return fetch([nil]) }
        case .keptPage(let request, let letters):
            let effects = handlePage(letters.page, request)
            // The counts that the network has told are newer, or there are none.
            if inbox.counts.isEmpty { inbox.counts = letters.counts }
            inbox.kept = Inbox.Kept(asOf: letters.asOf)
            return effects
        case .created(let letter):
            return handleLetter(letter)
        case .deletion(let request, let result):
            return handleDeletion(result, request)
        case .deletionFailed(let request, let error):
            guard let deletion = inbox.deletion, deletion.request == request else { return [] }
            let left = deletion.total - deletion.deleted
            inbox.deletion = nil
            say("Deleted \(deletion.deleted) of \(deletion.total); \(left) stay. \(error.words)", .failure)
            return [.countLetters] + refill()
        case .subscription(let status):
            if case .error(let error) = status { note("postbox: \(error.words)") }
        }
        return []
    }

    // MARK: Pages

    /// Asks for the page that `trail` leads to, unless one is on its way already.
    private mutating func fetch(_ trail: [String?]) -> [ChatEffect] {
        guard case .inbox(let box) = view, inbox.fetch == nil else { return [] }
        let request = newNumber()
        inbox.fetch = Inbox.Fetch(request: request, trail: trail)
        inbox.failure = nil
        let token = trail.last ?? nil
        return [.listPage(request: request, postbox: box, token: token, limit: Inbox.pageSize)]
    }

    mutating func refreshInbox() -> [ChatEffect] { fetch(inbox.trail) }

    mutating func nextPage() -> [ChatEffect] {
        guard inbox.hasMore else {
            say("This is the last page.")
            return []
        }
        guard let token = inbox.nextToken, inbox.trail.count < Inbox.trailLimit else { return fetch(inbox.trail) }
        return fetch(inbox.trail + [token])
    }

    mutating func previousPage() -> [ChatEffect] {
        guard inbox.trail.count > 1 else {
            say("This is the first page.")
            return []
        }
        return fetch(inbox.trail.dropLast())
    }

    /// Lists again when connected, where the last try failed or none was made.
    mutating func retryInbox() -> [ChatEffect] {
        guard case .inbox = view, !inbox.isLoaded || inbox.failure != nil || inbox.kept != nil else { return [] }
        return fetch(inbox.trail)
    }

    private mutating func handlePage(_ output: ListOutput<PostboxMessage>, _ request: UInt64) -> [ChatEffect] {
        guard let fetch = inbox.fetch, fetch.request == request else { return [] }
        let turned = fetch.trail.count != inbox.trail.count
        inbox.show(output, trail: fetch.trail)
        if turned {
            inbox.selected = 0
            inbox.firstVisible = 0
        }
        if inbox.letters.isEmpty, inbox.nextToken == nil, inbox.trail.count > 1 {
            return self.fetch(inbox.trail.dropLast())
        }
        return performHeld()
    }

    /// Does what the person has asked for while the page was on its way, up to a question.
    private mutating func performHeld() -> [ChatEffect] {
        var effects: [ChatEffect] = []
        while overlay == nil, focus == .main, case .inbox(let box) = view, let next = inbox.takeHeld() {
            let pane = InboxPane(box: box)
            switch next {
            case .action(let action): effects += pane.perform(action, on: &self)
            case .scroll(let lines): effects += pane.scroll(up: lines, on: &self)
            }
        }
        return effects
    }

    /// A page that was emptied shows what comes after it.
    private mutating func refill() -> [ChatEffect] {
        guard inbox.isLoaded, inbox.letters.isEmpty, inbox.hasMore || inbox.trail.count > 1 else { return [] }
        return fetch(inbox.trail)
    }

    private mutating func handleLetter(_ letter: PostboxMessage) -> [ChatEffect] {
        var shown: String?
        if case .inbox(let box) = view { shown = box }
        guard inbox.add(letter, shownBox: shown) else { return [] }
        inbox.counts[letter.postboxId, default: 0] &+= 1
        return isLooking ? [.countLetters] : [.countLetters] + ring()
    }

    // MARK: Deleting

    /// Asks before the marked letters are deleted, or the selected one where none is marked.
    mutating func askToDelete() {
        if inbox.marked.isEmpty { askToDeleteSelected() } else { askToDeleteMarked() }
    }

    /// Asks whether a letter is to be deleted, whatever is marked.
    mutating func askToDelete(_ number: Int) { if selectLetter(number) { askToDeleteSelected() } }

    /// Goes to a letter by its number in the list, from 1; says so where there is none.
    mutating func selectLetter(_ number: Int) -> Bool {
        guard inbox.numbered.indices.contains(number - 1) else {
            say("The list has \(Wording.count(inbox.numbered.count, "letter")).", .failure)
            return false
        }
        guard let place = inbox.letters.firstIndex(where: { $0.id == inbox.numbered[number - 1] }) else {
            say("Letter \(number) is not there any more.", .failure)
            return false
        }
        inbox.open = nil
        inbox.selected = place
        return true
    }

    mutating func sayPostboxFirst() {
        say("Open the postbox first" + (settings.keys.label(of: .openPostbox).map { ": \($0)" } ?? "."))
    }

    private mutating func askToDeleteSelected() {
        guard let letter = inbox.selectedLetter, !inbox.isBeingDeleted(letter.id) else { return }
        let sender = letter.from.flatMap { $0.isEmpty ? nil : " from \($0.prefix(64))" } ?? ""
        let stamp = CivilTime(letter.createdAt, zone: zone).shortStamp.drop { $0 == " " }
        ask(.delete([letter.id]), "Delete the letter\(sender) of \(stamp)?")
    }

    /// Deletes what was asked about; the cursor goes on from a letter that leaves under it.
    mutating func deleteAsked(_ ids: [String]) -> [ChatEffect] {
        if let letter = inbox.selectedLetter, ids == [letter.id] {
            inbox.selected = min(inbox.selected + 1, inbox.letters.count - 1)
        }
        return delete(ids)
    }

    private mutating func askToDeleteMarked() {
        let ids = inbox.letters.map(\.id).filter { inbox.marked.contains($0) && !inbox.isBeingDeleted($0) }
        guard !ids.isEmpty else { return }
        ask(.delete(ids), "Delete \(Wording.count(ids.count, "letter"))?")
    }

    /// Deletes letters, a chunk at a time; while a deletion runs they join it.
    private mutating func delete(_ ids: [String]) -> [ChatEffect] {
        guard !ids.isEmpty else { return [] }
        if inbox.deletion != nil {
            let new = ids.filter { !inbox.isBeingDeleted($0) }
            inbox.deletion?.waiting += new
            inbox.deletion?.total += new.count
            return []
        }
        let request = newNumber()
        let chunk = Array(ids.prefix(Inbox.pageSize))
        inbox.deletion = Inbox.Deletion(
            request: request, current: chunk, waiting: Array(ids.dropFirst(chunk.count)), total: ids.count)
        return Self.deleteEffects(request, chunk)
    }

    private static func deleteEffects(_ request: UInt64, _ ids: [String]) -> [ChatEffect] {
        if ids.count == 1, let id = ids.first { return [.deleteMessage(request: request, id: id)] }
        return [.bulkDelete(request: request, ids: ids)]
    }

    private mutating func handleDeletion(_ result: BulkDeletion, _ request: UInt64) -> [ChatEffect] {
        guard var deletion = inbox.deletion, deletion.request == request else {
            inbox.remove(result.deleted)
            return []
        }
        deletion.deleted += result.deleted.count
        deletion.failed += result.notDeleted.map(\.id)
        deletion.lastFailure = result.notDeleted.last?.error.words ?? deletion.lastFailure
        // What no longer exists has no row either.
        let gone = result.failed.filter { if case .notFound = $0.error { true } else { false } }.map(\.id)
        inbox.remove(result.deleted + gone)
        if deletion.waiting.isEmpty {
            inbox.deletion = nil
            report(deletion)
            return [.countLetters] + refill()
        }
        let next = newNumber()
        let chunk = Array(deletion.waiting.prefix(Inbox.pageSize))
        deletion.waiting.removeFirst(chunk.count)
        var running = Inbox.Deletion(request: next, current: chunk, waiting: deletion.waiting, total: deletion.total)
        running.deleted = deletion.deleted
        running.failed = deletion.failed
        running.lastFailure = deletion.lastFailure
        inbox.deletion = running
        return Self.deleteEffects(next, chunk)
    }

    private mutating func report(_ deletion: Inbox.Deletion) {
        let letters = Wording.count(deletion.deleted, "letter")
        guard !deletion.failed.isEmpty else {
            say("Deleted \(letters).")
            return
        }
        say("Deleted \(letters), \(deletion.failed.count) not. \(deletion.lastFailure ?? "")", .failure)
    }

    /// Stops a deletion after the chunk that is with the network.
    mutating func stopDeletion() -> Bool {
        guard let deletion = inbox.deletion, !deletion.waiting.isEmpty else { return false }
        inbox.deletion?.total -= deletion.waiting.count
        inbox.deletion?.waiting = []
        say("Stopping after this part.")
        return true
    }

    // MARK: Replying

    /// Begins a letter to the sender of the open or selected one.
    mutating func reply() {
        guard let letter = inbox.openLetter ?? inbox.selectedLetter else { return }
        guard let from = letter.from, !from.isEmpty else {
            say("The letter does not say who sent it. /post USER/POSTBOX TEXT writes to anyone.", .failure)
            return
        }
        guard !from.hasPrefix("~") else {
            return say("The network itself sent this; an answer would not be read.", .failure)
        }
        let address = SafeAddress.of(from)
        // A letter names its sender and none of the sender's postboxes: everyone begins with this one.
        beginLetter(address.contains("/") ? "/post \(address) " : "/post \(address)/personal ")
    }

    /// Begins a letter in the compose pane, unless something is being written there.
    mutating func beginLetter(_ command: String = "/post ") {
        focus = .compose
        guard !compose.hasContent else {
            let clears = settings.keys.label(of: .interrupt).map { " \($0) clears it." } ?? ""
            say("Something is being written already." + clears)
            return
        }
        compose.set(command)
    }
}

/// A sender's claimed name as an address: it is remote text, so white space and controls cannot be part of it.
private enum SafeAddress {
    static func of(_ text: String) -> String {
        let kept = text.unicodeScalars.filter { scalar in
            !scalar.properties.isWhitespace && scalar.properties.generalCategory != .control
                && scalar.properties.generalCategory != .format
        }
        return String(String(String.UnicodeScalarView(kept)).prefix(128))
    }
}
