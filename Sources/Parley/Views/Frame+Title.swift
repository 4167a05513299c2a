import Terminal

extension Frame {
    /// The title line: who and where on the left, the live status on the right. Where both do not fit, the status stays.
    mutating func drawTitle() {
        let area = layout.title
        canvas.fill(area, with: "─", style: theme.rule)
        let status = StatusText(model.status, now: now)
        let queued = model.queuedCount
        let unread = model.unreadMessages > 0 ? "# \(Wording.compact(model.unreadMessages))" : ""
        let counts = [
            ["⇅ \(Wording.compact(queued))", unread, "✉ \(Wording.compact(model.waitingLetters))"]
                .filter { !$0.isEmpty }.map { "   " + $0 }.joined(),
            queued > 0 ? "  ⇅ \(Wording.compact(queued))" : "",
            "",
        ]
        let choices = counts.flatMap { count in status.forms.map { (SafeText($0), SafeText(count)) } }
        let fitting = choices.first { $0.0.width + $0.1.width + 3 <= area.columns }
        let (form, right) = fitting ?? (SafeText(status.abbreviation), .empty)
        let width = form.width + right.width + 1
        let start = max(0, area.columns - width)
        if start > 0 { canvas.write(" ", row: area.row, column: start - 1) }
        let used = canvas.write(form, row: area.row, column: start, style: style(of: status.kind))
        canvas.write(right + SafeText(" "), row: area.row, column: start + used, style: theme.title)

        let identity = SafeText("\(model.identity.user)@\(model.identity.network)")
        let room = start - 3
        let name = SafeText(" parley")
        if name.width + 3 + min(identity.width, 12) <= room {
            let title = name + SafeText("  ") + identity.truncated(columns: room - name.width - 3) + SafeText(" ")
            canvas.write(title, row: area.row, column: area.column, style: theme.title)
        } else if name.width + 1 <= room {
            canvas.write(name + SafeText(" "), row: area.row, column: area.column, style: theme.title)
        }
    }

    /// The style of a state's symbol and word.
    func style(of kind: StatusText.Kind) -> Style {
        switch kind {
        case .connected: theme.connected
        case .waiting: theme.waiting
        case .broken: theme.broken
        }
    }
}
