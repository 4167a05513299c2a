/// A message that a client under test has delivered.
public struct LabDelivery: Hashable, Sendable {
    /// Which one.
    public var number: LabNumber
    /// Whether it was missed and brought back.
    public var isRecovered: Bool

    /// Makes a delivery.
    public init(_ number: LabNumber, isRecovered: Bool = false) {
        self.number = number
        self.isRecovered = isRecovered
    }
}
