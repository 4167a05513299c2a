extension LineEditor {
    /// The text on one line of `width` columns, scrolled so that the cursor is inside; a line break shows as `↵`.
    ///
    /// The line scrolls by half its width at a time, so that most keys change only what they typed.
    ///
    /// - Returns: what to draw, and the column of the cursor in it, 0 up to `width - 1`.
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

    /// The text broken into rows of `width` columns, at its line breaks and wherever a row is full.
    ///
    /// - Parameters:
    ///   - width: the columns of a row, at least 2.
    ///   - rows: the most rows that are returned: those around the cursor.
    /// - Returns: at least one row, and the cursor's place in them.
    public func rendered(width: Int, rows: Int) -> (visible: [SafeText], cursor: Position) {
        let width = max(2, width)
        var lines: [SafeText] = []
        var line = SafeText.empty
        var place = Position(row: 0, column: 0)
        for (index, character) in characters.enumerated() {
            let drawn = character.isNewline ? SafeText.empty : Self.drawn(character).prefix(columns: width)
            // A full row has no cell left for the cursor.
            if line.width + drawn.width > width || (index == cursor && line.width == width) {
                lines.append(line)
                line = .empty
            }
            if index == cursor { place = Position(row: lines.count, column: line.width) }
            if character.isNewline {
                lines.append(line)
                line = .empty
            } else {
                line += drawn
            }
        }
        if cursor == characters.count {
            if line.width >= width {
                lines.append(line)
                line = .empty
            }
            place = Position(row: lines.count, column: line.width)
        }
        lines.append(line)
        let shown = min(max(1, rows), lines.count)
        let first = min(max(0, place.row - shown + 1), lines.count - shown)
        place.row -= first
        return (Array(lines[first..<first + shown]), place)
    }

    private static func drawn(_ character: Character) -> SafeText {
        if character.isNewline { return SafeText("↵") }
        if character == "\t" { return .spaces(1) }
        return SafeText(String(character))
    }
}
