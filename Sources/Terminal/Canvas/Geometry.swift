/// The extent of a screen or a part of it, in character cells.
public struct Size: Hashable, Sendable {
    /// Rows, 0 or more.
    public var rows: Int
    /// Columns, 0 or more.
    public var columns: Int

    /// Makes a size; negative values count as 0.
    public init(rows: Int, columns: Int) {
        self.rows = max(0, rows)
        self.columns = max(0, columns)
    }
}

/// A cell's place, counted from 0 at the top left.
public struct Position: Hashable, Sendable {
    /// The row, from the top.
    public var row: Int
    /// The column, from the left.
    public var column: Int

    /// Makes a position.
    public init(row: Int, column: Int) {
        self.row = row
        self.column = column
    }
}

/// A rectangle of cells.
public struct Rect: Hashable, Sendable {
    /// The top row.
    public var row: Int
    /// The left column.
    public var column: Int
    /// Rows, 0 or more.
    public var rows: Int
    /// Columns, 0 or more.
    public var columns: Int

    /// Makes a rectangle; negative extents count as 0.
    public init(row: Int, column: Int, rows: Int, columns: Int) {
        self.row = row
        self.column = column
        self.rows = max(0, rows)
        self.columns = max(0, columns)
    }

    /// The rectangle of an entire screen.
    public init(_ size: Size) {
        self.init(row: 0, column: 0, rows: size.rows, columns: size.columns)
    }

    /// The row below the last one.
    public var endRow: Int { row + rows }

    /// The column right of the last one.
    public var endColumn: Int { column + columns }

    /// Whether there is no cell inside.
    public var isEmpty: Bool { rows == 0 || columns == 0 }

    /// Whether the cell at `position` is inside.
    public func contains(_ position: Position) -> Bool {
        position.row >= row && position.row < endRow && position.column >= column && position.column < endColumn
    }

    /// The part that both rectangles cover.
    public func intersection(_ other: Rect) -> Rect {
        let top = max(row, other.row)
        let left = max(column, other.column)
        return Rect(
            row: top, column: left,
            rows: min(endRow, other.endRow) - top, columns: min(endColumn, other.endColumn) - left)
    }

    /// The first `top` rows and the rest; what does not fit is empty.
    public func split(top: Int) -> (top: Rect, rest: Rect) {
        let taken = min(max(0, top), rows)
        return (
            Rect(row: row, column: column, rows: taken, columns: columns),
            Rect(row: row + taken, column: column, rows: rows - taken, columns: columns)
        )
    }

    /// The last `bottom` rows and what is above them.
    public func split(bottom: Int) -> (rest: Rect, bottom: Rect) {
        let parts = split(top: rows - min(max(0, bottom), rows))
        return (parts.top, parts.rest)
    }

    /// The first `left` columns and the rest.
    public func split(left: Int) -> (left: Rect, rest: Rect) {
        let taken = min(max(0, left), columns)
        return (
            Rect(row: row, column: column, rows: rows, columns: taken),
            Rect(row: row, column: column + taken, rows: rows, columns: columns - taken)
        )
    }

    /// The rectangle without a border of that many cells on each side.
    public func inset(rows vertical: Int = 0, columns horizontal: Int = 0) -> Rect {
        Rect(
            row: row + min(vertical, rows), column: column + min(horizontal, columns),
            rows: rows - 2 * vertical, columns: columns - 2 * horizontal)
    }

    /// A rectangle of at most this size in the middle of this one.
    public func centered(rows height: Int, columns width: Int) -> Rect {
        let height = min(max(0, height), rows)
        let width = min(max(0, width), columns)
        return Rect(
            row: row + (rows - height) / 2, column: column + (columns - width) / 2, rows: height, columns: width)
    }
}
