import Relay
import Terminal

extension Frame {
    func drawSidebar(_ area: Rect) {
        // Beside the main pane, nothing is drawn there yet.
        if layout.divider == nil { canvas.fill(area) }
        let shown = model.shownSidebarIndex
        for offset in 0..<area.rows {
            let index = model.screen.sidebar.firstVisible + offset
            guard let row = model.sidebarRow(at: index) else { break }
            let line = area.line(offset)
            drawSidebarRow(row, in: line, isShown: index == shown)
            guard model.screen.focus == .sidebar, index == model.screen.sidebar.cursor else { continue }
            drawSelection(line)
            canvas.cursor = Position(row: line.row, column: line.column)
        }
        let first = model.screen.sidebar.firstVisible
        drawMoreMarks(area, above: first > 0, below: first + area.rows < model.sidebarCount)
    }

    /// The names of topics in view that may have to be cut, and then have to stay distinct.
    var longTopicNames: [SafeText] {
        (0..<(layout.sidebar?.rows ?? 0)).compactMap { offset in
            let row = model.sidebarRow(at: model.screen.sidebar.firstVisible + offset)
            guard case .topic(let place)? = row else { return nil }
            let name = Self.shown(model.network.conversations.all[place].name)
            return name.width > NameCut.least ? name : nil
        }
    }

    private static func shown(_ name: String) -> SafeText { SafeText(String(name.prefix(256))) }

    private func drawSidebarRow(_ row: SidebarRow, in line: Rect, isShown: Bool) {
        switch row {
        case .topicsHeading:
            guard model.window.chats.count < 2 else { return drawHeading(of: model.window.place, in: line) }
            let count = model.network.conversations.count
            let words = model.network.conversations.isByActivity ? " by activity" : count > 99 ? " \(count)" : ""
            canvas.write(
                " TOPICS" + words, row: line.row, column: line.column, width: line.columns, style: theme.heading)
        case .allLetters:
            let unread = model.network.inbox.boxes.isEmpty ? model.unreadLetters : 0
            drawLetters(unread, hasText: model.writing.hasText(for: ""), in: line, isShown: isShown)
        case .topic(let place):
            let hasText = model.writing.hasText(for: model.network.conversations.all[place].name)
            draw(ChatGlance.Topic(model, place, hasText: hasText), in: line, isShown: isShown, beside: namesInSidebar)
        case .chat(let place): drawHeading(of: place, in: line)
        case .topicElsewhere(let chat, let place): draw(model.window.chats[chat].topics[place], in: line)
        case .lettersElsewhere(let chat):
            drawLetters(model.window.chats[chat].letters, hasText: model.window.chats[chat].hasText, in: line)
        case .postbox(let place):
            let box = model.network.inbox.boxes[place]
            let count = model.network.inbox.unreadCount(ofBox: box.id)
            let style = box.isEnabled ? (count > 0 ? theme.unread : .plain) : theme.dimmed
            let name = Self.words(of: box, columns: line.columns - Self.countColumns)
            let room = max(0, line.columns - Self.countColumns)
            drawName(name.shortened(columns: room), in: line, isShown: isShown, style: style)
            drawCount(count, of: model.network.inbox.counts[box.id] ?? 0, besides: name, in: line)
        }
    }

    /// Draws the heading of a network, with the state of its connection.
    private func drawHeading(of place: Int, in line: Rect) {
        let chat = model.window.chats[place]
        // The state of the network in front is newer than what it shows of itself to the others.
        let own = place == model.window.place ? statusText : nil
        let symbol = own.map { String($0.title.prefix(1)) } ?? chat.symbol
        let sign = canvas.write(
            symbol, row: line.row, column: line.column + 1, style: style(of: own?.kind ?? chat.kind))
        let name = SafeText(chat.name.prefix(64).uppercased()).shortened(columns: max(0, line.columns - 3 - sign))
        canvas.write(name, row: line.row, column: line.column + sign + 2, style: theme.heading)
    }

    private func drawLetters(_ unread: Int, hasText: Bool, in line: Rect, isShown: Bool = false) {
        if isShown { canvas.write("▌", row: line.row, column: line.column, style: theme.heading) }
        canvas.write("POSTBOX", row: line.row, column: line.column + 1, style: theme.heading)
        let marks = marks(hasText, unread > 0 ? Wording.compact(unread) : "")
        let style = unread > 0 ? theme.unread : theme.dimmed
        canvas.write(marks, row: line.row, column: line.endColumn - marks.count - 1, style: style)
    }

    /// - Parameter others: the topics that its name must not be mistaken for.
    private func draw(
        _ topic: ChatGlance.Topic, in line: Rect, isShown: Bool = false,
        beside others: @autoclosure () -> [SafeText]? = nil
    ) {
        let calls = topic.unread > 0 && !topic.isMuted
        let marks = marks(topic.hasText, isMuted: topic.isMuted, topic.words)
        let sign = SafeText(topic.hasFailed ? "✗ " : "")
        let room = max(0, line.columns - Self.countColumns - max(0, marks.count - 4) - sign.width)
        let style = calls ? theme.unread : topic.hasFailed ? theme.failure : topic.isMuted ? theme.dimmed : .plain
        let whole = Self.shown(topic.name)
        let name =
            whole.width <= room
            ? whole : others().map { NameCut(columns: room, others: $0).text(whole) } ?? whole.shortened(columns: room)
        drawName(sign + name, in: line, isShown: isShown, style: style)
        let markStyle = calls && topic.mentions > 0 ? theme.calling : calls ? theme.unread : theme.dimmed
        canvas.write(marks, row: line.row, column: line.endColumn - marks.count - 1, style: markStyle)
    }

    /// The columns of a row beside the name.
    private static let countColumns = 7

    /// A postbox's title, with its name if there is room for both, and whether it is off.
    private static func words(of box: Postbox, columns: Int) -> SafeText {
        let end = box.isEnabled ? "" : " (off)"
        let whole = shown(" " + box.fullName + end)
        return whole.width <= columns ? whole : shown(" " + box.title + end)
    }

    private func drawName(_ name: SafeText, in line: Rect, isShown: Bool, style: Style) {
        if isShown { canvas.write("▌", row: line.row, column: line.column, style: theme.heading) }
        let style = isShown ? theme.emphasized(style) : style
        canvas.write(name, row: line.row, column: line.column + 1, style: style)
    }

    /// The signs of a draft and of muting, and what is unread.
    private func marks(_ hasText: Bool, isMuted: Bool = false, _ unread: String) -> String {
        guard hasText || isMuted else { return unread }
        return [hasText ? "✎" : "", isMuted ? "⊘" : "", unread].filter { !$0.isEmpty }.joined(separator: " ")
    }

    /// Draws the number of unread letters, and of all if that is larger and there is room for it.
    private func drawCount(_ count: Int, of total: Int, besides name: SafeText, in line: Rect) {
        let text = Wording.compact(count)
        let style = count > 0 ? theme.unread : theme.dimmed
        let all = total > count ? "/\(Wording.compact(total))" : ""
        let room = line.columns - 3 - name.width - text.count
        let shown = all.count <= room ? all : ""
        let end = line.endColumn - 1
        canvas.write(text, row: line.row, column: end - shown.count - text.count, style: style)
        canvas.write(shown, row: line.row, column: end - shown.count, style: theme.dimmed)
    }

    /// Draws arrows where rows are out of view.
    func drawMoreMarks(_ area: Rect, above: Bool, below: Bool) {
        guard !area.isEmpty else { return }
        if above {
            canvas.write("↑", row: area.row, column: area.endColumn - 1, style: theme.dimmed)
        }
        if below {
            canvas.write("↓", row: area.endRow - 1, column: area.endColumn - 1, style: theme.dimmed)
        }
    }
}

extension Conversation {
    /// What is unread, in at most five columns: `9`, `@2 9`, or `@2` if there is no room for both.
    var unreadWords: String { Self.unreadWords(unread, mentions: mentions.count) }

    static func unreadWords(_ unread: Int, mentions: Int) -> String {
        let count = Wording.compact(unread)
        guard mentions > 0 else { return count }
        let called = "@\(Wording.compact(mentions))"
        let both = "\(called) \(count)"
        return both.count <= 5 ? both : called
    }
}
