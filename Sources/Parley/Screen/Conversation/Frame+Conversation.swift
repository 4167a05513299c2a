import Relay
import Terminal

extension Frame {
    func drawWelcome() {
        drawHeading(SafeText("welcome"))
        let keys = [
            (EverywhereKey.openPostbox, "opens your postbox"), (.help, "shows all keys and commands"),
            (.commands, "finds any of them by its name"),
        ].compactMap { action, words in model.settings.keys.label(of: action).map { "\($0)  \(words)" } }
        let lines =
            model.network.opening != nil
            ? ["", "Opening …"]
            : ["", "Nothing is joined yet.", "", "/join chat.lobby  joins a topic"] + keys
        for (row, line) in lines.prefix(layout.main.rows).enumerated() {
            canvas.write(
                SafeText(line).truncated(columns: layout.main.columns - 2), row: layout.main.row + row,
                column: layout.main.column + 2)
        }
    }

    /// Draws the line above the main pane, which shows where the keys go.
    func drawHeading(_ words: SafeText) {
        let style = model.screen.focus == .main ? theme.heading : theme.rule
        drawSeparator(words, in: layout.heading, words: theme.title, rule: style)
    }

    func drawConversation(_ conversation: Conversation) {
        let heading = SafeText(headingWords(conversation))
        drawRows(of: conversation, heading)
        drawTypists(in: conversation, besides: heading)
    }

    func drawRows(of conversation: Conversation, _ heading: SafeText) {
        drawHeading(heading)
        let area = layout.main
        let texts = model.layout(of: conversation, in: area, texts: self.texts)
        let widths = texts.widths
        let names = NameCut(columns: widths.name, others: conversation.names.long)
        let lines = texts.viewport
        if lines.isEmpty { drawEmpty(conversation, in: area) }
        // The newest line is next to the text, however few there are.
        let first = area.endRow - lines.count
        // The first author in view is named, whoever is above the edge.
        var hasName = false
        for (offset, line) in lines.enumerated() {
            let row = Rect(row: first + offset, column: area.column, rows: 1, columns: area.columns)
            var isNamed = true
            if case .text(_, isFirst: true, let source) = line {
                isNamed = !hasName || !texts.goesOnFrom(source)
                hasName = true
            }
            draw(line, in: row, widths, isNamed ? names : nil)
        }
        let selected = model.selectedRow?.position
        for (offset, line) in lines.enumerated() where selected != nil && line.row?.position == selected {
            drawSelection(Rect(row: first + offset, column: area.column, rows: 1, columns: area.columns))
        }
        if model.screen.focus == .main, !area.isEmpty {
            let chosen = lines.firstIndex { line in
                if let selected { return line.row?.position == selected }
                return if case .text(_, true, .pending(let own)) = line { own.id == texts.chosenID } else { false }
            }
            let row = chosen.map { first + $0 } ?? area.endRow - 1
            canvas.cursor = Position(row: row, column: area.column)
        }
    }

    func headingWords(_ conversation: Conversation) -> String {
        var words = conversation.name
        switch conversation.subscription {
        case .joining:
            // With nothing in the local store, the first answer is awaited.
            let isAwaited = conversation.keptThrough == nil && model.network.status.isBeginning
            words += model.isOffline && !isAwaited ? offlineWords(asOf: conversation.keptThrough) : " ─ joining …"
        case .live:
            if !model.isOffline, let people = model.network.people.words(of: conversation.name) {
                words += " ─ \(people)"
            }
        case .failed(let reason): words += " ─ ✗ \(reason)"
        }
        if model.lab?.isOn == true {
            words += " ─ behind the lab" + (model.settings.keys.label(of: .openLab).map { ", \($0)" } ?? "")
        }
        return words
    }

    /// That there is no connection, and the time up to which the messages shown are complete.
    func offlineWords(asOf time: Timestamp?) -> String {
        guard let time else { return " ─ offline" }
        return " ─ offline, as of \(CivilTime(time, zone: model.zone).stamp)"
    }

    private func drawEmpty(_ conversation: Conversation, in area: Rect) {
        guard !area.isEmpty else { return }
        let text = SafeText(emptyWords(conversation)).truncated(columns: area.columns - 2)
        canvas.write(text, row: area.endRow - 1, column: area.column + 2, style: theme.dimmed)
    }

    /// Says why no message is shown; that there is none, only once the network has said so.
    private func emptyWords(_ conversation: Conversation) -> String {
        let nothing = conversation.isPattern ? "Nothing here yet." : "Nothing here yet. Say hello."
        // If there are rows, all are from people who are ignored.
        if conversation.history == .complete || conversation.count > 0 { return nothing }
        if conversation.history != .loading, model.isOffline, !model.network.status.isBeginning {
            return "Nothing of \(conversation.isPattern ? "these topics" : "this topic") is on this machine."
        }
        let isLive = conversation.subscription != .joining
        return conversation.history == .more && isLive ? "The messages could not be loaded." : "Loading …"
    }

    /// A line of a message; the one below a cut message names the key that shows the rest.
    func withKey(_ line: SafeText) -> SafeText {
        guard line == ConversationLayout.goesOn, let key = model.settings.keys.label(of: .readWhole) else {
            return line
        }
        return SafeText("… \(key) reads the rest")
    }

    /// A line of a message, with the key that shows the rest if it stands for something that is not shown.
    private func withKey(_ line: MarkedText, _ columns: Int) -> SafeText {
        guard line.isPart, line.text != ConversationLayout.goesOn else { return withKey(line.text) }
        let words = SafeText(" · \(model.settings.keys.label(of: .readWhole) ?? "/read") reads it")
        return line.text.width + words.width <= columns ? line.text + words : line.text
    }

    private func draw(
        _ line: ConversationLayout.Line, in row: Rect, _ widths: ConversationLayout.Columns, _ names: NameCut?
    ) {
        switch line {
        case .separator(let kind, let words):
            drawSeparator(
                SafeText(words), in: row.split(left: row.columns - 1).left, words: style(of: kind),
                rule: kind == .new || kind == .gap ? style(of: kind) : theme.rule)
        case .failure(let words):
            canvas.write(words, row: row.row, column: row.column + widths.indent, style: theme.failure)
        case .text(let text, let isFirst, let source):
            let style: Style = if case .pending = source { theme.dimmed } else { .plain }
            let words = withKey(text, widths.text)
            canvas.write(words, row: row.row, column: row.column + widths.indent, width: widths.text, style: style)
            for run in text.runs { draw(run, over: style, in: row, widths) }
            if source.isMention { drawNames(text, in: row, widths) }
            if isFirst { drawMargin(of: source, in: row, widths, names) }
            drawMark(text.text, of: source, in: row, widths)
        }
    }

    private func draw(_ run: MarkedText.Run, over style: Style, in row: Rect, _ widths: ConversationLayout.Columns) {
        let place = Rect(
            row: row.row, column: row.column + widths.indent + run.columns.lowerBound, rows: 1,
            columns: min(run.columns.upperBound, widths.text) - run.columns.lowerBound)
        let look = theme.style(of: run.kind, over: style)
        canvas.restyle(place) { $0 = look }
        if case .link(let link) = run.kind, let target = link.target { canvas.link(place, to: target) }
    }

    private func drawNames(_ text: MarkedText, in row: Rect, _ widths: ConversationLayout.Columns) {
        let scalars = Array(text.text.description.unicodeScalars)
        func columns(_ end: Int) -> Int { SafeText(String(String.UnicodeScalarView(scalars[..<end]))).width }
        for place in model.mention.places(in: scalars) {
            let (start, end) = (columns(place.lowerBound), min(columns(place.upperBound), widths.text))
            // Names in code and links are no mentions.
            guard start < end, !text.runs.contains(where: { $0.kind != .quote && $0.columns.overlaps(start..<end) })
            else { continue }
            let part = Rect(
                row: row.row, column: row.column + widths.indent + start, rows: 1, columns: end - start)
            let look = theme.mention
            canvas.restyle(part) { $0 = look }
        }
    }

    /// Draws what is left and right of a message's first line: time, name and delivery mark.
    ///
    /// - Parameter names: nil if the name is shown above.
    private func drawMargin(
        of source: ConversationRow, in row: Rect, _ widths: ConversationLayout.Columns, _ names: NameCut?
    ) {
        if source.isMention { canvas.write("@", row: row.row, column: row.column, style: theme.calling) }
        if widths.time > 0, let time = source.time {
            let clock = CivilTime(time, zone: model.zone).clock
            canvas.write(clock, row: row.row, column: row.column + 1, style: theme.time)
        }
        let (name, isOwn, mark, markStyle) = describe(source)
        if let names {
            let safe = names.text(NameBook.shown(name))
            var style = theme.style(ofName: name)
            if isOwn { style = theme.emphasized(style) }
            canvas.write(safe, row: row.row, column: row.column + widths.indent - widths.name - 2, style: style)
        }
        if !mark.isEmpty { canvas.write(mark, row: row.row, column: row.endColumn - 1, style: markStyle) }
    }

    private func describe(_ source: ConversationRow) -> (name: String, isOwn: Bool, mark: String, Style) {
        switch source {
        case .gap, .restart, .outage: ("", false, "", .plain)
        case .message(let line):
            (
                line.shownName, line.isOwn, line.isOwn ? "✓" : line.isClaimed ? "?" : line.isRecovered ? "↺" : "",
                line.isOwn ? theme.connected : line.isClaimed ? theme.failure : theme.dimmed
            )
        case .pending(let line):
            switch line.state {
            case .typed: (model.network.identity.user, true, "", theme.waiting)
            case .queued: (model.network.identity.user, true, "…", theme.waiting)
            case .sending: (model.network.identity.user, true, "↑", theme.waiting)
            case .failed: (model.network.identity.user, true, "✗", theme.failure)
            }
        }
    }

    private func style(of kind: ConversationLayout.Separator) -> Style {
        switch kind {
        case .beginning, .date, .outage: theme.dimmed
        case .new: theme.marker
        case .gap: theme.failure
        }
    }
}

extension ConversationRow {
    fileprivate var isMention: Bool {
        if case .message(let line) = self { line.isMention } else { false }
    }
}

extension Theme {
    /// The style of a part of a text. A line with a style of its own, because it is not sent, keeps that; only its
    /// links are underlined.
    fileprivate func style(of kind: Markup.Kind, over style: Style) -> Style {
        switch kind {
        case .code: return style == .plain ? code : style
        case .fence, .note: return style == .plain ? dimmed : style
        case .quote: return style == .plain ? quote : style
        case .link:
            guard style != .plain else { return link }
            var style = style
            style.attributes.insert(.underline)
            return style
        }
    }
}
