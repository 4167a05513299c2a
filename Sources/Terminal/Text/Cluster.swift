/// The content of one cell, or of a pair of neighbouring cells: a base character and at most four combining marks, in
/// the form whose width every terminal agrees on. Only the gate (`SafeText`) makes clusters, so none can contain a
/// control character.
public struct Cluster: Hashable, Sendable {
    // Five scalars of 21 bits and the width of 2: three scalars in `low`, two and the width in `high`.
    private var low: UInt64
    private var high: UInt64

    /// A space.
    public static var blank: Cluster { Cluster(ascii: 0x20) }
    /// The right half of a wide character on a canvas.
    public static var continuation: Cluster { Cluster(low: 0, high: 0) }
    static var replacement: Cluster { Cluster(base: 0xFFFD, width: 1) }

    private init(low: UInt64, high: UInt64) {
        self.low = low
        self.high = high
    }

    init(ascii: UInt8) {
        self.init(low: UInt64(ascii), high: 1 << 42)
    }

    init(base: UInt32, width: Int) {
        self.init(low: UInt64(base), high: UInt64(width & 3) << 42)
    }

    /// The number of columns: 1 or 2; 0 for a continuation.
    public var width: Int { Int(high >> 42) }

    /// Whether it is a space.
    public var isBlank: Bool { self == .blank }

    /// The scalar values: a base, then marks; 0 for none.
    var scalars: (UInt32, UInt32, UInt32, UInt32, UInt32) {
        let mask: UInt64 = 0x1F_FFFF
        return (
            UInt32(low & mask), UInt32(low >> 21 & mask), UInt32(low >> 42 & mask), UInt32(high & mask),
            UInt32(high >> 21 & mask)
        )
    }

    var base: UInt32 { UInt32(low & 0x1F_FFFF) }

    /// The character if it is ASCII without marks; 0 for any other.
    public var ascii: UInt8 { low < 0x80 && high & 0x3FF_FFFF_FFFF == 0 ? UInt8(truncatingIfNeeded: low) : 0 }

    /// The character without its marks; nil for a continuation.
    public var letter: Unicode.Scalar? { base == 0 ? nil : Unicode.Scalar(base) }

    var count: Int {
        let (first, second, third, fourth, fifth) = scalars
        return (first != 0 ? 1 : 0) + (second != 0 ? 1 : 0) + (third != 0 ? 1 : 0) + (fourth != 0 ? 1 : 0)
            + (fifth != 0 ? 1 : 0)
    }

    /// Adds a mark after the others; false if there are four already.
    mutating func append(_ mark: UInt32) -> Bool {
        let mark = UInt64(mark & 0x1F_FFFF)
        switch count {
        case 1: low |= mark << 21
        case 2: low |= mark << 42
        case 3: high |= mark
        case 4: high |= mark << 21
        default: return false
        }
        return true
    }

    func replacing(base: UInt32) -> Cluster {
        Cluster(low: low & ~0x1F_FFFF | UInt64(base), high: high)
    }

    /// The text, empty for a continuation.
    public var text: String { CollectionOfOne(self).text }
}

extension Sequence<Cluster> {
    /// The text of all of them, empty for a continuation.
    var text: String {
        var text = String.UnicodeScalarView()
        for cluster in self {
            let (first, second, third, fourth, fifth) = cluster.scalars
            for value in [first, second, third, fourth, fifth] where value != 0 {
                if let scalar = Unicode.Scalar(value) { text.append(scalar) }
            }
        }
        return String(text)
    }
}
