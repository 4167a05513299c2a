import Terminal

extension Frame {
    func drawTitle() {
        let area = layout.title
        canvas.fill(area, with: "─", style: theme.rule)
        let words = TitleLine.Words(
            identity: model.shownIdentity, isAway: model.network.people.own != .here, status: statusText,
            counts: counts)
        let line = texts?.titleLine(words, columns: area.columns) ?? TitleLine(words, columns: area.columns)
        let start = max(0, area.columns - line.status.width - line.counts.width - 1)
        var end = area.column
        end += canvas.write(line.left, row: area.row, column: end, style: theme.title)
        canvas.write(" ", row: area.row, column: end, style: theme.title)
        if start > 0 { canvas.write(" ", row: area.row, column: start - 1) }
        end = start
        end += canvas.write(line.status, row: area.row, column: end, style: style(of: line.kind))
        end += canvas.write(line.counts, row: area.row, column: end, style: theme.title)
        canvas.write(" ", row: area.row, column: end, style: theme.title)
    }

    var statusText: StatusText {
        StatusText(
            model.network.status, recovered: model.network.times.recovery?.shown(at: now),
            attemptBegan: model.network.times.attemptBegan, now: now)
    }

    /// The counts, over all networks of the window.
    var counts: TitleCounts {
        var counts = TitleCounts(
            queued: model.network.outbox.queuedCount, mentions: model.unseenMentions, unread: model.unreadMessages,
            letters: model.unreadLetters)
        for (_, chat) in model.window.others {
            counts.queued += chat.queued
            counts.mentions += chat.mentions
            counts.unread += chat.unread
            counts.letters += chat.letters
        }
        return counts
    }

    func style(of kind: StatusText.Kind) -> Style {
        switch kind {
        case .connected: theme.connected
        case .waiting: theme.waiting
        case .broken: theme.broken
        }
    }
}
