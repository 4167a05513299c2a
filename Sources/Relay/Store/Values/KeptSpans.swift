/// Which parts of a stream this machine has of a topic or pattern, as a pure value: sequences between which no message
/// is missing, but for those that the stream no longer held.
///
/// Parts that meet become one. Whatever is in none of them has to be asked of the network.
struct KeptSpans: Hashable, Sendable {
    /// The parts, the lowest first; none meets another.
    private(set) var all: [ClosedRange<UInt64>] = []

    /// Knows of nothing.
    init() {}

    /// Knows of some parts, in any order.
    init(_ spans: some Sequence<ClosedRange<UInt64>>) {
        for span in spans.sorted(by: { $0.lowerBound < $1.lowerBound }) {
            guard let last = all.last, Self.meet(last, span) else {
                all.append(span)
                continue
            }
            all[all.count - 1] = last.lowerBound...max(last.upperBound, span.upperBound)
        }
    }

    /// The part that holds a sequence.
    func span(holding sequence: UInt64) -> ClosedRange<UInt64>? { all.first { $0.contains(sequence) } }

    /// The highest part that ends before a sequence.
    func span(below sequence: UInt64) -> ClosedRange<UInt64>? { all.last { $0.upperBound < sequence } }

    /// Where a page of messages is not known to be whole.
    ///
    /// - Parameters:
    ///   - sequences: the page's sequences, rising.
    ///   - end: before which sequence the page ends; nil for a page of the newest.
    /// - Returns: the first sequence behind each hole. A stretch of which nothing is known has one alone, at its end.
    func holes(among sequences: [UInt64], before end: UInt64?) -> [UInt64] {
        var ends: [UInt64] = []
        var above = end ?? .max
        var isInUnknown = false
        for sequence in sequences.reversed() {
            let span = span(holding: sequence)
            let follows = above == .max || (span.map { $0.upperBound >= above &- 1 } ?? isInUnknown)
            if !follows { ends.append(above) }
            isInUnknown = span == nil
            above = sequence
        }
        return ends.reversed()
    }

    /// Whether two parts overlap, or one follows on the other; the second begins no lower than the first.
    private static func meet(_ low: ClosedRange<UInt64>, _ high: ClosedRange<UInt64>) -> Bool {
        low.upperBound == .max || high.lowerBound <= low.upperBound + 1
    }
}
