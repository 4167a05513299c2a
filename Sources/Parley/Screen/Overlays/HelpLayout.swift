import Terminal

/// How the help's lines become rows of its box: long ones are wrapped, and on a narrow screen the words are below their
/// key.
struct HelpLayout: Hashable {
    /// The box with its border.
    let box: Rect
    let inner: Rect
    let rows: [Row]

    enum Row: Hashable {
        case blank
        case heading(SafeText)
        /// Keys, or what they do, or both; the words begin in the column `indent`.
        case entry(keys: SafeText, words: SafeText, indent: Int)
    }

    /// The width from which the words are beside their key.
    private static let besideFrom = 40

    init(size: Size, keys: KeyMap) { self.init(size: size, lines: HelpText.lines(keys)) }

    init(size: Size, lines: [HelpText.Line]) {
        let bounds = Rect(size)
        let isRoomy = bounds.rows >= 16 && bounds.columns >= 60
        box = isRoomy ? bounds.centered(rows: bounds.rows - 4, columns: min(84, bounds.columns - 8)) : bounds
        let inner = box.inset(rows: 1, columns: 2)
        self.inner = inner
        rows = lines.flatMap { line -> [Row] in
            switch line {
            case .blank: [.blank]
            case .heading(let words): SafeText(words).wrapped(columns: inner.columns).map(Row.heading)
            case .entry(let keys, let words): Self.entry(SafeText(keys), SafeText(words), inner.columns)
            }
        }
    }

    var lastScroll: Int { max(0, rows.count - inner.rows) }

    var pageRows: Int { max(1, inner.rows - 1) }

    private static func entry(_ keys: SafeText, _ words: SafeText, _ columns: Int) -> [Row] {
        guard columns >= besideFrom else {
            let below = words.wrapped(columns: columns - 2)
            return keys.wrapped(columns: columns).map { .entry(keys: $0, words: .empty, indent: 2) }
                + below.map { .entry(keys: .empty, words: $0, indent: 2) }
        }
        let indent = min(HelpText.keyColumns, columns / 3)
        let left = keys.wrapped(columns: indent - 1)
        let right = words.wrapped(columns: columns - indent)
        return (0..<max(left.count, right.count)).map { row in
            .entry(
                keys: row < left.count ? left[row] : .empty, words: row < right.count ? right[row] : .empty,
                indent: indent)
        }
    }
}
