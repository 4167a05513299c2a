import RelayLab
import Terminal

extension Frame {
    func drawLab(_ lab: LabDesk) {
        let parts = LabLayout(lab, area: layout.main)
        let below = lab.isOn ? LabChoice.allCases.count - lab.firstVisible - parts.table.rows : 0
        let heading = LabWords.heading(
            of: lab.phase, elapsed: Wording.elapsed(lab.glance?.now.duration ?? .zero), seed: lab.glance?.heading?.seed)
        let words = below > 0 ? LabWords.moreBelow(heading, rows: below) : heading
        drawSeparator(SafeText(words), in: layout.heading, words: theme.title, rule: theme.heading)
        if case .failed(let words) = lab.phase {
            let lines = SafeText("✗ \(words)").wrapped(columns: layout.main.columns - 2)
            return write(lines, in: layout.main, style: theme.failure)
        }
        if lab.isOn { drawChoices(lab, parts) } else { drawLedger(lab, parts) }
        drawStrips(lab, in: parts.strips)
        drawFigures(lab, in: parts.figures)
    }

    private func drawChoices(_ lab: LabDesk, _ parts: LabLayout) {
        let table = parts.table
        for (offset, choice) in LabChoice.allCases.dropFirst(lab.firstVisible).prefix(table.rows).enumerated() {
            drawChoice(choice, of: lab, in: table.line(offset))
        }
        let words = lab.hindrance(of: lab.choice)?.words ?? lab.choice.words
        let room = parts.words.columns - 2
        var lines = SafeText(words).wrapped(columns: room)
        if parts.words.rows > 0, lines.count > parts.words.rows {
            let last = parts.words.rows - 1
            lines[last] = (lines[last] + SafeText(" …")).truncated(columns: room)
        }
        write(lines, in: parts.words, style: theme.dimmed)
    }

    private func drawChoice(_ choice: LabChoice, of lab: LabDesk, in row: Rect) {
        let isSelected = choice == lab.choice
        let isHindered = lab.hindrance(of: choice) != nil
        canvas.write(isSelected ? "▌" : " ", row: row.row, column: row.column, style: theme.heading)
        let key = SafeText(model.settings.keys.label(of: .choice(choice), in: LabPane.self) ?? "–")
        canvas.write(
            key, row: row.row, column: row.column + 1, width: min(6, row.columns - 1),
            style: isHindered ? theme.dimmed : theme.hintKey)
        let begin = row.column + 2 + max(1, key.width)
        let note = note(choice, of: lab)
        let room = row.endColumn - 1 - begin
        let title = SafeText(choice.title).truncated(columns: max(0, room))
        canvas.write(title, row: row.row, column: begin, style: isHindered ? theme.dimmed : .plain)
        // The note on the right is dropped if there is no room for both.
        if note.words.width > 0, title.width + 2 + note.words.width <= room {
            canvas.write(note.words, row: row.row, column: row.endColumn - 1 - note.words.width, style: note.style)
        } else if lab.lasting(of: choice) != nil, room > 0 {
            canvas.write("●", row: row.row, column: row.endColumn - 1, style: theme.waiting)
        }
        guard isSelected, model.screen.focus == .main else { return }
        drawSelection(row)
        canvas.cursor = Position(row: row.row, column: row.column)
    }

    /// The note on the right of a row: how long it lasts, or would last, or that it is not available.
    private func note(_ choice: LabChoice, of lab: LabDesk) -> (words: SafeText, style: Style) {
        if lab.hindrance(of: choice) != nil { return (SafeText(LabWords.notHere), theme.dimmed) }
        if let lasting = lab.lasting(of: choice), let glance = lab.glance {
            let left = lasting.end.map { LabWords.lasts(Wording.wait(($0 - glance.now).duration)) }
            return (SafeText(left ?? LabWords.lastsUntilRestored), theme.waiting)
        }
        guard choice.lasting != nil else { return (.empty, .plain) }
        let words = LabLengths.words(at: lab.length(of: choice))
        return (SafeText(choice == lab.choice ? "- \(words) +" : words), theme.dimmed)
    }

    private func drawStrips(_ lab: LabDesk, in area: Rect) {
        guard !area.isEmpty, let glance = lab.glance else { return }
        let strips = glance.strips(columns: area.columns - 2, ascii: theme.substitutes != nil)
        let lanes = LabLayout.lanes(area.rows)
        for (offset, lane) in lanes.enumerated() where strips.indices.contains(lane) {
            let line = SafeText(strips[lane])
            let (row, begin) = (area.row + offset, area.column + 1)
            canvas.write(line, row: row, column: begin, width: area.columns - 1, style: theme.dimmed)
            let name = LabTimeline.nameColumns(columns: area.columns - 2)
            for column in begin + name..<max(begin + name, area.endColumn) {
                let text = canvas[row, column].cluster.text
                guard let style = style(ofCell: text, lane: lane), text != " " else { continue }
                canvas.restyle(Rect(row: row, column: column, rows: 1, columns: 1)) { $0 = style }
            }
        }
    }

    /// The style of a lane's cell; nil to leave it. Its shape says the same.
    private func style(ofCell text: String, lane: Int) -> Style? {
        switch lane {
        case 0:
            switch text {
            case "█", "=": theme.connected
            case "░", "~", "▒", "z", "▓", "-": theme.waiting
            case "×", "X": theme.broken
            default: nil
            }
        case 1: text == "▓" || text == "#" ? theme.waiting : nil
        case 2, 3, 5: .plain
        case 4: theme.waiting
        case 6: theme.connected
        default: theme.failure
        }
    }

    /// Draws the ledger so far: in one line, or as a list beside the faults.
    private func drawFigures(_ lab: LabDesk, in area: Rect) {
        guard !area.isEmpty, let glance = lab.glance else { return }
        let figures = glance.figures
        let waiting = figures.unsettled + figures.lost
        let parts: [(words: String, value: Int, isBad: Bool, isAlways: Bool)] = [
            (LabWords.sent, figures.sent, false, true), (LabWords.stored, figures.acknowledged, false, true),
            (LabWords.received, figures.received, false, true), (LabWords.recovered, figures.recovered, false, false),
            (LabWords.underWay, waiting, false, false),
            (LabWords.twice, figures.doubled, figures.doubled > 0, false),
            (LabWords.outOfOrder, figures.outOfOrder, figures.outOfOrder > 0, false),
            (LabWords.notSent, figures.notSent, figures.notSent > 0, false),
        ]
        if area.rows > 1 {
            for (offset, part) in parts.prefix(area.rows).enumerated() {
                drawFigure(SafeText(part.words), SafeText("\(part.value)"), part.isBad, in: area.line(offset))
            }
            return
        }
        var column = area.column + 1
        for part in parts where part.value > 0 || part.isAlways {
            let words = SafeText("\(part.words) ")
            let value = SafeText("\(part.value)")
            guard column + words.width + value.width < area.endColumn else { break }
            column += canvas.write(words, row: area.row, column: column, style: theme.dimmed)
            column += canvas.write(
                value, row: area.row, column: column, style: part.isBad ? theme.failure : theme.title)
            column += 2
        }
    }

    private func drawFigure(_ words: SafeText, _ value: SafeText, _ isBad: Bool, in row: Rect) {
        let begin = row.column + 1
        let column = begin + min(36, max(0, row.columns - value.width - 2))
        canvas.write(
            words.truncated(columns: max(0, column - 2 - begin)), row: row.row, column: begin,
            style: isBad ? theme.failure : theme.dimmed)
        canvas.write(value, row: row.row, column: column, style: isBad ? theme.failure : theme.title)
    }

    private func drawLedger(_ lab: LabDesk, _ parts: LabLayout) {
        let area = parts.table
        for (offset, line) in parts.ledger.dropFirst(lab.firstVisible).prefix(area.rows).enumerated() {
            let row = area.line(offset)
            switch line {
            case .words(let words, let isGood):
                write([words], in: row, style: isGood ? theme.connected : theme.failure)
            case .figure(let words, let value, let isBad): drawFigure(words, value, isBad, in: row)
            }
        }
        if model.screen.focus == .main { canvas.cursor = Position(row: area.row, column: area.column) }
    }
}
