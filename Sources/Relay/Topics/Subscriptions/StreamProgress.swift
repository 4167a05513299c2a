import NATS

/// A subscription's position in its stream, and the news that its reader must get first, as a pure value.
///
/// Sequences decide: a message is delivered once, in the stream's order, whatever the server repeats after an outage.
/// Identifiers catch messages that a sender published twice outside the server's duplicate window.
struct StreamProgress: Sendable {
    /// The stream being followed; nil while unknown.
    private(set) var stream: StreamIdentity?
    /// The last sequence delivered or skipped; nil before the first.
    private(set) var last: UInt64?
    /// Whether the stream has not reached that sequence yet, because the subscription starts later.
    private var isAhead = false
    /// Up to here the server had nothing more for the subscription when it was last live. A lagging replica may still
    /// have something, so no message is judged by this.
    private var reached: UInt64 = 0
    /// Messages up to here were stored before the subscription was live again.
    private var recoveryEnd: UInt64?
    /// The lowest end of the stream while it seemed to have lost received messages; nil if it does not.
    private var lowestEnd: UInt64?
    private var recent = RecentSet<Int>(capacity: Self.remembered)
    /// The sequence from which on every message is delivered; earlier ones are a selection.
    private(set) var wholeFrom: UInt64 = 0
    /// A hole to store with the next messages, and its first sequence.
    private var hole: (gap: KeptGap, first: UInt64)?
    /// News that the reader has not got yet.
    private var untold = Untold()

    /// The number of newest messages compared for repetitions.
    private static let remembered = 1_024

    /// Changes of the stream during an outage.
    struct Untold: Hashable, Sendable {
        /// The stream was recreated.
        var isRestarted = false
        /// The stream lost its newest messages, whose sequences are assigned again.
        var isRewound = false
        /// How many missed messages it has lost: an upper bound for a subscription to a part of the stream.
        var lost: UInt64 = 0
    }

    /// Starts after a place up to which everything was received before; anywhere if nil.
    init(after place: KeptPlace? = nil) {
        stream = place?.stream
        last = place?.sequence
    }

    /// Whether everything stored before the last ``resume(_:in:)`` has been passed.
    var isLive: Bool { recoveryEnd == nil }

    /// Judges a message and advances.
    ///
    /// - Parameters:
    ///   - sequence: Its sequence.
    ///   - repetition: A hash that only it and its repetitions share; nil if unknown.
    /// - Returns: Whether it is new rather than delivered before, by sequence or as a repetition.
    mutating func receive(sequence: UInt64, repetition: Int? = nil) -> Bool {
        if let last, sequence <= last { return false }
        (last, isAhead) = (sequence, false)
        reach(sequence)
        return repetition.map { recent.insert($0) } ?? true
    }

    /// The server has nothing more to send up to here: none of the remaining messages was for this subscription.
    mutating func reach(_ sequence: UInt64) {
        reached = max(reached, sequence)
        if let end = recoveryEnd, sequence >= end { recoveryEnd = nil }
    }

    /// The stream, if it has lost the newest messages that were received of it.
    func stream(lostBehind extent: StreamExtent, in name: String) -> StreamIdentity? {
        guard let stream, stream.name == name, let last, last > extent.last, !isAhead,
            stream.incarnation == extent.incarnation ?? stream.incarnation
        else { return nil }
        return stream
    }

    /// Records the end of a stream that seems to have lost received messages, until that is certain.
    mutating func look(at extent: StreamExtent, in name: String) {
        if stream(lostBehind: extent, in: name) != nil { lowestEnd = end(of: extent) }
    }

    /// The sequence after which a stream that lost its newest messages has new ones, as far as they were seen to be
    /// missing.
    func end(of extent: StreamExtent) -> UInt64 { min(extent.last, lowestEnd ?? .max) }

    /// Continues in the stream as it is now: after the last sequence, or at the stream's first if that is later.
    ///
    /// - Returns: Where; nil if nothing was received yet.
    mutating func resume(_ extent: StreamExtent, in name: String) -> StartPosition? {
        let (earlier, end) = (stream, self.end(of: extent))
        lowestEnd = nil
        let present = StreamIdentity(name: name, incarnation: extent.incarnation ?? earlier?.incarnation ?? 0)
        stream = present
        guard var last else { return nil }
        if let earlier, earlier != present, earlier.name != name || earlier.incarnation != 0 {
            // A recreated stream shares only its name with the old one: everything in it is new.
            last = 0
            begin(behind: last)
            (hole, wholeFrom) = (nil, 0)
            untold.isRestarted = true
        } else if last <= extent.last {
            isAhead = false
        } else if !isAhead {
            // The server lost its newest messages, as in a power cut, and assigns their sequences again.
            last = end
            begin(behind: last)
            hole = nil
            untold.isRewound = true
        }
        // New messages of a stream that lost its newest ones have their sequences.
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

    /// Starts at a sequence, which may be in the future.
    ///
    /// - Parameter end: The stream's last one.
    mutating func begin(at sequence: UInt64, in end: UInt64 = .max) {
        let last = max(sequence, 1) - 1
        begin(behind: last)
        isAhead = last > end
    }

    /// Starts with the newest message of each topic; after a sequence, all are delivered.
    mutating func begin(wholeBehind sequence: UInt64) { wholeFrom = sequence &+ 1 }

    private mutating func begin(behind sequence: UInt64) {
        (last, isAhead, reached) = (sequence, false, 0)
        (recoveryEnd, recent) = (nil, RecentSet(capacity: Self.remembered))
    }

    /// The news that the reader must get first, once.
    mutating func takeUntold() -> Untold { exchange(&untold, with: Untold()) }

    /// The changes to store with messages after a place: the hole before them, the complete part of the stream, and the
    /// subscription's position.
    ///
    /// - Parameters:
    ///   - name: The store's name for the subscription.
    ///   - passed: The place; nil for none.
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
