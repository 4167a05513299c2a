import Relay

extension Inbox {
    /// Letters on their way out: those deleted within the last seconds, which can be brought back, and those that are
    /// leaving, a chunk at a time. One letter and thousands go the same way.
    struct Deletion: Equatable, Sendable {
        /// What one key or one answer deleted.
        struct Step: Equatable, Sendable {
            let ids: [String]
            /// The postboxes of those that were marked, by the letters' ids.
            fileprivate(set) var marks: [String: String]
        }

        /// What can still be undone, oldest first.
        private(set) var steps: [Step] = []
        private var undoable: Set<String> = []
        /// When the undoable letters leave; nil where there are none.
        private(set) var deadline: ContinuousClock.Instant?
        /// Whether the undoable letters wait for the person, who has stopped the program or is asked about them.
        private(set) var isHeld = false
        /// The letters that are leaving; nil where none are.
        private(set) var run: Run?

        /// How long a deletion can be undone.
        static let time = Duration.seconds(5)
        /// Most letters that can be undone.
        static let limit = Inbox.markLimit

        /// Whether nothing is on its way out.
        var isEmpty: Bool { steps.isEmpty && run == nil }
        /// How many letters can still be undone.
        var undoableCount: Int { undoable.count }
        /// How many letters are still to leave.
        var count: Int { undoable.count + (run?.leaving ?? 0) }

        /// Whether a letter is on its way out.
        func contains(_ id: String) -> Bool { undoable.contains(id) || run?.members.contains(id) == true }

        // MARK: Undoing

        /// Adds a step; the time begins anew.
        mutating func add(_ step: Step, now: ContinuousClock.Instant) {
            steps.append(step)
            undoable.formUnion(step.ids)
            deadline = now + Self.time
        }

        /// Takes the last step back.
        mutating func undo() -> Step? {
            guard let step = steps.popLast() else { return nil }
            undoable.subtract(step.ids)
            if steps.isEmpty { (deadline, isHeld) = (nil, false) }
            return step
        }

        /// Has the undoable letters wait until ``release(now:)``.
        mutating func hold() { isHeld = !steps.isEmpty }

        /// Ends the wait; the time begins anew.
        mutating func release(now: ContinuousClock.Instant) {
            guard isHeld else { return }
            isHeld = false
            deadline = now + Self.time
        }

        /// Has the undoable letters leave as soon as they can.
        mutating func settle(now: ContinuousClock.Instant) {
            guard !steps.isEmpty else { return }
            (deadline, isHeld) = (now, false)
        }

        /// Whether undoable letters have to leave now. A run that was stopped ends before they do.
        func isDue(at now: ContinuousClock.Instant) -> Bool {
            guard let deadline, !isHeld, run?.isStopped != true else { return false }
            return deadline <= now
        }

        /// When the seconds that are left change next; nil where they do not.
        func nextChange(after instant: ContinuousClock.Instant) -> ContinuousClock.Instant? {
            guard let deadline, !isHeld else { return nil }
            guard deadline > instant else { return isDue(at: instant) ? instant : nil }
            let left = instant.duration(to: deadline)
            let whole = left.components.attoseconds == 0 ? left - .seconds(1) : .seconds(left.components.seconds)
            return deadline.advanced(by: .zero - whole)
        }

        /// Marks nothing again that stays.
        mutating func forgetMarks() {
            for index in steps.indices { steps[index].marks = [:] }
            run?.marks = [:]
        }

        // MARK: Leaving

        /// Has the undoable letters leave: they join the run, or begin one.
        ///
        /// - Returns: the first letters of a run that has begun; nil where one was under way.
        mutating func begin(_ request: UInt64, now: ContinuousClock.Instant) -> [String]? {
            let ids = steps.flatMap(\.ids)
            let marks = steps.reduce(into: [:]) { $0.merge($1.marks) { first, _ in first } }
            (steps, undoable, deadline, isHeld) = ([], [], nil, false)
            guard run == nil else {
                run?.add(ids, marks: marks)
                return nil
            }
            var begun = Run(ids, marks: marks, began: now)
            let chunk = begun.next(request)
            if chunk != nil { run = begun }
            return chunk
        }

        /// Takes in what became of the letters that are with the network.
        ///
        /// - Returns: those that are gone.
        mutating func take(_ result: BulkDeletion) -> [String] { run?.take(result) ?? [] }

        /// Takes in that the network did nothing, as far as is known.
        mutating func fail(_ error: RelayError) { run?.fail(error) }

        /// Goes on with the next letters; nil where there are none, or nobody knows what became of the last ones.
        mutating func next(_ request: UInt64) -> [String]? { run?.next(request) }

        /// Stops the run after the letters that are with the network; false where these are the last.
        mutating func stop() -> Bool { run?.stop() ?? false }

        /// Ends the run.
        mutating func end() -> Run? {
            defer { run = nil }
            return run
        }
    }
}

extension Inbox.Deletion {
    /// Letters that are leaving, one chunk at a time.
    struct Run: Equatable, Sendable {
        /// The request that is with the network.
        private(set) var request: UInt64 = 0
        /// Its letters.
        private(set) var current: [String] = []
        /// All letters, and how many of them the network was asked to delete.
        private var queue: [String]
        private var taken = 0
        /// Those that are on their way out still.
        private(set) var members: Set<String>
        /// The postboxes of those that were marked, by the letters' ids: what stays is marked again.
        fileprivate(set) var marks: [String: String]
        /// Letters that are gone: deleted now, and before by others.
        private(set) var deleted = 0
        private(set) var goneBefore = 0
        /// Letters that the network did not delete.
        private(set) var refused = 0
        /// Letters of which it is not known whether they are gone.
        private(set) var unknown = 0
        /// Why the last of these was not deleted.
        private(set) var lastFailure: String?
        /// Whether the person has stopped it.
        private(set) var isStopped = false
        let began: ContinuousClock.Instant

        /// Letters of one request at most, as the network's call takes them.
        static let chunk = 25

        fileprivate init(_ ids: [String], marks: [String: String], began: ContinuousClock.Instant) {
            queue = ids
            members = Set(ids)
            self.marks = marks
            self.began = began
        }

        var total: Int { queue.count }
        /// Letters that are dealt with, one way or the other.
        var done: Int { deleted + goneBefore + refused + unknown }
        /// Letters that are not with the network yet.
        var waitingCount: Int { queue.count - taken }
        /// Letters that are still there.
        var staying: Int { total - deleted - goneBefore - unknown }
        /// Letters that are still to leave: those alone that are with the network once it is stopped.
        var leaving: Int { isStopped ? current.count : total - done }

        fileprivate mutating func add(_ ids: [String], marks more: [String: String]) {
            queue += ids.filter { members.insert($0).inserted }
            marks.merge(more) { first, _ in first }
        }

        fileprivate mutating func take(_ result: BulkDeletion) -> [String] {
            var gone = result.deleted
            deleted += result.deleted.count
            for failure in result.failed {
                if case .notFound = failure.error {
                    goneBefore += 1
                    gone.append(failure.id)
                    continue
                }
                refused += 1
                lastFailure = failure.error.words
            }
            unknown += result.unknown.count
            lastFailure = result.unknown.last?.error.words ?? lastFailure
            current = []
            members.subtract(gone)
            for id in gone { marks[id] = nil }
            return gone
        }

        fileprivate mutating func fail(_ error: RelayError) {
            if error.leavesDeletionUnknown { unknown += current.count }
            lastFailure = error.words
            current = []
        }

        fileprivate mutating func next(_ request: UInt64) -> [String]? {
            guard waitingCount > 0, !isStopped, unknown == 0 else { return nil }
            self.request = request
            current = Array(queue[taken..<min(queue.count, taken + Self.chunk)])
            taken += current.count
            return current
        }

        fileprivate mutating func stop() -> Bool {
            guard waitingCount > 0, !isStopped else { return false }
            isStopped = true
            return true
        }

        /// What became of it, and whether all went well.
        var report: (words: String, isFailure: Bool) {
            let all =
                deleted > 0
                ? "Deleted \(Wording.count(deleted, "letter"))"
                : "No letter \(unknown > 0 ? "is known to be" : "was") deleted"
            let before =
                goneBefore > 0
                ? ", \(Wording.grouped(goneBefore)) \(goneBefore == 1 ? "was" : "were") gone already" : ""
            if done == total {
                var words = all + before
                if refused > 0 { words += ", \(Wording.grouped(refused)) \(refused == 1 ? "was" : "were") refused" }
                if unknown > 0 { words += ", \(Wording.grouped(unknown)) unknown" }
                return (words + "." + (lastFailure.map { " \($0)" } ?? ""), refused + unknown > 0)
            }
            let part = deleted > 0 ? "Deleted \(Wording.grouped(deleted)) of \(Wording.grouped(total))" : all
            var words = "\(part)\(before); "
            if unknown > 0 { words += "\(Wording.grouped(unknown)) unknown, " }
            words += "\(Wording.grouped(staying)) \(staying == 1 ? "stays" : "stay")."
            return (words + (lastFailure.map { " \($0)" } ?? ""), !isStopped || lastFailure != nil)
        }

        /// Letters a second; nil before there is anything to tell.
        func rate(now: ContinuousClock.Instant) -> Int? {
            let elapsed = began.duration(to: now)
            guard elapsed >= .seconds(1), done > 0 else { return nil }
            return max(1, Int(Double(done) / (elapsed / .seconds(1))))
        }
    }
}

extension RelayError {
    /// Whether a deletion that ended with it may have taken place all the same.
    fileprivate var leavesDeletionUnknown: Bool {
        switch self {
        case .timeout, .connection, .uncertain, .cancelled: true
        default: false
        }
    }
}
