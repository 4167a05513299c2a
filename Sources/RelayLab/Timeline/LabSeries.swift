/// Points of a curve over a run's time. Where there are too many, every second one goes, so that any length of a run
/// fits.
public struct LabSeries<Value: Hashable & Sendable>: Hashable, Sendable {
    /// A value at a moment.
    public struct Point: Hashable, Sendable {
        /// The moment.
        public var at: LabTime
        /// The value.
        public var value: Value
    }

    /// Most points.
    public static var maximumCount: Int { 4_096 }

    /// The points in the order of time.
    public private(set) var points: [Point] = []
    /// One of so many is kept.
    private var stride = 1
    private var skipped = 0

    init() {}

    mutating func append(_ value: Value, at moment: LabTime) {
        skipped += 1
        guard skipped >= stride else { return }
        skipped = 0
        points.append(Point(at: moment, value: value))
        guard points.count >= Self.maximumCount else { return }
        points = points.enumerated().filter { $0.offset.isMultiple(of: 2) }.map(\.element)
        stride *= 2
    }
}
