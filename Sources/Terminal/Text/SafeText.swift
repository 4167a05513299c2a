/// Text that is safe to draw.
///
/// The one gate through which every text reaches the screen, wherever it comes from. The result contains no C0, DEL or
/// C1 control, no bidirectional control, no tag and no other invisible format character. It is composed (NFC), and each
/// cluster has the form whose width all terminals agree on: a joined emoji as its first part, no skin tone, no
/// variation selector, at most four marks, U+FFFD for what is too new to have an agreed width. The caller keeps the
/// original text for copying, searching and editing.
public struct SafeText: Hashable, Sendable, CustomStringConvertible {
    /// What is drawn, cell by cell.
    public private(set) var clusters: [Cluster]
    /// The columns that the text takes.
    public private(set) var width: Int

    /// No text.
    public static let empty = SafeText(clusters: [], width: 0)

    /// Passes `untrusted` through the gate, as one line: a tab or a line break becomes one space.
    public init(_ untrusted: String) {
        var gate = TextGate()
        self = gate.line(untrusted)
    }

    init(clusters: [Cluster], width: Int) {
        self.clusters = clusters
        self.width = width
    }

    /// Passes `untrusted` through the gate and keeps its line breaks; a tab advances to the next multiple of four
    /// columns. There is always at least one line.
    public static func lines(_ untrusted: String) -> [SafeText] {
        var gate = TextGate()
        return gate.lines(untrusted)
    }

    /// `count` spaces.
    public static func spaces(_ count: Int) -> SafeText {
        SafeText(clusters: Array(repeating: .blank, count: max(0, count)), width: max(0, count))
    }

    /// Whether nothing is drawn.
    public var isEmpty: Bool { clusters.isEmpty }

    /// The text that is drawn.
    public var description: String { clusters.text }

    mutating func reserveCapacity(_ count: Int) { clusters.reserveCapacity(count) }

    mutating func append(_ cluster: Cluster) {
        clusters.append(cluster)
        width += cluster.width
    }

    /// Both texts, one after the other.
    public static func + (left: SafeText, right: SafeText) -> SafeText {
        SafeText(clusters: left.clusters + right.clusters, width: left.width + right.width)
    }

    /// Appends a text.
    public static func += (left: inout SafeText, right: SafeText) {
        left.clusters += right.clusters
        left.width += right.width
    }
}
