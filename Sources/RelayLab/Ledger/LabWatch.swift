/// The ledger of a topic that another program writes to. Sent messages are inferred from the numbers: a writer has sent
/// everything between the first and the last one that is delivered.
public struct LabWatch: Hashable, Sendable {
    /// The run so far.
    public private(set) var run = LabRun()
    /// Each writer's latest message, as far as it can be inferred.
    private var newest: [String: Int] = [:]

    /// Starts to watch.
    public init(_ heading: LabHeading) { run.take(LabEvent(at: .zero, .began(heading))) }

    /// Records a delivery.
    public mutating func take(_ number: LabNumber, isRecovered: Bool = false, at now: LabTime) {
        guard newest[number.writer] != nil || newest.count < LabLedger.maximumWriters else { return }
        let before = newest[number.writer] ?? number.value - 1
        conclude(number.writer, min(number.value, before + 1)...number.value, at: now)
        newest[number.writer] = max(before, number.value)
        run.take(LabEvent(at: now, .received(number, isRecovered: isRecovered)))
    }

    /// Records that each writer has sent this many messages, from the first.
    public mutating func conclude(count: Int, at now: LabTime) {
        guard count > 0 else { return }
        for writer in newest.keys.sorted() { conclude(writer, 1...min(count, LabNumber.maximum), at: now) }
    }

    /// Whether there is a writer, and each one's message with this number has been delivered.
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
