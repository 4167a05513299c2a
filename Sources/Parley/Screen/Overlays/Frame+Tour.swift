import Terminal

extension Frame {
    /// The tour's step over the first rows of the main pane, where there is room.
    func drawTour() {
        guard let tour = model.screen.tour, model.screen.overlay == nil, let words = tour.words(model.settings.keys)
        else { return }
        switch model.screen.view {
        case .welcome, .conversation: break
        case .inbox, .search, .excerpt, .reader, .lab: return
        }
        let area = layout.main
        let lines = SafeText(words).wrapped(columns: area.columns - 6)
        // The conversation has to stay in view.
        guard area.columns >= 30, lines.count + 2 <= area.rows / 2 else { return }
        let box = Rect(row: area.row, column: area.column + 1, rows: lines.count + 2, columns: area.columns - 2)
        canvas.fill(box, style: theme.overlay)
        drawBorder(box)
        let title = " First steps: \(tour.step.rawValue + 1) of \(Tour.Step.allCases.count) "
        canvas.write(title, row: box.row, column: box.column + 2, style: theme.title)
        for (offset, line) in lines.enumerated() {
            canvas.write(line, row: box.row + 1 + offset, column: box.column + 2)
        }
        guard let key = model.settings.keys.label(of: .escape) else { return }
        canvas.write(" \(key): skip the tour ", row: box.endRow - 1, column: box.column + 2, style: theme.hint)
    }
}
