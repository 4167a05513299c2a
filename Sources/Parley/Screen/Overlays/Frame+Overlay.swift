import Terminal

extension Frame {
    /// What lies over the panes.
    func drawOverlay() {
        switch model.screen.overlay {
        case .help(let scroll):
            draw(HelpLayout(size: layout.size, keys: model.settings.keys), SafeText(" Help "), scroll)
        case .people(let scroll):
            let list = HelpLayout(
                size: layout.size, lines: model.network.people.lines(for: model.network.identity.user))
            draw(list, SafeText(" Who is in \(model.network.people.topic ?? "") "), scroll)
        case .listing(let listing):
            draw(
                HelpLayout(size: layout.size, lines: listing.lines), SafeText(" \(listing.title) "), listing.scroll,
                selected: listing.selectedRows(on: layout.size), content: listing.content)
        case .palette(let palette): drawPalette(palette)
        // The log has the main pane's place, a question the bottom line's.
        case .log, .question, nil: break
        }
    }

    /// Draws a list over the panes.
    ///
    /// - Parameters:
    ///   - selected: the rows of the line that Enter opens.
    ///   - content: what the lines stand for.
    private func draw(
        _ list: HelpLayout, _ title: SafeText, _ scroll: Int, selected: Range<Int> = 0..<0,
        content: Listing.Content = .words
    ) {
        let (box, inner) = (list.box, list.inner)
        canvas.fill(box, style: theme.overlay)
        drawBorder(box)
        canvas.write(
            title.truncated(columns: max(0, box.columns - 4)), row: box.row, column: box.column + 2, style: theme.title)
        let first = min(scroll, list.lastScroll)
        // What is only read has no place for it.
        var cursor: Position?
        for (offset, row) in list.rows.dropFirst(first).prefix(inner.rows).enumerated() {
            let place = Rect(row: inner.row + offset, column: inner.column, rows: 1, columns: inner.columns)
            drawHelp(row, in: place)
            guard selected.contains(first + offset) else { continue }
            let selection = theme.selection(over:)
            canvas.restyle(place) { $0 = selection($0) }
            cursor = cursor ?? Position(row: place.row, column: place.column)
        }
        let pageDown = model.settings.keys.label(of: .pageDown)
        let close = model.settings.keys.labelOfClosing
        let goesOn = pageDown.map { [" \($0) more  \(close) closes ", " \($0)  \(close) "] } ?? []
        var forms =
            !selected.isEmpty
            ? [" Enter opens  \(close) closes ", " Enter  \(close) "]
            : first < list.lastScroll ? goesOn : [" \(close) closes ", " \(close) "]
        switch content {
        case .postboxes:
            forms.insert(contentsOf: ChatModel.postboxKeys.map { " Enter opens\($0)  \(close) closes " }, at: 0)
        case .topics: forms.insert(" Enter goes there  \(close) closes ", at: 0)
        case .links: forms[0] = " Enter copies  \(close) closes "
        case .words, .sentLetters: break
        }
        let words = forms.first { $0.count <= inner.columns } ?? ""
        canvas.write(words, row: box.endRow - 1, column: box.column + 2)
        canvas.cursor = cursor
    }

    private func drawHelp(_ line: HelpLayout.Row, in row: Rect) {
        switch line {
        case .blank: break
        case .heading(let words): canvas.write(words, row: row.row, column: row.column, style: theme.heading)
        case .entry(let keys, let words, let indent):
            canvas.write(keys, row: row.row, column: row.column, style: theme.hintKey)
            canvas.write(words, row: row.row, column: row.column + indent)
        }
    }

    func drawBorder(_ box: Rect) {
        guard box.rows >= 2, box.columns >= 2 else { return }
        for (row, left, right) in [(box.row, "┌", "┐"), (box.endRow - 1, "└", "┘")] {
            let bar = Rect(row: row, column: box.column, rows: 1, columns: box.columns)
            canvas.fill(bar, with: "─", style: theme.rule)
            canvas.write(left, row: row, column: box.column, style: theme.rule)
            canvas.write(right, row: row, column: box.endColumn - 1, style: theme.rule)
        }
        for column in [box.column, box.endColumn - 1] {
            let side = Rect(row: box.row + 1, column: column, rows: box.rows - 2, columns: 1)
            canvas.fill(side, with: "│", style: theme.rule)
        }
    }
}
