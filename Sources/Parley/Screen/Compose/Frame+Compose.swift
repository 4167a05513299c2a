import Relay
import Terminal

extension Frame {
    /// Draws the line between the panes and the text, which says if the text will have to wait.
    func drawRule() {
        guard let rule = layout.rule else { return }
        canvas.fill(rule, with: "─", style: model.screen.focus == .compose ? theme.heading : theme.rule)
        if let divider = layout.divider {
            canvas.write("┴", row: rule.row, column: divider.column, style: theme.rule)
        }
        let hidden = hiddenWords.truncated(columns: rule.columns - 4)
        canvas.write(hidden, row: rule.row, column: rule.endColumn - 2 - hidden.width, style: theme.heading)
        let room = max(0, rule.columns - 4 - (hidden.isEmpty ? 0 : hidden.width + 1))
        guard let (words, style) = ruleWords else { return drawAbsence(in: rule, columns: room) }
        let shown = SafeText(" \(words) ").truncated(columns: room)
        canvas.write(shown, row: rule.row, column: rule.column + 2, style: style)
    }

    /// What the line says of the text; nil if nothing.
    private var ruleWords: (String, Style)? {
        if let words = model.compose.editingWords { return (words, theme.heading) }
        let surplus = model.compose.editor.utf8Count - model.network.messageBytes
        if surplus > 0 { return ("\(Wording.count(surplus, "byte")) too many for one message", theme.failure) }
        guard !model.compose.isEmpty else { return nil }
        // A mistyped command stays to be corrected; one key clears it.
        if model.notices.shown?.subject == .mistake, let key = model.settings.keys.label(of: .interrupt) {
            return ("\(key) clears it", theme.hintKey)
        }
        return prospectWords.map { ($0, theme.waiting) }
    }

    /// How many lines of the text are above and below the visible ones; empty if all are visible.
    private var hiddenWords: SafeText {
        let (above, below) = hiddenRows
        switch (above, below) {
        case (0, 0): return .empty
        case (_, 0): return SafeText(" ↑ \(Wording.count(above, "more line")) ")
        case (0, _): return SafeText(" ↓ \(Wording.count(below, "more line")) ")
        default: return SafeText(" ↑ \(Wording.grouped(above))  ↓ \(Wording.count(below, "more line")) ")
        }
    }

    private var hiddenRows: (above: Int, below: Int) {
        let area = layout.compose
        // A pane smaller than its limit shows all lines.
        guard area.rows >= ScreenLayout.composeLimit(layout.size) else { return (0, 0) }
        let columns = area.columns - ScreenLayout.promptColumns - 1
        return model.compose.editor.hidden(width: columns, rows: area.rows)
    }

    func drawCompose() {
        let area = layout.compose
        guard !area.isEmpty else { return }
        let text = layout.text
        let promptStyle = model.screen.focus == .compose ? theme.heading : theme.rule
        let sign = model.compose.editor.searching == nil ? " > " : " ? "
        canvas.write(sign, row: area.row, column: area.column, style: promptStyle)
        let hasKeys = model.screen.focus == .compose
        guard !model.compose.isEmpty else {
            let words = SafeText(placeholder).truncated(columns: text.columns)
            canvas.write(
                words, row: text.row, column: text.column, style: model.isOffline ? theme.waiting : theme.dimmed)
            if hasKeys { canvas.cursor = Position(row: text.row, column: text.column) }
            return
        }
        let cursor = canvas.write(model.compose.editor, in: text)
        if layout.rule == nil {
            // There is no room for words.
            let (above, below) = hiddenRows
            let column = area.endColumn - 1
            if below > 0 { canvas.write("↓", row: area.endRow - 1, column: column, style: theme.heading) }
            if above > 0 {
                canvas.write(
                    below > 0 && area.rows == 1 ? "↕" : "↑", row: area.row, column: column, style: theme.heading)
            }
        }
        if hasKeys { canvas.cursor = cursor }
    }

    /// Shown in place of an empty text: where it would go, or that it would wait. Promises only what can be sent.
    private var placeholder: String {
        let words = model.screen.view.pane.addressee(in: model).hint
        switch model.prospect {
        case .goes: return words
        case .waits, .needsConnecting: return prospectWords ?? words
        case .goesNowhere: return model.isOffline ? "\(offline): \(words)" : words
        }
    }

    private var prospectWords: String? {
        switch model.prospect {
        case .goes: nil
        case .waits: "\(offline): will be sent when connected"
        case .needsConnecting: "disconnected: /reconnect to send"
        case .goesNowhere(let words): words
        }
    }

    /// That there is no connection, and for how long if the outage is long.
    private var offline: String {
        switch model.network.status.state {
        case .disconnected: "disconnected"
        case .connecting, .reconnecting: StatusText.longOutage(model.network.status, now: now) ?? "offline"
        case .initialized, .connected, .suspended: "offline"
        }
    }

    // MARK: The bottom line

    /// Draws a question, a notice, the commands that the text may become, or the keys that work now.
    func drawHint() {
        if case .question(let question)? = model.screen.overlay { return drawQuestion(question) }
        guard let area = layout.hint else {
            // Without a bottom line, a notice covers the end of the main pane.
            if !model.screen.chord.isEmpty, model.compose.isEmpty {
                drawChord(in: layout.compose.split(left: 3).rest)
            } else if let notice = model.notices.shown {
                drawOverMain(notice)
            }
            return
        }
        if !model.screen.chord.isEmpty { return drawChord(in: area) }
        if let notice = model.notices.shown { return draw(notice, in: area) }
        // A screen that lags says so first.
        let place = model.palette == nil ? model.mainPane : model.pane
        let position = SafeText((model.screen.isBehind ? "⇣ behind, catching up" : place.position(in: self)) + " ")
        let room = area.columns - position.width - 1
        if !drawCommands(in: area, until: area.column + room) { drawHintedKeys(in: area, until: area.column + room) }
        canvas.write(position, row: area.row, column: area.endColumn - position.width, style: theme.hint)
    }

    /// Draws as many hints as end before a column.
    private func drawHintedKeys(in area: Rect, until end: Int) {
        let actions = EverywhereKey.allCases
        let everywhere = model.settings.keys[EverywhereKey.self].hints
        func isUseful(_ hint: KeyMap.Hint) -> Bool { model.isUseful(actions[hint.place], rows: layout.main.rows) }
        // At the usual width and above, the keys of the lab and for quitting are always shown.
        let isWide = area.columns >= Self.usualColumns
        func isLast(_ hint: KeyMap.Hint) -> Bool { isWide && Self.lastHints.contains(actions[hint.place]) }
        let last = everywhere.filter { isLast($0) && isUseful($0) }
        let room = end - last.reduce(0) { $0 + $1.key.width + $1.words.width }
        var column = area.column + 1
        let hasRoom = model.pane.hints(in: model).allSatisfy { write($0, in: area.row, at: &column, until: room) }
        if hasRoom {
            for hint in everywhere where !isLast(hint) && isUseful(hint) {
                guard write(hint, in: area.row, at: &column, until: room) else { break }
            }
        }
        for hint in last { _ = write(hint, in: area.row, at: &column, until: end) }
    }

    private static let usualColumns = 80
    private static let lastHints: [EverywhereKey] = [.openLab, .quit]

    private func write(_ hint: KeyMap.Hint, in row: Int, at column: inout Int, until end: Int) -> Bool {
        guard column + hint.key.width + hint.words.width <= end else { return false }
        column += canvas.write(hint.key, row: row, column: column, style: theme.hintKey)
        column += canvas.write(hint.words, row: row, column: column, style: theme.hint)
        return true
    }

    /// Draws the pressed keys of a chord, and those that may follow.
    private func drawChord(in area: Rect) {
        canvas.fill(area)
        let begun = SafeText(KeySequence(model.screen.chord).label + "  ").truncated(columns: max(0, area.columns - 1))
        var column = area.column + 1
        column += canvas.write(begun, row: area.row, column: column, style: theme.hintKey)
        let followers = model.settings.keys.followers(of: model.screen.chord, in: model.pane)
        for (key, words) in followers.map({ ($0.rest.label, $0.binding.hint ?? $0.binding.words) }) + [
            ("Esc", "cancel")
        ] {
            let key = SafeText(key)
            let words = SafeText(" \(words)  ")
            guard column + key.width + words.width <= area.endColumn else { break }
            column += canvas.write(key, row: area.row, column: column, style: theme.hintKey)
            column += canvas.write(words, row: area.row, column: column, style: theme.hint)
        }
    }

    private func draw(_ notice: Notice, in area: Rect) {
        canvas.fill(area)
        let words = SafeText(String(notice.text.prefix(1_024)))
        let room = area.columns - 2
        let style = style(of: notice)
        let log: SafeText? =
            switch (notice.kind, notice.subject) {
            case (.information, .keys): SafeText(" /kv")
            case (.failure, .keys): SafeText(" /errors")
            case (.failure, _): notice.isAnswer ? SafeText(" /errors") : logHint
            case (.information, _): nil
            }
        guard words.width > room, let log, log.width < room / 3 else {
            canvas.write(words.truncated(columns: room), row: area.row, column: area.column + 1, style: style)
            return
        }
        // The rest can be read there.
        let begin = words.truncated(columns: room - log.width)
        canvas.write(begin, row: area.row, column: area.column + 1, style: style)
        canvas.write(log, row: area.row, column: area.endColumn - 1 - log.width, style: theme.hintKey)
    }

    /// Draws a notice over the last rows of the main pane, so that it is seen whatever is being written.
    private func drawOverMain(_ notice: Notice) {
        let area = layout.main
        let lines = SafeText(String(notice.text.prefix(1_024))).wrapped(columns: area.columns - 2)
        let rows = min(lines.count, max(1, area.rows - 1))
        guard !area.isEmpty, let last = lines.prefix(rows).last else { return }
        for (offset, line) in lines.prefix(rows).enumerated() {
            let row = area.line(area.rows - rows + offset)
            canvas.fill(row)
            let isCut = offset == rows - 1 && rows < lines.count
            let words = isCut ? (last + SafeText(" ") + lines[rows]).truncated(columns: area.columns - 2) : line
            canvas.write(words, row: row.row, column: row.column + 1, style: style(of: notice))
        }
    }

    private func style(of notice: Notice) -> Style {
        notice.kind == .failure ? theme.failure : theme.marker
    }

    private var logHint: SafeText? {
        model.settings.keys.label(of: .connectionLog).map { SafeText(" \($0) log") }
    }

    /// Draws a question on the last rows, in full: no one should answer half a question.
    private func drawQuestion(_ question: Question) {
        let size = layout.size
        let text = SafeText(String(question.text.prefix(1_024))) + SafeText(" y/N")
        let lines = text.wrapped(columns: size.columns - 2)
        let shown = lines.suffix(size.rows)
        for (offset, line) in shown.enumerated() {
            let row = size.rows - shown.count + offset
            canvas.fill(Rect(row: row, column: 0, rows: 1, columns: size.columns), style: theme.question)
            let used = canvas.write(line, row: row, column: 1, style: theme.question)
            canvas.cursor = Position(row: row, column: min(2 + used, size.columns - 1))
        }
    }
}

extension Canvas {
    /// Writes the rows of a text around its cursor, and returns the cursor's place.
    fileprivate mutating func write(_ editor: LineEditor, in area: Rect) -> Position {
        let (lines, cursor) = editor.rendered(width: area.columns, rows: area.rows)
        for (offset, line) in lines.enumerated() {
            write(line, row: area.row + offset, column: area.column, width: area.columns)
        }
        return Position(row: area.row + cursor.row, column: area.column + cursor.column)
    }
}

extension ChatModel {
    private var isPaneCovered: Bool {
        switch screen.overlay {
        case .log, .palette: true
        case .help, .people, .listing, .question, nil: false
        }
    }

    /// Whether an action does something now, with a main pane of `rows`; others are not hinted.
    fileprivate func isUseful(_ action: EverywhereKey, rows: Int) -> Bool {
        switch action {
        case .nextUnread:
            return !isPaneCovered && (unreadMessages > 0 || window.others.contains { $0.chat.unread > 0 })
        case .firstUnread: return !isPaneCovered && isFirstUnreadAbove(rows: rows)
        // While the log or the palette covers the panes, only the keys of the text being written are hinted. In a
        // ledger, the lab's key leads to another rehearsal.
        case .openLab: return !isPaneCovered && (screen.view != .lab || lab?.isOn != true)
        case .connectionLog, .help, .focusTopics, .openPostbox, .nextPane, .commands, .quickSwitch:
            return !isPaneCovered
        case .foldTopics, .previousPane, .previousTopic, .nextTopic, .previousPlace, .pageUp, .pageDown, .readWhole,
            .redraw, .suspend, .interrupt, .quit, .escape, .topic1, .topic2, .topic3, .topic4, .topic5, .topic6,
            .topic7, .topic8, .topic9:
            return true
        }
    }
}
