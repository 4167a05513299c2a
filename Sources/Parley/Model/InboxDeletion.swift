import Relay

extension Inbox {
    /// Letters that were deleted a moment ago. Nothing has left yet: until the deadline it can be undone.
    struct PendingDeletion: Equatable, Sendable {
        /// What one key has deleted.
        struct Step: Equatable, Sendable {
            let ids: [String]
            /// Those that were marked.
            let marked: Set<String>
        }

        private(set) var steps: [Step] = []
        /// All their letters.
        private(set) var members: Set<String> = []
        /// When it goes out.
        private(set) var deadline: ContinuousClock.Instant
        /// Whether it waits for the person, who has stopped the program and cannot undo anything meanwhile.
        private(set) var isHeld = false

        /// So long it can be undone.
        static let time = Duration.seconds(5)
        /// Letters that wait at most.
        static let limit = 500

        /// Begins with one step.
        init(_ step: Step, now: ContinuousClock.Instant) {
            deadline = now.advanced(by: Self.time)
            add(step, now: now)
        }

        /// Its letters, in the order in which they were deleted.
        var ids: [String] { steps.flatMap(\.ids) }
        /// Those that were marked.
        var marked: Set<String> { steps.reduce(into: []) { $0.formUnion($1.marked) } }

        /// Adds a step; the time begins anew.
        mutating func add(_ step: Step, now: ContinuousClock.Instant) {
            steps.append(step)
            members.formUnion(step.ids)
            deadline = now.advanced(by: Self.time)
        }

        /// Has it wait until the program goes on.
        mutating func hold() { isHeld = true }

        /// The program goes on, and the time begins anew: the person can undo it again.
        mutating func release(now: ContinuousClock.Instant) {
            guard isHeld else { return }
            isHeld = false
            deadline = now.advanced(by: Self.time)
        }

        /// Takes the last step back.
        mutating func undo() -> Step? {
            guard let step = steps.popLast() else { return nil }
            members.subtract(step.ids)
            return step
        }

        /// When the seconds that are left change next.
        func nextChange(after instant: ContinuousClock.Instant) -> ContinuousClock.Instant {
            guard deadline > instant else { return instant }
            let left = instant.duration(to: deadline)
            let whole = left.components.attoseconds == 0 ? left - .seconds(1) : .seconds(left.components.seconds)
            return deadline.advanced(by: .zero - whole)
        }
    }

    /// A deletion under way, one chunk at a time.
    struct Deletion: Equatable, Sendable {
        /// The request that is with the network.
        private(set) var request: UInt64
        /// Its letters.
        private(set) var current: [String]
        /// Those after it, and how many of them have been taken.
        private var queue: [String]
        private var taken: Int
        /// All letters that are on their way out still.
        private(set) var members: Set<String>
        /// Those that were marked: what stays is marked again.
        private(set) var marks: Set<String>
        private(set) var total: Int
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
        /// What is deleted after it, since the person had stopped it before: all of that, and what of it was marked.
        private(set) var following: [String] = []
        private(set) var followingMarks: Set<String> = []
        private var followingMembers: Set<String> = []
        /// When it began.
        let began: ContinuousClock.Instant

        /// Letters of one request at most, as the network's call takes them.
        static let chunk = 25

        init(_ ids: [String], marks: Set<String>, request: UInt64, now: ContinuousClock.Instant) {
            self.request = request
            self.marks = marks
            current = Array(ids.prefix(Self.chunk))
            queue = ids
            taken = current.count
            members = Set(ids)
            total = ids.count
            began = now
        }

        /// Letters that are dealt with, one way or the other.
        var done: Int { deleted + goneBefore + refused + unknown }
        /// Letters that are not with the network yet.
        var waitingCount: Int { queue.count - taken }
        /// Letters that are still there.
        var staying: Int { total - deleted - goneBefore - unknown }

        /// Letters that are still to leave: those alone that are with the network once it is stopped, and what follows.
        var leaving: Int { (isStopped ? current.count : total - done) + following.count }

        /// Whether a letter is on its way out.
        func isLeaving(_ id: String) -> Bool { members.contains(id) || followingMembers.contains(id) }

        /// Takes further letters in. What the person has stopped does not go on for them: they are deleted after it.
        mutating func add(_ ids: [String], marks more: Set<String>) {
            guard !isStopped else {
                following += ids.filter { followingMembers.insert($0).inserted }
                followingMarks.formUnion(more)
                return
            }
            let new = ids.filter { members.insert($0).inserted }
            queue += new
            total += new.count
            marks.formUnion(more)
        }

        /// Has nothing that stays marked again.
        mutating func forgetMarks() {
            marks = []
            followingMarks = []
        }

        /// Takes in what became of the letters that are with the network.
        ///
        /// - Returns: those that are gone.
        mutating func take(_ result: BulkDeletion) -> [String] {
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
            marks.subtract(gone)
            return gone
        }

        /// Takes in that the network did nothing, as far as is known.
        mutating func fail(_ error: RelayError) {
            if error.leavesDeletionUnknown { unknown += current.count }
            lastFailure = error.words
            current = []
        }

        /// Goes on with the next letters.
        ///
        /// - Returns: these; nil where there are none, or nobody knows what became of the last ones.
        mutating func next(_ request: UInt64) -> [String]? {
            guard waitingCount > 0, !isStopped, unknown == 0 else { return nil }
            self.request = request
            current = Array(queue[taken..<min(queue.count, taken + Self.chunk)])
            taken += current.count
            return current
        }

        /// Ends it after the letters that are with the network; false where these are the last.
        mutating func stop() -> Bool {
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
