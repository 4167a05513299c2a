import Relay

extension Inbox {
    /// Letters being deleted: those of the last seconds, which can be restored, and those that are leaving. One letter
    /// goes the same way as thousands.
    struct Deletion: Equatable, Sendable {
        /// The letters that one key or one answer deleted.
        struct Step: Equatable, Sendable {
            let ids: [String]
            /// The postboxes of those that were marked, by the letters' ids.
            fileprivate(set) var marks: [String: String]
        }

        /// Steps that can still be undone, oldest first.
        fileprivate(set) var steps: [Step] = []
        fileprivate var undoable: Set<String> = []
        /// When the undoable letters leave; nil if there are none.
        fileprivate(set) var deadline: ContinuousClock.Instant?
        /// Whether the undoable letters wait for the person, who has suspended the program or is being asked about
        /// them.
        private(set) var isHeld = false
        /// Letters that are leaving, one run after the other.
        private var runs: [Run] = []
        /// Whether the first run was stopped and the core was not told yet.
        private var isStopNew = false

        /// How long a deletion can be undone.
        static let time = Duration.seconds(5)
        static let limit = Inbox.markLimit

        var run: Run? { runs.first }
        var isEmpty: Bool { steps.isEmpty && runs.isEmpty }
        var undoableCount: Int { undoable.count }
        var count: Int { runs.reduce(undoable.count) { $0 + $1.leaving } }

        func contains(_ id: String) -> Bool { undoable.contains(id) || runs.contains { $0.contains(id) } }

        mutating func undo() -> Step? {
            guard let step = steps.popLast() else { return nil }
            undoable.subtract(step.ids)
            if steps.isEmpty { (deadline, isHeld) = (nil, false) }
            return step
        }

        mutating func hold() { isHeld = !steps.isEmpty }

        mutating func release(now: ContinuousClock.Instant) {
            guard isHeld else { return }
            isHeld = false
            deadline = now + Self.time
        }

        func isDue(at now: ContinuousClock.Instant) -> Bool { deadline.map { $0 <= now && !isHeld } ?? false }

        /// When the remaining seconds change next; nil if they do not.
        func nextChange(after instant: ContinuousClock.Instant) -> ContinuousClock.Instant? {
            guard let deadline, !isHeld else { return nil }
            guard deadline > instant else { return instant }
            let left = instant.duration(to: deadline)
            let whole = left.components.attoseconds == 0 ? left - .seconds(1) : .seconds(left.components.seconds)
            return deadline.advanced(by: .zero - whole)
        }

        /// Forgets marks, so that letters that stay are not marked again.
        mutating func forgetMarks() {
            for index in steps.indices { steps[index].marks = [:] }
            for index in runs.indices { runs[index].marks = [:] }
        }

        /// Lets the undoable letters leave as soon as those before them have.
        mutating func settle() {
            guard !steps.isEmpty else { return }
            runs.append(Run(steps))
            (steps, undoable, deadline, isHeld) = ([], [], nil, false)
        }

        mutating func takeEffects(at now: ContinuousClock.Instant) -> ChatEffects {
            if isDue(at: now) { settle() }
            var effects: ChatEffects = isStopNew ? [.letters(.stopDeleting)] : []
            isStopNew = false
            if let run, run.began == nil {
                runs[0].began = now
                effects.core.append(.letters(.delete(ids: run.ids)))
            }
            return effects
        }

        mutating func progress(to done: Int) { if !runs.isEmpty { runs[0].done = done } }

        /// Stops the run: letters that are not with the network yet stay. False if there is nothing to stop.
        mutating func stop() -> Bool {
            guard let run, run.isStoppable else { return false }
            runs[0].isStopped = true
            isStopNew = true
            return true
        }

        mutating func end() -> Run? { runs.isEmpty ? nil : runs.removeFirst() }
    }

    /// Deletes letters. None leaves while that can still be undone.
    ///
    /// - Parameter isUndoable: whether there is a key to undo it.
    mutating func delete(_ ids: [String], now: ContinuousClock.Instant, isUndoable: Bool) {
        guard !ids.isEmpty else { return }
        if deletion.undoable.count + ids.count > Deletion.limit { deletion.settle() }
        deletion.steps.append(Deletion.Step(ids: ids, marks: marks(of: ids)))
        deletion.undoable.formUnion(ids)
        // The time of earlier ones begins anew.
        deletion.deadline = now + Deletion.time
        if !isUndoable { deletion.settle() }
        unmark(ids)
        // The cursor goes on from a deleted letter.
        guard let letter = selectedLetter, isBeingDeleted(letter.id) else { return }
        let stays = letters.indices.filter { !isBeingDeleted(letters[$0].id) }
        if open == letter.id { open = nil }
        if let next = stays.first(where: { $0 > selected }) ?? stays.last { choose(next) }
    }
}

extension Inbox.Deletion {
    struct Run: Equatable, Sendable {
        let ids: [String]
        private let members: Set<String>
        /// The postboxes of those that were marked, by the letters' ids: letters that stay are marked again.
        fileprivate(set) var marks: [String: String]
        /// The number of letters dealt with, whatever the result.
        fileprivate(set) var done = 0
        fileprivate(set) var isStopped = false
        /// When the network was asked; nil while it waits for an earlier run.
        fileprivate(set) var began: ContinuousClock.Instant?

        fileprivate init(_ steps: [Step]) {
            ids = steps.flatMap(\.ids)
            members = Set(ids)
            marks = steps.reduce(into: [:]) { $0.merge($1.marks) { first, _ in first } }
        }

        func contains(_ id: String) -> Bool { members.contains(id) }

        /// The number of letters still to leave; once stopped, of those that are with the network.
        var leaving: Int { isStopped ? min(ids.count - done, BulkDeletion.window) : ids.count - done }

        /// Whether some letters are not with the network yet, and can be kept.
        var isStoppable: Bool { !isStopped && ids.count - done > BulkDeletion.window }

        /// Letters a second; nil before that can be told.
        func rate(now: ContinuousClock.Instant) -> Int? {
            guard done > 0, let elapsed = began?.duration(to: now), elapsed >= .seconds(1) else { return nil }
            return max(1, Int(Double(done) / (elapsed / .seconds(1))))
        }
    }
}

extension BulkDeletion {
    /// The report for the person, and whether it is a failure.
    var report: (words: String, isFailure: Bool) {
        let before = gone.count - deleted.count
        let unsent = failed.count { $0.error.leavesLetter }
        let refused = failed.count - before - unsent
        let reason = (unknown.last ?? failed.last { !gone.contains($0.id) && $0.error != .cancelled })?.error.words
        var words =
            deleted.isEmpty
            ? "No letter \(unknown.isEmpty ? "was" : "is known to be") deleted"
            : "Deleted \(Wording.count(deleted.count, "letter"))"
        if unsent > 0, !deleted.isEmpty {
            let count = deleted.count + notDeleted.count
            words = "Deleted \(Wording.grouped(deleted.count)) of \(Wording.grouped(count))"
        }
        if before > 0 { words += ", \(Wording.grouped(before)) \(before == 1 ? "was" : "were") gone already" }
        if unsent > 0 {
            let staying = unsent + refused
            words += "; " + (unknown.isEmpty ? "" : "\(Wording.grouped(unknown.count)) unknown, ")
            words += "\(Wording.grouped(staying)) \(staying == 1 ? "stays" : "stay")"
        } else {
            if refused > 0 { words += ", \(Wording.grouped(refused)) \(refused == 1 ? "was" : "were") refused" }
            if !unknown.isEmpty { words += ", \(Wording.grouped(unknown.count)) unknown" }
        }
        return (words + "." + (reason.map { " \($0)" } ?? ""), reason != nil)
    }
}

extension RelayError {
    /// Whether a letter still exists if its deletion ended with this error: the network was not asked.
    fileprivate var leavesLetter: Bool {
        switch self {
        case .timeout, .connection, .notConnected, .cancelled: true
        default: false
        }
    }
}
