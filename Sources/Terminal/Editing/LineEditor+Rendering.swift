extension LineEditor {
    /// The text on one line of `width` columns, and the cursor's column in it; a line break shows as `↵`. The line
    /// scrolls by half its width at a time, so that most keys change only what they typed.
    public func rendered(width: Int) -> (visible: SafeText, cursorColumn: Int) {
        guard width > 0 else { return (.empty, 0) }
        let widths = characters[..<cursor].map { Self.drawn($0).width }
        let before = widths.reduce(0, +)
        var start = 0
        var passed = 0
        if before >= width {
            let step = max(1, width / 2)
            let offset = ((before - width) / step + 1) * step
            while start < cursor, passed < offset || before - passed >= width {
                passed += widths[start]
                start += 1
            }
        }
        var visible = SafeText.empty
        for character in characters[start...] {
            let drawn = Self.drawn(character)
            if visible.width + drawn.width > width { break }
            visible += drawn
        }
        return (visible, before - passed)
    }

    /// The text broken into rows of `width` columns, at least 2: at its line breaks, between words, and within a word
    /// that is longer than a row. The blank at a break ends its row. Returns the rows around the cursor, 1 to `rows`,
    /// and the cursor's place in them.
    public func rendered(width: Int, rows: Int) -> (visible: [SafeText], cursor: Position) {
        let width = max(2, width)
        let (starts, cursorRow) = rowStarts(width: width)
        let shown = Self.shownRows(rows, of: starts.count, around: cursorRow)
        let visible = shown.map { row in
            let end = row + 1 < starts.count ? starts[row + 1] : count
            var line = SafeText.empty
            line.reserveCapacity(end - starts[row])
            for place in starts[row]..<end {
                if let plain = cells[place].plain {
                    line.append(plain)
                } else if !cells[place].isBreak {
                    line += Self.drawn(characters[place]).prefix(columns: width)
                }
            }
            return line
        }
        let column = cells[starts[cursorRow]..<cursor].reduce(0) { $0 + $1.columns(in: width) }
        return (visible, Position(row: cursorRow - shown.lowerBound, column: column))
    }

    /// The number of rows of `width` columns above and below those that `rendered(width:rows:)` returns.
    public func hidden(width: Int, rows: Int) -> (above: Int, below: Int) {
        let (starts, cursorRow) = rowStarts(width: max(2, width))
        let shown = Self.shownRows(rows, of: starts.count, around: cursorRow)
        return (shown.lowerBound, starts.count - shown.upperBound)
    }

    private static func shownRows(_ rows: Int, of count: Int, around cursorRow: Int) -> Range<Int> {
        let shown = min(max(1, rows), count)
        let first = min(max(0, cursorRow - shown + 1), count - shown)
        return first..<first + shown
    }

    /// The number of rows of `width` columns that the text takes, counted up to `limit`.
    public func rowCount(width: Int, limit: Int) -> Int {
        let width = max(2, width)
        return min(limit, hasOneRow(width: width) ? 1 : rowStarts(width: width, limit: limit).starts.count)
    }

    /// The beginning of each row, up to `limit` rows, and the row that the cursor is in.
    private func rowStarts(width: Int, limit: Int = .max) -> (starts: [Int], cursorRow: Int) {
        if hasOneRow(width: width) { return ([0], 0) }
        var starts = [0]
        var used = 0
        // Where the row can be broken before it is full, and the columns after that place.
        var wordStart = 0
        var wordColumns = 0
        func beginRow(at index: Int, with columns: Int = 0) {
            starts.append(index)
            (used, wordStart, wordColumns) = (columns, index, columns)
        }
        for (index, cell) in cells.enumerated() {
            if starts.count > limit { break }
            let columns = cell.columns(in: width)
            let isFull = used + columns > width
            // A full row has no cell left for the cursor.
            if isFull || (index == cursor && used == width) {
                let begins = isFull && wordStart > (starts.last ?? 0) && wordColumns + columns <= width
                beginRow(at: begins ? wordStart : index, with: begins ? wordColumns : 0)
            }
            used += columns
            wordColumns += columns
            // Wide characters have no blanks between their words.
            if cell.isBlank || columns == 2 { (wordStart, wordColumns) = (index + 1, 0) }
            if cell.isBreak { beginRow(at: index + 1) }
        }
        if cursor == count, used >= width { starts.append(count) }
        return (starts, starts.lastIndex { $0 <= cursor } ?? 0)
    }

    /// Whether all of the text fits into one row with room for the cursor, as most texts do.
    private func hasOneRow(width: Int) -> Bool {
        guard cells.count < width else { return false }
        var used = 0
        for cell in cells {
            if cell.isBreak { return false }
            used += Int(cell.columns)
        }
        return used < width
    }

    private static func drawn(_ character: Character) -> SafeText {
        if character.breaksLine { return SafeText("↵") }
        if character == "\t" { return .spaces(1) }
        return SafeText(String(character))
    }
}
