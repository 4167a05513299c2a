/// The ledger of a topic on which another program writes: nobody tells what was sent, so it is concluded from the
/// numbers. A writer has sent everything from the first message that is delivered on to the last one.
public struct LabWatch: Hashable, Sendable {
    /// The run as far as it has come.
    public private(set) var run = LabRun()
    /// Of each writer the latest that was sent, as far as it can be concluded.
    private var newest: [String: Int] = [:]

    /// Begins to watch.
    public init(_ heading: LabHeading) { run.take(LabEvent(at: .zero, .began(heading))) }

    /// A message was delivered.
    public mutating func take(_ number: LabNumber, isRecovered: Bool = false, at now: LabTime) {
        guard newest[number.writer] != nil || newest.count < LabLedger.maximumWriters else { return }
        let before = newest[number.writer] ?? number.value - 1
        conclude(number.writer, min(number.value, before + 1)...number.value, at: now)
        newest[number.writer] = max(before, number.value)
        run.take(LabEvent(at: now, .received(number, isRecovered: isRecovered)))
    }

    /// Each writer has sent so many messages, from the first on.
    public mutating func conclude(count: Int, at now: LabTime) {
        guard count > 0 else { return }
        for writer in newest.keys.sorted() { conclude(writer, 1...min(count, LabNumber.maximum), at: now) }
    }

    /// Whether a writer has been heard of, and each one's message with this number has been delivered.
    public func hasAll(count: Int) -> Bool { !newest.isEmpty && newest.values.allSatisfy { $0 >= count } }

    /// Ends the run.
    public mutating func end(at now: LabTime) { run.end(at: now) }

    private mutating func conclude(_ writer: String, _ values: ClosedRange<Int>, at now: LabTime) {
        for value in values {
            guard let number = LabNumber(writer: writer, value: value), !run.ledger.wasSent(number) else { continue }
            run.take(LabEvent(at: now, .sent(number)))
            run.take(LabEvent(at: now, .acknowledged(number)))
        }
    }
}
