import Relay

// Letters are marked on whichever page they are, while the person goes on with something else.
extension ChatModel {
    /// Begins to mark what the filter finds in the whole list, or all of it where there is no filter.
    mutating func markMatching() -> [ChatEffect] {
        guard case .inbox(let box) = view, !isStillMarking() else { return [] }
        guard inbox.filter?.isUnfinished != true else {
            say("The filter is not finished.", .failure)
            return []
        }
        let counted = box.map { [inbox.counts[$0]].compactMap(\.self) } ?? Array(inbox.counts.values)
        let total = counted.isEmpty ? nil : counted.reduce(0) { $0 &+ max(0, $1) }
        let marking = Inbox.Marking(inbox.filter, ofBox: box, total: total, request: newNumber())
        inbox.marking = marking
        return [.readLetters(request: marking.request, postbox: box, token: nil, from: nil)]
    }

    /// Whether letters are being marked, of which nobody knows yet how many that will be; says so.
    mutating func isStillMarking() -> Bool {
        guard inbox.marking != nil else { return false }
        say("Letters are still being marked" + (settings.keys.label(of: .escape).map { "; \($0) stops that." } ?? "."))
        return true
    }

    /// Marks those of a portion that the filter lets through, and asks for the next one.
    mutating func handlePortion(_ portion: LetterPortion, _ request: UInt64) -> [ChatEffect] {
        guard var marking = inbox.marking, marking.request == request else { return [] }
        // Whoever has left the list sees no marks, and finds none when it is opened again.
        guard (trail + [view]).contains(.inbox(marking.box)) else { return end(marking, .left) }
        let matching = portion.letters.filter { letter in
            guard !inbox.tombstones.contains(letter.id), !inbox.isBeingDeleted(letter.id) else { return false }
            guard let filter = marking.filter else { return true }
            return filter.lets(through: letter, of: inbox, isRead: portion.readIDs.contains(letter.id))
        }
        let new = matching.map(\.id).filter { !inbox.marked.contains($0) }
        let room = max(0, Inbox.markLimit - inbox.marked.count)
        _ = inbox.mark(Array(new.prefix(room)), isMarked: true)
        marking.take(portion, matched: matching.count - max(0, new.count - room))
        if new.count > room { return end(marking, .full) }
        guard let token = portion.nextToken else { return end(marking, .complete) }
        guard marking.seen < Inbox.Marking.limit else { return end(marking, .tooMany) }
        marking.goOn(newNumber())
        inbox.marking = marking
        return [.readLetters(request: marking.request, postbox: marking.box, token: token, from: portion.source)]
    }

    /// What was marked so far stays.
    mutating func handleFailedPortion(_ error: RelayError, _ request: UInt64) {
        guard let marking = inbox.marking, marking.request == request else { return }
        _ = end(marking, .failed(error.words))
    }

    /// Ends it where the person wants that, in the list; false where nothing is being marked, or something else is in view.
    mutating func stopMarking() -> Bool {
        guard case .inbox = view, let marking = inbox.marking else { return false }
        _ = end(marking, .stopped)
        return true
    }

    /// Says that it has ended where another list is opened.
    mutating func leaveMarking() {
        if let marking = inbox.marking { _ = end(marking, .left) }
    }

    private mutating func end(_ marking: Inbox.Marking, _ end: Inbox.Marking.End) -> [ChatEffect] {
        inbox.marking = nil
        let isFailure = if case .failed = end { true } else { false }
        say(marking.words(end), isFailure ? .failure : .information)
        return []
    }
}
