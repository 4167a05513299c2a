/// The figures of one benchmark, printed as one line.
struct Measurement: Sendable {
    let name: String
    private(set) var fields: [(name: String, value: Double)] = []

    init(_ name: String) { self.name = name }

    subscript(name: String) -> Double? { fields.first { $0.name == name }?.value }

    mutating func add(_ name: String, _ value: any Numeric) {
        let whole = (value as? any BinaryInteger).map { Double($0) }
        fields.append((name, whole ?? value as? Double ?? .nan))
    }

    func adding(_ more: KeyValuePairs<String, any Numeric>) -> Measurement {
        var copy = self
        for (name, value) in more { copy.add(name, value) }
        return copy
    }

    /// Adds median, 99th percentile and mean of durations given in seconds.
    func adding(percentilesOf seconds: [Double]) -> Measurement {
        guard !seconds.isEmpty else { return self }
        return adding([
            "p50_us": seconds.percentile(50) * 1e6, "p99_us": seconds.percentile(99) * 1e6,
            "mean_us": seconds.reduce(0, +) / Double(seconds.count) * 1e6,
        ])
    }

    /// Adds median and 95th percentile, in milliseconds, of durations given in seconds.
    func adding(_ name: String, milliseconds seconds: [Double]) -> Measurement {
        guard !seconds.isEmpty else { return self }
        return adding(["\(name)_p50_ms": seconds.percentile(50) * 1e3, "\(name)_p95_ms": seconds.percentile(95) * 1e3])
    }

    /// The figures for programs.
    var json: String {
        let figures = fields.map { "\"\($0.name)\":\(Self.text($0.value))" }
        return "{" + (["\"scenario\":\"\(name)\""] + figures).joined(separator: ",") + "}"
    }

    /// The figures for people, under any name.
    func row(_ title: String? = nil) -> String {
        let figures = fields.filter { $0.name != "n" && $0.name != "size" }
        return figures.reduce((title ?? name).padded(to: 16)) { row, figure in
            row + " \(figure.name)=\(Self.text(figure.value))".padded(to: 22)
        }
    }

    static func text(_ value: Double) -> String {
        value == value.rounded() && abs(value) < 1e15 ? String(Int64(value)) : String((value * 1_000).rounded() / 1_000)
    }
}

extension String {
    func padded(to width: Int) -> String { self + String(repeating: " ", count: max(0, width - count)) }
}

extension [Double] {
    /// The value that this percentage does not exceed; NaN for an empty array.
    func percentile(_ part: Int) -> Double {
        isEmpty ? .nan : sorted()[Swift.min(count - 1, count * part / 100)]
    }

    var median: Double { percentile(50) }
}
