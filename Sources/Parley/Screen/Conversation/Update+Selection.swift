import Relay
import Terminal

// In the main pane, keys go from message to message. Messages can be copied, quoted and inspected.
extension ChatModel {
    /// The message that keys act on.
    struct Selection: Hashable, Sendable {
        let conversation: String
        /// Whether it is in an excerpt of the conversation.
        var isInExcerpt = false
        let position: RowPosition
    }

    struct QuoteLimit {
        let characters: Int
        let lines: Int

        static let message = QuoteLimit(characters: 1_000, lines: 3)
        static let letter = QuoteLimit(characters: 4_000, lines: 40)
    }

    /// The most bytes of text that are copied: terminals refuse more.
    private static let copyLimit = 65_536

    /// The selected message; nil if there is none, or it is gone.
    var selectedRow: ConversationRow? {
        screen.focus == .main ? screen.marks.selection.flatMap(row(of:)) : nil
    }

    /// The message that was selected when the text was begun; nil if none was, or it is gone.
    var rowBeforeText: ConversationRow? { screen.marks.selectionBeforeText.flatMap(row(of:)) }

    /// Selects what was selected before the text was begun, unless something is.
    func selectAsBeforeText() {
        if selectedRow == nil, rowBeforeText != nil { screen.marks.selection = screen.marks.selectionBeforeText }
    }

    /// The answer to an action on a message while none is selected.
    var noSelectionWords: String {
        guard let up = settings.keys.label(of: .up, in: ConversationPane.self) else { return "No message is selected." }
        let pane = screen.focus == .compose ? settings.keys.label(of: .previousPane) : nil
        let way = pane.map { "\($0) and then \(up) go to one." } ?? "\(up) in the conversation goes to one."
        return "No message is selected; \(way)"
    }

    /// The answer to going on with a find while there is none.
    static let noFindWords = "Nothing is looked for here. /find LETTERS begins."

    /// The message of a selection in the conversation in view; nil if it is gone.
    private func row(of selection: Selection) -> ConversationRow? {
        guard screen.view.isPart(of: selection.conversation, inExcerpt: selection.isInExcerpt) else { return nil }
        return conversationInView?.row(of: selection.position)
    }

    var topicInView: Conversation? { screen.view.topic.flatMap { network.conversations.named($0) } }

    /// The conversation or excerpt in view; nil if something else is.
    var conversationInView: Conversation? { screen.view.excerpt?.conversation ?? topicInView }

    /// Makes keys begin at a message that the person was led to.
    func land(at position: RowPosition, in name: String) {
        screen.marks.landing = hasScreen ? Selection(conversation: name, position: position) : nil
    }

    /// The message that a jump has led to, while nothing was selected since; nil if it is out of view.
    private func landingRow(in shown: [ConversationLayout.Line]) -> ConversationRow? {
        guard selectedRow == nil, let landing = screen.marks.landing,
            screen.view.topic == landing.conversation
        else { return nil }
        return shown.first { $0.row?.position == landing.position }?.row
    }

    /// Whether keys begin at the message that a jump has led to.
    var beginsAtLanding: Bool {
        guard screen.marks.landing != nil, selectedRow == nil, let conversation = conversationInView else {
            return false
        }
        return landingRow(in: layout(of: conversation).viewport) != nil
    }

    // MARK: Selecting

    /// Goes to the message above or below; a line at a time within one that is taller than the pane, and past the
    /// newest.
    func selectMessage(by step: Int) -> ChatEffects {
        guard let conversation = topicInView else { return [] }
        let layout = layout(of: conversation)
        guard !layout.area.isEmpty else { return [] }
        let shown = layout.viewport
        if let row = landingRow(in: shown) {
            select(row)
            return []
        }
        guard let present = selectedRow?.position ?? chosenLine.map({ .pending($0.number) }) else {
            guard step < 0, let lowest = shown.last(where: { $0.row != nil })?.row else {
                return scrollConversation(up: -step)
            }
            select(lowest)
            return []
        }
        let hidden = layout.hiddenLines(of: present, in: shown)
        if step < 0 ? hidden.above > 0 : hidden.below > 0 { return scrollConversation(up: -step) }
        guard let next = conversation.message(from: present, by: step) else {
            if step < 0 { return scrollConversation(up: 1) }
            screen.marks.selection = nil
            return scrollConversation(toBeginning: false)
        }
        select(next)
        return []
    }

    /// Selects a message of the conversation in view, and brings it into view.
    func select(_ row: ConversationRow) {
        guard let conversation = conversationInView else { return }
        screen.focus = .main
        screen.marks.selection = Selection(
            conversation: conversation.name, isInExcerpt: screen.view.excerpt != nil, position: row.position)
        screen.marks.landing = nil
        if hasScreen { scroll(to: scroll(showing: row, in: conversation)) }
    }

    /// Scrolls the conversation or excerpt in view.
    func scroll(to scroll: Conversation.Scroll) {
        if let name = screen.view.topic { network.conversations.update(name) { $0.scroll = scroll } }
        screen.view.excerpt?.conversation.scroll = scroll
    }

    /// The scroll position at which a message is in view.
    private func scroll(showing row: ConversationRow, in conversation: Conversation) -> Conversation.Scroll {
        var held = conversation
        // New messages do not move what the person looks at.
        if held.scroll == .bottom, let newest = held.row(at: held.count - 1)?.position, newest != row.position {
            held.scroll = .row(newest, hiddenLines: 0)
        }
        let layout = layout(of: held)
        guard !layout.area.isEmpty else { return held.scroll }
        let hidden = layout.hiddenLines(of: row.position, in: layout.viewport)
        guard hidden.above > 0 || hidden.below > 0 else { return held.scroll }
        // Of a message that is taller than the pane, the part next to the edge comes first; keys go on from there.
        let most = max(1, layout.area.rows - 1)
        if !hidden.isWhole, hidden.above + hidden.below >= most { return held.scroll }
        if hidden.isWhole, !layout.isNextToEdge(row.position) { return layout.showing(row.position) }
        return layout.scrolled(up: hidden.above > 0 ? min(hidden.above, most) : -min(hidden.below, most))
    }

    func dropStaleSelection() {
        func shows(_ view: MainView, _ selection: Selection) -> Bool {
            view.isPart(of: selection.conversation, inExcerpt: selection.isInExcerpt)
        }
        if compose.isEmpty || screen.marks.selectionBeforeText.map({ !shows(screen.view, $0) }) ?? false {
            (screen.marks.selectionBeforeText, screen.marks.findBeforeText) = (nil, nil)
        }
        guard let selection = screen.marks.selection, screen.focus != .main || !shows(screen.view, selection) else {
            return
        }
        // What is read covers it, and leads back to it.
        if screen.view.reader != nil, shows(screen.viewBelowReader, selection) { return }
        if screen.focus == .compose, !compose.isEmpty, shows(screen.view, selection) {
            // A find stays with the message that it led to, even if no one went on with it meanwhile.
            if screen.marks.find != nil || selection != screen.marks.selectionBeforeText {
                screen.marks.findBeforeText = screen.marks.find
            }
            screen.marks.selectionBeforeText = selection
        }
        screen.marks.selection = nil
        screen.marks.find = nil
        guard !selection.isInExcerpt, let conversation = network.conversations.named(selection.conversation),
            conversation.scroll != .bottom
        else { return }
        let layout = layout(of: conversation)
        guard !layout.area.isEmpty else { return }
        // If nothing arrived meanwhile, the newest message is followed again.
        let scroll = layout.scrolled(up: 0)
        network.conversations.update(selection.conversation) { $0.scroll = scroll }
    }

    // MARK: With the selected message

    /// Copies a message to the terminal's clipboard, without what is invisible, and keeps it for ^Y.
    func copy(message text: String) -> ChatEffects {
        copy(SafeText.lines(text).map(\.description).joined(separator: "\n"))
    }

    /// Copies a text to the terminal's clipboard, and keeps it for ^Y.
    func copy(_ text: String) -> ChatEffects {
        compose.editor.keepForYank(text)
        let yank = settings.keys.label(of: .yank).map { "; \($0) puts it into the text" } ?? ""
        guard text.utf8.count <= Self.copyLimit else {
            return tell("It is too long for the terminal's clipboard\(yank).")
        }
        say("Copied, where the terminal has a clipboard\(yank).")
        return .screen(.copy(text))
    }

    /// Quotes a message of the conversation in view. One that a pattern brought is answered in its own topic.
    func quote(_ row: ConversationRow) {
        if let topic = topicInView, topic.isPattern, case .message(let line) = row {
            return say("/join \(line.topic) to answer; \(topic.name) is only for reading.")
        }
        quote(row.text, of: row.author)
    }

    /// Puts a text into the compose pane as a quotation to answer; says so if that is cut.
    func quote(_ text: String, of author: String?) {
        let quotation = Self.quotation(of: text, by: author)
        beginWith(quotation)
        sayCut(quotation, of: text)
    }

    /// Says how much of a text is quoted, unless all of it is.
    func sayCut(_ quotation: String, of text: String) {
        guard quotation.hasSuffix(Self.cutMark), !Self.ownText(of: text).hasSuffix(Self.cutMark) else { return }
        let (quoted, all) = (Self.lineCount(quotation), Self.lineCount(Self.ownText(of: text)))
        let part =
            quoted < all ? "the first \(Wording.count(quoted, "line")) of \(Wording.grouped(all))" : "its beginning"
        say("The quotation is cut: it has \(part).")
    }

    static func lineCount(_ text: String) -> Int { text.reduce(1) { $1.breaksLine ? $0 + 1 : $0 } }

    private static let cutMark = " …"

    func beginWith(_ quotation: String) {
        compose.editor.moveCursor(to: 0)
        compose.editor.insert(quotation + "\n")
        compose.editor.moveCursor(to: compose.editor.count)
        screen.focus = .compose
    }

    /// A message as quoted: its author, and the beginning of its text.
    static func quotation(of row: ConversationRow) -> String { quotation(of: row.text, by: row.author) }

    /// The beginning of a text as a quotation to answer, with its author if given.
    static func quotation(of text: String, by author: String? = nil, within limit: QuoteLimit = .message) -> String {
        let name = author.map { "\($0): " } ?? ""
        let start = ownText(of: text).prefix(limit.characters + 1)
        let whole = SafeText.lines(String(start)).map(\.description)
        var lines = Array(whole.prefix(limit.lines))
        if let last = lines.last, whole.count > lines.count || start.count > limit.characters {
            lines[lines.count - 1] = last.prefix(limit.characters) + cutMark
        }
        return (["> \(SafeText(name))\(lines.first ?? "")"] + lines.dropFirst().map { "> \($0)" })
            .joined(separator: "\n")
    }

    /// A text without the lines that it quotes itself; all of it if there are no others.
    private static func ownText(of text: String) -> String {
        let lines = text.split(omittingEmptySubsequences: false) { $0.breaksLine }
        let own = lines.filter { $0.first != ">" }
        guard own.count < lines.count else { return text }
        let isBlank = { (line: Substring) in line.allSatisfy(\.isWhitespace) }
        guard let last = own.lastIndex(where: { !isBlank($0) }) else { return text }
        return own[...last].drop(while: isBlank).joined(separator: "\n")
    }

    func lookAt(_ row: ConversationRow) {
        screen.overlay = .listing(Listing(title: "About this message", lines: details(of: row)))
    }

    private func details(of row: ConversationRow) -> [HelpText.Line] {
        func stamp(_ time: Timestamp) -> String {
            let civil = CivilTime(time, zone: zone)
            return "\(civil.dateLine(currentYear: nil)), \(civil.preciseClock)"
        }
        let bytes = HelpText.Line.entry("length", Wording.count(row.text.utf8.count, "byte"))
        switch row {
        case .message(let line):
            var lines: [HelpText.Line] = [
                .entry("from", line.name.isEmpty ? "no name given" : line.name),
                .entry("topic", line.topic),
                .entry("stored", stamp(line.time)),
                .entry("sequence", "\(line.sequence)"),
                .entry("id", line.id), bytes,
            ]
            if line.isRecovered { lines.append(.entry("recovered", "delivered after an outage, in its place")) }
            let claim =
                line.isOwn
                ? "sent by you, here or from another device"
                : line.isClaimed
                    ? "not sent by you: someone else used this name"
                    : "the name is the sender's claim; the network does not prove it"
            return lines + [.entry("proof", claim)]
        case .pending(let line):
            let state =
                switch line.state {
                case .typed: "typed, not yet saved"
                case .queued: "waits for a connection"
                case .sending: "on its way; the network has not confirmed it"
                case .failed(let words): words
                }
            return [
                .entry("from", network.identity.user), .entry("topic", line.topic),
                .entry("written", stamp(line.composedAt)),
                .entry("state", state), .entry("id", line.id), bytes,
            ]
        case .gap, .restart, .outage: return []
        }
    }
}

extension ConversationRow {
    /// The text; empty if this is no message.
    var text: String {
        switch self {
        case .message(let line): line.text
        case .pending(let line): line.text
        case .gap, .restart, .outage: ""
        }
    }

    var isMessage: Bool {
        switch self {
        case .message, .pending: true
        case .gap, .restart, .outage: false
        }
    }

    /// The name of someone else who wrote it; nil if they gave none.
    var author: String? {
        guard case .message(let line) = self, !line.isOwn, !line.name.isEmpty else { return nil }
        return String(line.name.prefix(64))
    }
}

extension Conversation {
    func row(of position: RowPosition) -> ConversationRow? {
        row(at: index(atOrAfter: position)).flatMap { $0.position == position ? $0 : nil }
    }

    /// The next message above or below a position.
    func message(from position: RowPosition, by step: Int) -> ConversationRow? {
        message(from: index(atOrAfter: position) + step, by: step)
    }

    /// The next message from an index on, or the next one that contains `text`.
    func message(from index: Int, by step: Int, with text: TextFind? = nil) -> ConversationRow? {
        var index = index
        while let row = row(at: index) {
            if row.isMessage, !isHidden(row), text?.isIn(row.text) ?? true { return row }
            index += step
        }
        return nil
    }
}

extension ConversationLayout {
    struct Hidden {
        var above = 0
        var below = 0
        var isWhole = false
    }

    /// How many lines of a message are above and below those that are shown.
    func hiddenLines(of position: RowPosition, in shown: [Line]) -> Hidden {
        let lines = lines(ofRow: conversation.index(atOrAfter: position))
        let count = lines.reduce(0) { $1.row == nil ? $0 : $0 + 1 }
        let places = shown.indices.filter { shown[$0].row?.position == position }
        guard let first = places.first, let last = places.last else {
            let isAbove = shown.first { $0.row != nil }?.row.map { position < $0.position } ?? false
            return isAbove
                ? Hidden(above: lines.count, isWhole: true) : Hidden(below: lines.count, isWhole: true)
        }
        let missing = count - places.count
        guard missing > 0 else { return Hidden() }
        if case .text(_, isFirst: true, _) = shown[first] { return Hidden(below: missing) }
        return last == shown.count - 1 && first > 0 ? Hidden(below: missing) : Hidden(above: missing)
    }

    /// Whether a message is the next one above or below those shown, so that scrolling by its lines shows it.
    func isNextToEdge(_ position: RowPosition) -> Bool {
        let shown = viewport.compactMap(\.row?.position)
        guard let first = shown.first, let last = shown.last else { return false }
        return conversation.message(from: first, by: -1)?.position == position
            || conversation.message(from: last, by: 1)?.position == position
    }
}
