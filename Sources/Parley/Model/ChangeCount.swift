import Synchronization

/// Which state of a value this is, for whoever has made something of it and wants to know whether that still holds. No
/// two states have the same number, those of copies neither; what a copy has was made of it before it was changed.
///
/// It says nothing that values differ by: any two are equal.
struct ChangeCount: Equatable, Sendable {
    private(set) var number: UInt64 = 0

    private static let last = Atomic<UInt64>(0)

    /// The value has changed, or may have.
    mutating func note() { number = Self.last.wrappingAdd(1, ordering: .relaxed).newValue }

    static func == (left: ChangeCount, right: ChangeCount) -> Bool { true }
}
