/// How far one subscription has come in its stream, as a pure value: what is new, what is a repetition, what was lost.
///
/// Sequences decide: a message is delivered once, in the stream's order, whatever the server sends again after an
/// outage. Identifiers catch what a sender published twice beyond the server's own duplicate window.
struct TopicCursor: Sendable {
    /// The last sequence that was delivered or passed over; nil before the first.
    private(set) var last: UInt64?
    /// Up to here there was nothing more for the subscription when it was live last, as the server said. A replica that
    /// lags behind may still have something, so this judges no message.
    private var reached: UInt64 = 0
    /// Messages up to here were stored before the subscription was live again.
    private var recoveryEnd: UInt64?
    private var recent: RecentSet<Int>

    /// A cursor that has seen nothing.
    ///
    /// - Parameters:
    ///   - last: the last sequence that is known already, from history or a local store; nil for none.
    ///   - remembered: how many of the newest messages to compare with.
    init(last: UInt64? = nil, remembered: Int = 1_024) {
        self.last = last
        recent = RecentSet(capacity: remembered)
    }

    /// Whether everything that was stored before the last ``resume(first:newest:)`` has been passed.
    var isLive: Bool { recoveryEnd == nil }

    /// Judges a message and moves on.
    ///
    /// - Parameters:
    ///   - sequence: its place in the stream.
    ///   - repetition: what it has in common with its own repetition alone; nil where it cannot be told.
    /// - Returns: whether it is new; false when it was delivered before, by sequence or as a repetition.
    mutating func receive(sequence: UInt64, repetition: Int? = nil) -> Bool {
        if let last, sequence <= last { return false }
        last = sequence
        reach(sequence)
        return repetition.map { recent.insert($0) } ?? true
    }

    /// Notes that the server has nothing more to send up to here: no message of this subscription was among the rest.
    mutating func reach(_ sequence: UInt64) {
        reached = max(reached, sequence)
        if let end = recoveryEnd, sequence >= end { recoveryEnd = nil }
    }

    /// Compares the cursor with the stream as it is after an outage, and says where to go on.
    ///
    /// A cursor that has seen nothing goes on with new messages. One that has asks for everything after its last
    /// sequence, or from the stream's first when the stream no longer goes back so far.
    ///
    /// - Parameters:
    ///   - first: the stream's first sequence; one more than `newest` when it is empty.
    ///   - newest: the stream's last sequence.
    /// - Returns: the first sequence to ask the server for, nil for new messages alone, and how many sequences the
    ///   stream no longer has: an upper bound for a subscription that takes a part of the stream.
    mutating func resume(first: UInt64, newest: UInt64) -> (start: UInt64?, lost: UInt64) {
        guard let last else {
            recoveryEnd = nil
            return (nil, 0)
        }
        // What comes behind a stream that lost its newest messages has their sequences.
        reached = min(reached, newest)
        let passed = max(last, reached)
        recoveryEnd = newest > passed ? newest : nil
        guard first > passed, first - passed > 1 else {
            return (last == .max ? last : max(first, last + 1), 0)
        }
        self.last = first - 1
        if newest < first { recoveryEnd = nil }
        return (first, first - passed - 1)
    }
}
