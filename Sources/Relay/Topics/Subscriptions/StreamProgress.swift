import NATS

/// How far a subscription has come in its stream, and what its reader has to hear before it goes on: a pure value.
struct StreamProgress: Sendable {
    /// The stream that is followed; nil while it is not known.
    private(set) var stream: StreamIdentity?
    /// Where in the stream the subscription is.
    var cursor: TopicCursor
    /// From which sequence on every message comes: those before it are a choice.
    private(set) var wholeFrom: UInt64 = 0
    /// A hole that the next messages are kept with, and its first sequence.
    private var hole: (gap: KeptGap, first: UInt64)?
    /// What the reader has not heard of yet.
    private var untold = Untold()

    /// What has become of the stream while there was no connection.
    struct Untold: Hashable, Sendable {
        /// The stream was made anew.
        var isRestarted = false
        /// The stream lost its newest messages, whose sequences come again.
        var isRewound = false
        /// How many messages it no longer holds that were missed.
        var lost: UInt64 = 0
    }

    /// Begins behind a place up to which everything was received before; anywhere when nil.
    init(after place: KeptPlace? = nil) {
        stream = place?.stream
        cursor = TopicCursor(last: place?.sequence)
    }

    /// The stream, where it no longer has the newest that was received of it.
    func stream(lostBehind extent: StreamExtent, in name: String) -> StreamIdentity? {
        guard let stream, stream.name == name, let seen = cursor.last, seen > extent.last,
            stream.incarnation == extent.incarnation ?? stream.incarnation
        else { return nil }
        return stream
    }

    /// Goes on in the stream as it is now.
    ///
    /// - Returns: where; nil where nothing was received yet.
    mutating func resume(_ extent: StreamExtent, in name: String) -> StartPosition? {
        let earlier = stream
        let present = StreamIdentity(name: name, incarnation: extent.incarnation ?? earlier?.incarnation ?? 0)
        stream = present
        guard let seen = cursor.last else { return nil }
        if let earlier, earlier != present, earlier.name != name || earlier.incarnation != 0 {
            // A stream made anew has nothing in common with the old one but its name: everything in it is new.
            cursor = TopicCursor(last: 0)
            (hole, wholeFrom) = (nil, 0)
            untold.isRestarted = true
        } else if seen > extent.last {
            // The server lost its newest messages (power went before the disk had them) and gives their sequences to
            // what comes now.
            cursor = TopicCursor(last: extent.last)
            hole = nil
            untold.isRewound = true
        }
        let passed = cursor.last ?? 0
        let (begin, lost) = cursor.resume(first: extent.first, newest: extent.last)
        if lost > 0 {
            untold.lost += lost
            hole = (KeptGap(end: extent.first, lost: lost + (hole?.gap.lost ?? 0)), hole?.first ?? passed &+ 1)
        }
        return begin.map { .sequence($0) } ?? .new
    }

    /// Begins with a sequence.
    mutating func begin(at sequence: UInt64) { cursor = TopicCursor(last: max(sequence, 1) - 1) }

    /// Begins with the newest message of each topic: what comes behind a sequence comes in full.
    mutating func begin(wholeBehind sequence: UInt64) { wholeFrom = sequence &+ 1 }

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
