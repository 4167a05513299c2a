import Relay

// Marking letters, on the page or on any page, while the person goes on with something else.
extension ChatModel {
    // MARK: On the page

    func mark(_ letters: [PostboxMessage]) {
        guard !network.inbox.mark(letters) else { return }
        say("\(Wording.grouped(Inbox.markLimit)) letters can be marked, no more.", .failure)
    }

    func markRange() {
        guard let letters = network.inbox.rangeFromLastMark else {
            return say("No marked letter is shown: mark the first one of the range.")
        }
        mark(letters)
    }

    func markAllShown() {
        let all = network.inbox.letters.filter { !network.inbox.isBeingDeleted($0.id) }
        if all.allSatisfy({ network.inbox.isMarked($0.id) }) { network.inbox.unmark(all.map(\.id)) } else { mark(all) }
    }

    // MARK: On whichever page

    func markMatching() -> ChatEffects {
        guard case .inbox(let box) = screen.view, !isStillMarking() else { return [] }
        guard network.inbox.filter?.isUnfinished != true else { return tell("The filter is not finished.", .failure) }
        return mark(by: sweep(of: box))
    }

    private func mark(by sweep: Inbox.Sweep) -> ChatEffects {
        network.inbox.marking = sweep
        return [reading(sweep, .oldestFirst)]
    }

    private func reading(_ sweep: Inbox.Sweep, _ order: LetterOrder) -> CoreEffect {
        .letters(
            .readPortion(
                request: sweep.request, postbox: sweep.box, token: sweep.token, from: sweep.source, order: order))
    }

    /// - Parameter source: where the letters are read; nil lets the core choose.
    private func sweep(of box: String?, from source: LetterPortion.Source? = nil) -> Inbox.Sweep {
        let counted = box.map { [network.inbox.counts[$0]].compactMap(\.self) } ?? Array(network.inbox.counts.values)
        let total = counted.isEmpty ? nil : counted.reduce(0) { $0 &+ max(0, $1) }
        // An empty filter finds all.
        let filter = network.inbox.filter.flatMap { $0.editor.isBlank ? nil : $0 }
        return Inbox.Sweep(request: newNumber(), box: box, filter: filter, total: total, source: source)
    }

    /// Whether letters are still being marked, so that their number is unknown; says so.
    func isStillMarking() -> Bool {
        guard network.inbox.marking != nil else { return false }
        say("Letters are still being marked" + (settings.keys.label(of: .escape).map { "; \($0) stops that." } ?? "."))
        return true
    }

    /// Marks the letters of a portion that the filter lets through, and asks for the next one.
    func handlePortion(_ portion: LetterPortion, _ request: UInt64) -> ChatEffects {
        if network.inbox.finding?.sweep.request == request { return find(in: portion) }
        guard var marking = network.inbox.marking, marking.request == request else { return [] }
        // A person who has left the list sees no marks, and finds none when it is opened again.
        guard (screen.trail + [screen.view]).contains(.inbox(marking.box)) else { return end(marking, .left) }
        guard !marking.isOutdated else {
            marking.goOn(newNumber(), at: marking.token)
            return mark(by: marking)
        }
        let matching = matching(portion, marking.filter)
        let new = matching.filter { !network.inbox.isMarked($0.id) }
        let room = max(0, Inbox.markLimit - network.inbox.marks.count)
        _ = network.inbox.mark(Array(new.prefix(room)))
        marking.take(portion, matched: matching.count - max(0, new.count - room))
        if let reason = marking.end(after: portion, isFull: new.count > room) { return end(marking, reason) }
        marking.goOn(newNumber(), at: portion.nextToken)
        return mark(by: marking)
    }

    private func matching(_ portion: LetterPortion, _ filter: Inbox.Filter?) -> [PostboxMessage] {
        portion.letters.filter { letter in
            guard !network.inbox.isBeingDeleted(letter.id) else { return false }
            return filter?.lets(through: letter, of: network.inbox, isRead: portion.readIDs.contains(letter.id)) ?? true
        }
    }

    /// The letters marked so far stay marked.
    func handleFailedPortion(_ error: RelayError, _ request: UInt64) {
        if network.inbox.finding?.sweep.request == request { return network.inbox.endFinding(.failed(error.words)) }
        guard let marking = network.inbox.marking, marking.request == request else { return }
        _ = end(marking, .failed(error.words))
    }

    /// Stops marking at the person's wish, in the list; false if nothing is being marked, or something else is in view.
    func stopMarking() -> Bool {
        guard screen.view.isInbox, let marking = network.inbox.marking else { return false }
        _ = end(marking, .stopped)
        return true
    }

    func leaveMarking() {
        if let marking = network.inbox.marking { _ = end(marking, .left) }
    }

    private func end(_ marking: Inbox.Sweep, _ end: Inbox.Sweep.End) -> ChatEffects {
        network.inbox.marking = nil
        let kind: Notice.Kind = if case .failed = end { .failure } else { .information }
        return tell(marking.words(end), kind)
    }

    // MARK: Finding

    /// Lets the filter search the entire list, if that is more than the page.
    func lettersToFind() -> ChatEffects {
        // A letter that is read covers the list.
        guard case .inbox(let box) = screen.view else { return [] }
        guard let filter = network.inbox.filter, !filter.terms.isEmpty, network.inbox.isLoaded,
            network.inbox.fetch == nil, !network.inbox.isWholeList
        else {
            network.inbox.dropFinding()
            return []
        }
        // A search for something else starts when the portion being fetched is here: one is read at a time.
        if let finding = network.inbox.finding, finding.sweep.filter?.terms == filter.terms || finding.end == nil {
            return []
        }
        return find(by: sweep(of: box))
    }

    private func find(by sweep: Inbox.Sweep) -> ChatEffects {
        network.inbox.finding = Inbox.Matches(sweep)
        return [reading(sweep, network.inbox.order)]
    }

    /// Handles a portion that the filter searches, and asks for the next one.
    private func find(in portion: LetterPortion) -> ChatEffects {
        guard let sweep = network.inbox.finding?.sweep, (screen.trail + [screen.view]).contains(.inbox(sweep.box)),
            let filter = network.inbox.filter, !filter.terms.isEmpty
        else {
            network.inbox.dropFinding()
            return []
        }
        guard sweep.filter?.terms == filter.terms else {
            return find(by: self.sweep(of: sweep.box, from: portion.source))
        }
        guard !sweep.isOutdated else { return goOnFinding(at: sweep.token) }
        network.inbox.found(matching(portion, filter), in: portion)
        guard let finding = network.inbox.finding else { return [] }
        guard let end = finding.sweep.end(after: portion, isFull: finding.isFull) else {
            return goOnFinding(at: portion.nextToken)
        }
        network.inbox.endFinding(end)
        return []
    }

    private func goOnFinding(at token: String?) -> ChatEffects {
        network.inbox.finding?.sweep.goOn(newNumber(), at: token)
        return network.inbox.finding.map { [reading($0.sweep, network.inbox.order)] } ?? []
    }
}
