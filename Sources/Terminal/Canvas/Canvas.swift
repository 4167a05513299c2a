import Platform

/// A grid of cells that views draw on, the session shows and golden tests read.
///
/// A value without any terminal behind it. Everything written is clipped to the canvas, and the two halves of a wide
/// character are always side by side: one that would be cut becomes blank.
public struct Canvas: Hashable, Sendable {
    /// The canvas's extent.
    public let size: Size
    /// The cursor's place; hidden if nil or outside the canvas.
    public var cursor: Position?
    /// The cells of each row, up to the last column written: the rest is blank, as most of most screens is.
    private var lines: [[Cell]]
    /// The targets of links, by the numbers in cells' styles, from 1.
    private(set) var links: [LinkTarget] = []

    /// The largest link number that a style has room for.
    private static let linkLimit = 127

    /// Makes a blank canvas.
    public init(size: Size) {
        self.size = size
        lines = Array(repeating: [], count: size.rows)
    }

    /// The part of `canvas` that fits into `size`, for a frame that was drawn before the window changed.
    init(_ canvas: Canvas, clippedTo size: Size) {
        self.init(size: size)
        cursor = canvas.cursor
        links = canvas.links
        for row in 0..<min(size.rows, canvas.size.rows) {
            lines[row] = Array(canvas.lines[row].prefix(size.columns))
            let last = lines[row].count - 1
            if last >= 0, lines[row][last].cluster.width == 2 { lines[row][last].cluster = .blank }
        }
    }

    /// Whether both show the same, however much of it was written.
    public static func == (left: Canvas, right: Canvas) -> Bool {
        left.size == right.size && left.cursor == right.cursor && left.links == right.links
            && left.lines.indices.allSatisfy { left.hasSameCells(as: right, inRow: $0) }
    }

    /// Hashes the size and the cursor, which canvases that show the same have in common.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(size)
        hasher.combine(cursor)
    }

    /// Blanks a wide character directly before the last cell of the last row.
    mutating func narrowCornerNeighbour() {
        let (row, column) = (size.rows - 1, size.columns - 2)
        guard row >= 0, column >= 1, self[row, column].cluster == .continuation else { return }
        write("  ", row: row, column: column - 1, style: self[row, column].style)
    }

    /// The entire canvas.
    public var bounds: Rect { Rect(size) }

    /// The cell at a place; a blank one outside the canvas.
    public subscript(row: Int, column: Int) -> Cell {
        guard row >= 0, row < size.rows, column >= 0, column < lines[row].count else { return .blank }
        return lines[row][column]
    }

    /// Writes `text` with its first column at `column`, which may be left of the canvas.
    ///
    /// - Parameter width: the most columns to write, counted from `column`; nil if only the canvas limits them.
    /// - Returns: the columns that the text takes from `column`, including those clipped on the left.
    @discardableResult
    public mutating func write(
        _ text: SafeText, row: Int, column: Int, width: Int? = nil, style: Style = .plain
    ) -> Int {
        guard row >= 0, row < size.rows else { return 0 }
        let end = min(size.columns, width.map { column + max(0, $0) } ?? size.columns)
        return changeRow(row, upTo: column < end ? min(end, column + text.width) : 0) { cells in
            let end = min(end, cells.count)
            var place = column
            for cluster in text.clusters {
                guard place < end else { break }
                let next = place + cluster.width
                if place >= 0, next <= end {
                    Self.put(cluster, style, at: place, in: cells)
                } else {
                    for half in max(0, place)..<max(0, min(next, end)) { Self.put(.blank, style, at: half, in: cells) }
                }
                place = min(next, end)
            }
            return max(0, place - column)
        }
    }

    /// Writes a text of the program's own; it passes the gate as well.
    @discardableResult
    public mutating func write(
        _ literal: String, row: Int, column: Int, width: Int? = nil, style: Style = .plain
    ) -> Int {
        guard column >= 0, row >= 0, row < size.rows, literal.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F }) else {
            return write(SafeText(literal), row: row, column: column, width: width, style: style)
        }
        let end = min(size.columns, width.map { column + max(0, $0) } ?? size.columns)
        return changeRow(row, upTo: column < end ? min(end, column + literal.utf8.count) : 0) { cells in
            var place = column
            for byte in literal.utf8 {
                guard place < end else { break }
                Self.put(Cluster(ascii: byte), style, at: place, in: cells)
                place += 1
            }
            return max(0, place - column)
        }
    }

    /// Fills a rectangle with one character. A wide one takes two columns, and an odd column stays blank.
    public mutating func fill(_ rect: Rect, with character: Character = " ", style: Style = .plain) {
        let area = rect.intersection(bounds)
        guard !area.isEmpty else { return }
        let scalars = character.unicodeScalars
        if let scalar = scalars.first, scalars.count == 1, TextWidth.isPlain(scalar.value) {
            return fill(area, with: Cluster(base: scalar.value, width: 1), style: style)
        }
        let text = SafeText(String(character))
        guard text.width > 0 else { return }
        if text.width == 1, let cluster = text.clusters.first { return fill(area, with: cluster, style: style) }
        for row in area.row..<area.endRow {
            var column = area.column
            while column < area.endColumn {
                let used = write(text, row: row, column: column, width: area.endColumn - column, style: style)
                column += max(1, used)
            }
        }
    }

    /// Fills an area inside the canvas with a character of one column.
    private mutating func fill(_ area: Rect, with cluster: Cluster, style: Style) {
        let cell = Cell(cluster: cluster, style: style)
        for row in area.row..<area.endRow {
            changeRow(row, upTo: area.endColumn) { cells in
                // A wide character can be cut only at the two ends.
                Self.put(cluster, style, at: area.column, in: cells)
                Self.put(cluster, style, at: area.endColumn - 1, in: cells)
                guard area.columns > 2 else { return }
                for column in area.column + 1..<area.endColumn - 1 { cells[column] = cell }
            }
        }
    }

    /// Changes the style of every cell in a rectangle, but not its text.
    public mutating func restyle(_ rect: Rect, _ change: (inout Style) -> Void) {
        let area = rect.intersection(bounds)
        guard !area.isEmpty else { return }
        for row in area.row..<area.endRow {
            changeRow(row, upTo: area.endColumn) { cells in
                for column in area.column..<area.endColumn { change(&cells[column].style) }
            }
        }
    }

    /// Links the cells of a rectangle to an address, until something else is written there. A canvas holds up to 127
    /// addresses; further ones are ignored.
    public mutating func link(_ rect: Rect, to target: LinkTarget) {
        var number = (links.firstIndex(of: target) ?? links.count) + 1
        if number > links.count {
            if links.count < Self.linkLimit { links.append(target) } else { number = 0 }
        }
        restyle(rect) { $0.link = number }
    }

    /// The address that a cell links to; nil if there is none.
    package func target(row: Int, column: Int) -> LinkTarget? {
        let number = self[row, column].style.link
        return number > 0 && number <= links.count ? links[number - 1] : nil
    }

    /// Replaces characters, cell by cell. Those that are wide or have combining marks stay.
    public mutating func substitute(_ table: [Unicode.Scalar: Unicode.Scalar]) {
        for row in lines.indices {
            for column in lines[row].indices {
                let cluster = lines[row][column].cluster
                guard cluster.base >= 0x7F, cluster.width == 1, cluster.count == 1,
                    let scalar = Unicode.Scalar(cluster.base), let other = table[scalar],
                    (0x20..<0x7F).contains(other.value)
                else { continue }
                lines[row][column].cluster = Cluster(ascii: UInt8(other.value))
            }
        }
    }

    /// The text of a row, without blanks at its end.
    public func text(row: Int) -> String {
        guard row >= 0, row < size.rows else { return "" }
        let cells = lines[row]
        guard let last = cells.lastIndex(where: { !$0.cluster.isBlank }) else { return "" }
        return cells[...last].lazy.map(\.cluster).text
    }

    /// The text of all rows, without blanks at their ends.
    public var rows: [String] { (0..<size.rows).map { text(row: $0) } }

    /// Whether two canvases of the same size show the same in a row, which must be on them.
    func hasSameCells(as other: Canvas, inRow row: Int) -> Bool {
        let (line, otherLine) = (lines[row], other.lines[row])
        let shared = min(line.count, otherLine.count)
        let isSame = line.withUnsafeBytes { left in
            otherLine.withUnsafeBytes { right in
                guard shared > 0, let one = left.baseAddress, let two = right.baseAddress else { return true }
                // A cell is three words without padding, so that comparing memory is comparing cells.
                return memcmp(one, two, shared * MemoryLayout<Cell>.stride) == 0
            }
        }
        return isSame && line[shared...].allSatisfy { $0 == .blank } && otherLine[shared...].allSatisfy { $0 == .blank }
    }

    /// Changes the cells of a row that is on the canvas, at least those before the column `end`: all at once, since a
    /// frame writes thousands.
    @inline(__always)
    private mutating func changeRow<Result>(
        _ row: Int, upTo end: Int, _ change: (UnsafeMutableBufferPointer<Cell>) -> Result
    ) -> Result {
        let missing = end - lines[row].count
        if missing > 0 { lines[row].append(contentsOf: repeatElement(Cell.blank, count: missing)) }
        return lines[row].withUnsafeMutableBufferPointer { change($0) }
    }

    /// Puts a cluster that fits into a row, and blanks the other half of each wide character that it cuts.
    private static func put(
        _ cluster: Cluster, _ style: Style, at column: Int, in row: UnsafeMutableBufferPointer<Cell>
    ) {
        let wide = cluster.width == 2
        if row[column].cluster == .continuation, column > 0 { row[column - 1].cluster = .blank }
        let last = wide ? column + 1 : column
        if row[last].cluster.width == 2, last + 1 < row.count { row[last + 1].cluster = .blank }
        row[column] = Cell(cluster: cluster, style: style)
        if wide { row[last] = Cell(cluster: .continuation, style: style) }
    }
}

/// One cell of a canvas: its text and its style.
public struct Cell: Hashable, Sendable {
    /// What is drawn; `Cluster.continuation` in the right half of a wide character.
    public internal(set) var cluster: Cluster
    /// How it is drawn.
    public internal(set) var style: Style

    /// A blank in the terminal's own colours.
    public static var blank: Cell { Cell(cluster: .blank, style: .plain) }
}
