import Terminal

extension Frame {
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
        // The log takes the main pane's place, a question the bottom line's.
        case .log, .question, nil: break
        }
    }

    /// Draws a list over the panes, in which Enter opens the line of the selected rows.
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
        // A list that is only read has no cursor.
        var cursor: Position?
        for (offset, row) in list.rows.dropFirst(first).prefix(inner.rows).enumerated() {
            let place = inner.line(offset)
            drawHelp(row, in: place)
            guard selected.contains(first + offset) else { continue }
            drawSelection(place)
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

    func drawTour() {
        guard let tour = model.screen.tour, model.screen.overlay == nil, let words = tour.words(model.settings.keys),
            !model.screen.view.liesOver, !model.screen.view.isInbox
        else { return }
        let area = layout.main
        let lines = SafeText(words).wrapped(columns: area.columns - 6)
        // The conversation has to stay in view.
        guard area.columns >= 30, lines.count + 2 <= area.rows / 2 else { return }
        let box = Rect(row: area.row, column: area.column + 1, rows: lines.count + 2, columns: area.columns - 2)
        canvas.fill(box, style: theme.overlay)
        drawBorder(box)
        let title = " First steps: \(tour.step.rawValue + 1) of \(Tour.Step.allCases.count) "
        canvas.write(title, row: box.row, column: box.column + 2, style: theme.title)
        write(lines, in: box.inset(rows: 1, columns: 2), indent: 0)
        guard let key = model.settings.keys.label(of: .escape) else { return }
        canvas.write(" \(key): skip the tour ", row: box.endRow - 1, column: box.column + 2, style: theme.hint)
    }

    func drawBorder(_ box: Rect) {
        guard box.rows >= 2, box.columns >= 2 else { return }
        for (row, left, right) in [(box.row, "┌", "┐"), (box.endRow - 1, "└", "┘")] {
            canvas.fill(box.line(row - box.row), with: "─", style: theme.rule)
            canvas.write(left, row: row, column: box.column, style: theme.rule)
            canvas.write(right, row: row, column: box.endColumn - 1, style: theme.rule)
        }
        for column in [box.column, box.endColumn - 1] {
            let side = Rect(row: box.row + 1, column: column, rows: box.rows - 2, columns: 1)
            canvas.fill(side, with: "│", style: theme.rule)
        }
    }
}
