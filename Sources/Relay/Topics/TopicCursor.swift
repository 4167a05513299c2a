/// How far one subscription has come in its stream, as a pure value: what is new, what is a repetition, what was lost.
///
/// Sequences decide: a message is delivered once, in the stream's order, whatever the server sends again after an
/// outage. Identifiers catch what a sender published twice beyond the server's own duplicate window.
package struct TopicCursor: Sendable {
    /// What to do with a message.
    package enum Verdict: Hashable, Sendable {
        /// It is new: deliver it.
        case deliver(isRecovered: Bool)
        /// It was delivered before, by sequence or by identifier: drop it.
        case duplicate
    }

    /// Where to go on after an outage.
    package struct Resumption: Hashable, Sendable {
        /// The first sequence to ask the server for; nil asks only for new messages.
        package var start: UInt64?
        /// How many sequences the stream no longer has; an upper bound for a subscription that takes a part of the
        /// stream. Zero when nothing is missing.
        package var lost: UInt64
        /// Whether the stream was deleted and made again, so that old sequences mean nothing.
        package var isRestarted: Bool

        /// Makes a resumption.
        package init(start: UInt64?, lost: UInt64 = 0, isRestarted: Bool = false) {
            self.start = start
            self.lost = lost
            self.isRestarted = isRestarted
        }
    }

    /// The last sequence that was delivered or passed over; nil before the first.
    package private(set) var last: UInt64?
    /// How many repetitions were dropped.
    package private(set) var duplicates: UInt64 = 0
    /// How many sequences were reported lost.
    package private(set) var lost: UInt64 = 0

    /// Up to here there was nothing more for the subscription when it was live last, as the server said. A replica that
    /// lags behind may still have something, so this judges no message.
    private var reached: UInt64 = 0
    /// Messages up to here were stored before the subscription was live again.
    private var recoveryEnd: UInt64?
    private var recent: RecentSet<String>

    /// A cursor that has seen nothing.
    ///
    /// - Parameters:
    ///   - last: the last sequence that is known already, from history or a local store; nil for none.
    ///   - rememberedIdentifiers: how many of the newest identifiers to compare with.
    package init(last: UInt64? = nil, rememberedIdentifiers: Int = 1_024) {
        self.last = last
        recent = RecentSet(capacity: rememberedIdentifiers)
    }

    /// Whether everything that was stored before the last ``resume(first:newest:)`` has been passed.
    package var isLive: Bool { recoveryEnd == nil }

    /// Judges a message and moves on.
    ///
    /// - Parameters:
    ///   - sequence: its place in the stream.
    ///   - id: the sender's identifier, if it has one.
    package mutating func receive(sequence: UInt64, id: String? = nil) -> Verdict {
        if let last, sequence <= last {
            duplicates += 1
            return .duplicate
        }
        last = sequence
        let isRecovered = recoveryEnd.map { sequence <= $0 } ?? false
        reach(sequence)
        if let id, !recent.insert(id) {
            duplicates += 1
            return .duplicate
        }
        return .deliver(isRecovered: isRecovered)
    }

    /// Remembers an identifier without a sequence: one's own message that is already on the screen.
    ///
    /// - Returns: false when it was known.
    @discardableResult
    package mutating func remember(id: String) -> Bool { recent.insert(id) }

    /// Notes that the server has nothing more to send up to here: no message of this subscription was among the rest.
    package mutating func reach(_ sequence: UInt64) {
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
    package mutating func resume(first: UInt64, newest: UInt64) -> Resumption {
        guard let last else {
            recoveryEnd = nil
            return Resumption(start: nil)
        }
        if newest < last {
            self.last = first > 0 ? first - 1 : 0
            recoveryEnd = newest >= first && newest > 0 ? newest : nil
            return Resumption(start: max(first, 1), isRestarted: true)
        }
        // What comes behind a stream that lost its newest messages has their sequences.
        reached = min(reached, newest)
        let passed = max(last, reached)
        recoveryEnd = newest > passed ? newest : nil
        guard first > passed, first - passed > 1 else {
            return Resumption(start: last == .max ? last : max(first, last + 1))
        }
        let missing = first - passed - 1
        lost += missing
        self.last = first - 1
        if newest < first { recoveryEnd = nil }
        return Resumption(start: first, lost: missing)
    }
}
