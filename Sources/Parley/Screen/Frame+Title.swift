import Terminal

extension Frame {
    func drawTitle() {
        let area = layout.title
        canvas.fill(area, with: "─", style: theme.rule)
        let status = statusText
        let words = TitleLine.Words(
            identity: model.shownIdentity, isAway: model.network.people.own != .here, status: status, counts: counts)
        let line = texts?.titleLine(words, columns: area.columns) ?? TitleLine(words, columns: area.columns)
        let start = max(0, area.columns - line.status.width - line.counts.width - 1)
        canvas.write(line.left + SafeText(" "), row: area.row, column: area.column, style: theme.title)
        if start > 0 { canvas.write(" ", row: area.row, column: start - 1) }
        let used = canvas.write(line.status, row: area.row, column: start, style: style(of: line.kind))
        canvas.write(line.counts + SafeText(" "), row: area.row, column: start + used, style: theme.title)
    }

    var statusText: StatusText {
        StatusText(
            model.network.status, recovered: model.network.times.recovery?.shown(at: now),
            attemptBegan: model.network.times.attemptBegan, now: now)
    }

    /// What is counted, on all networks of the window.
    var counts: [TitleCount: Int] {
        let others = model.window.others.map(\.chat)
        return TitleCount.allCases.reduce(into: [:]) { counts, count in
            counts[count] =
                switch count {
                case .queued: others.reduce(model.network.outbox.queuedCount) { $0 + $1.queued }
                case .mentions: others.reduce(model.unseenMentions) { $0 + $1.mentions }
                case .unread: others.reduce(model.unreadMessages) { $0 + $1.unread }
                case .letters: others.reduce(model.unreadLetters) { $0 + $1.letters }
                }
        }
    }

    func style(of kind: StatusText.Kind) -> Style {
        switch kind {
        case .connected: theme.connected
        case .waiting: theme.waiting
        case .broken: theme.broken
        }
    }
}
