/// The parts of a stream that this machine has for a topic or pattern, as a pure value: ranges of sequences without
/// missing messages, except those that the stream had already lost.
///
/// Adjacent parts are merged. Everything outside must be requested from the network.
struct KeptSpans: Hashable, Sendable {
    /// The parts, lowest first, never adjacent.
    private(set) var all: [ClosedRange<UInt64>] = []

    init() {}

    init(_ spans: some Sequence<ClosedRange<UInt64>>) {
        for span in spans.sorted(by: { $0.lowerBound < $1.lowerBound }) {
            guard let last = all.last, Self.meet(last, span) else {
                all.append(span)
                continue
            }
            all[all.count - 1] = last.lowerBound...max(last.upperBound, span.upperBound)
        }
    }

    /// The part that contains a sequence.
    func span(holding sequence: UInt64) -> ClosedRange<UInt64>? { all.first { $0.contains(sequence) } }

    /// The highest part that ends before a sequence.
    func span(below sequence: UInt64) -> ClosedRange<UInt64>? { all.last { $0.upperBound < sequence } }

    /// The holes in a page of messages.
    ///
    /// - Parameters:
    ///   - sequences: The page's sequences, ascending.
    ///   - end: The sequence before which the page ends; nil for a page of the newest.
    /// - Returns: The first sequence after each hole. An unknown stretch has only one, at its end.
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

    /// Whether two parts overlap or are adjacent; the second begins no lower than the first.
    private static func meet(_ low: ClosedRange<UInt64>, _ high: ClosedRange<UInt64>) -> Bool {
        low.upperBound == .max || high.lowerBound <= low.upperBound + 1
    }
}
