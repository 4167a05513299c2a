import NATS

/// How far a subscription has come in its stream, and what its reader has to hear before it goes on: a pure value.
///
/// Sequences decide: a message is delivered once, in the stream's order, whatever the server sends again after an
/// outage. Identifiers catch what a sender published twice beyond the server's own duplicate window.
struct StreamProgress: Sendable {
    /// The stream that is followed; nil while it is not known.
    private(set) var stream: StreamIdentity?
    /// The last sequence that was delivered or passed over; nil before the first.
    private(set) var last: UInt64?
    /// Whether that is a sequence which the stream has not come to yet, as the subscription begins with a later one.
    private var isAhead = false
    /// Up to here there was nothing more for the subscription when it was live last, as the server said. A replica that
    /// lags behind may still have something, so this judges no message.
    private var reached: UInt64 = 0
    /// Messages up to here were stored before the subscription was live again.
    private var recoveryEnd: UInt64?
    /// Where the stream ended lowest while it seemed to have lost what was received of it; nil while it does not.
    private var lowestEnd: UInt64?
    private var recent = RecentSet<Int>(capacity: Self.remembered)
    /// From which sequence on every message comes: those before it are a choice.
    private(set) var wholeFrom: UInt64 = 0
    /// A hole that the next messages are kept with, and its first sequence.
    private var hole: (gap: KeptGap, first: UInt64)?
    /// What the reader has not heard of yet.
    private var untold = Untold()

    /// How many of the newest messages a repetition is compared with.
    private static let remembered = 1_024

    /// What has become of the stream while there was no connection.
    struct Untold: Hashable, Sendable {
        /// The stream was made anew.
        var isRestarted = false
        /// The stream lost its newest messages, whose sequences come again.
        var isRewound = false
        /// How many messages it no longer holds that were missed: an upper bound for a subscription that takes a part
        /// of the stream.
        var lost: UInt64 = 0
    }

    /// Begins behind a place up to which everything was received before; anywhere when nil.
    init(after place: KeptPlace? = nil) {
        stream = place?.stream
        last = place?.sequence
    }

    /// Whether everything that was stored before the last ``resume(_:in:)`` has been passed.
    var isLive: Bool { recoveryEnd == nil }

    /// Judges a message and moves on.
    ///
    /// - Parameters:
    ///   - sequence: its place in the stream.
    ///   - repetition: what it has in common with its own repetition alone; nil where it cannot be told.
    /// - Returns: whether it is new; false when it was delivered before, by sequence or as a repetition.
    mutating func receive(sequence: UInt64, repetition: Int? = nil) -> Bool {
        if let last, sequence <= last { return false }
        (last, isAhead) = (sequence, false)
        reach(sequence)
        return repetition.map { recent.insert($0) } ?? true
    }

    /// Notes that the server has nothing more to send up to here: no message of this subscription was among the rest.
    mutating func reach(_ sequence: UInt64) {
        reached = max(reached, sequence)
        if let end = recoveryEnd, sequence >= end { recoveryEnd = nil }
    }

    /// The stream, where it no longer has the newest that was received of it.
    func stream(lostBehind extent: StreamExtent, in name: String) -> StreamIdentity? {
        guard let stream, stream.name == name, let last, last > extent.last, !isAhead,
            stream.incarnation == extent.incarnation ?? stream.incarnation
        else { return nil }
        return stream
    }

    /// Notes where the stream ends while it seems to have lost what was received of it, which is found out in a while.
    mutating func look(at extent: StreamExtent, in name: String) {
        if stream(lostBehind: extent, in: name) != nil { lowestEnd = end(of: extent) }
    }

    /// Behind which sequence a stream that has lost its newest messages has others: those that were stored since then,
    /// as far as it was seen that they were not there.
    func end(of extent: StreamExtent) -> UInt64 { min(extent.last, lowestEnd ?? .max) }

    /// Goes on in the stream as it is now: behind the last sequence, or with the stream's first where the stream no
    /// longer goes back so far.
    ///
    /// - Returns: where; nil where nothing was received yet.
    mutating func resume(_ extent: StreamExtent, in name: String) -> StartPosition? {
        let (earlier, end) = (stream, self.end(of: extent))
        lowestEnd = nil
        let present = StreamIdentity(name: name, incarnation: extent.incarnation ?? earlier?.incarnation ?? 0)
        stream = present
        guard var last else { return nil }
        if let earlier, earlier != present, earlier.name != name || earlier.incarnation != 0 {
            // A stream made anew has nothing in common with the old one but its name: everything in it is new.
            last = 0
            begin(behind: last)
            (hole, wholeFrom) = (nil, 0)
            untold.isRestarted = true
        } else if last <= extent.last {
            isAhead = false
        } else if !isAhead {
            // The server lost its newest messages (power went before the disk had them) and gives their sequences to
            // what comes now.
            last = end
            begin(behind: last)
            hole = nil
            untold.isRewound = true
        }
        // What comes behind a stream that lost its newest messages has their sequences.
        reached = min(reached, extent.last)
        let passed = max(last, reached)
        recoveryEnd = extent.last > passed && extent.last >= extent.first ? extent.last : nil
        guard extent.first > passed, extent.first - passed > 1 else {
            return .sequence(last == .max ? last : max(extent.first, last + 1))
        }
        let lost = extent.first - passed - 1
        untold.lost += lost
        hole = (KeptGap(end: extent.first, lost: lost + (hole?.gap.lost ?? 0)), hole?.first ?? last &+ 1)
        self.last = extent.first - 1
        return .sequence(extent.first)
    }

    /// Begins with a sequence, which may be one that is still to come.
    ///
    /// - Parameter end: the stream's last one.
    mutating func begin(at sequence: UInt64, in end: UInt64 = .max) {
        let last = max(sequence, 1) - 1
        begin(behind: last)
        isAhead = last > end
    }

    /// Begins with the newest message of each topic: what comes behind a sequence comes in full.
    mutating func begin(wholeBehind sequence: UInt64) { wholeFrom = sequence &+ 1 }

    private mutating func begin(behind sequence: UInt64) {
        (last, isAhead, reached) = (sequence, false, 0)
        (recoveryEnd, recent) = (nil, RecentSet(capacity: Self.remembered))
    }

    /// What the reader has to hear first. It is told then.
    mutating func takeUntold() -> Untold { exchange(&untold, with: Untold()) }

    /// What the local store keeps with messages that follow a place: the hole before them, the part of the stream of
    /// which nothing was left out, and how far the subscription has come.
    ///
    /// - Parameters:
    ///   - name: under which the store knows the subscription.
    ///   - passed: the place; nil for none.
    mutating func takeChanges(
        of name: String, behind passed: UInt64?, first: UInt64, through last: KeptPlace
    ) -> [StoreChange] {
        let hole = exchange(&self.hole, with: nil)
        let begin = max(hole?.first ?? passed.map { $0 &+ 1 } ?? first, wholeFrom)
        var changes: [StoreChange] = []
        if let hole { changes.append(.gap(name, last.stream, hole.gap)) }
        if begin <= last.sequence { changes.append(.received(name, last.stream, begin...last.sequence)) }
        changes.append(.cursor(name, last))
        return changes
    }
}
