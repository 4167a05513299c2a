import Relay
import Terminal

/// How a conversation's rows become lines of a pane.
struct ConversationLayout: ScrollableRows {
    let conversation: Conversation
    let area: Rect
    let zone: DisplayZone
    /// Dates of other years show their year.
    let now: Timestamp
    /// The unsent line that keys act on.
    let chosenID: String?
    let keys: KeyMap
    /// The name shown for own lines that were not sent.
    let user: String
    /// Texts that earlier frames have wrapped; nil to wrap anew.
    var texts: WrappedTexts?

    /// The most characters shown of one message.
    static let characterLimit = 16_384
    /// The most lines shown of one message.
    static let lineLimit = 200
    /// Milliseconds after which a message names its author again.
    static let authorTime: Int64 = 300_000

    /// Shown below a message that is cut. The frame names the key instead, if there is one.
    static let goesOn = SafeText("… /read reads the rest")

    static let newWords = "new"

    enum Line: Hashable {
        /// A line across the pane with words in it.
        case separator(Separator, String)
        /// A line of a message; the first one has the time and the name.
        case text(MarkedText, isFirst: Bool, row: ConversationRow)
        /// Why an own line was not sent.
        case failure(SafeText)

        /// The message that this line belongs to.
        var row: ConversationRow? {
            switch self {
            case .text(_, _, let row): row
            case .separator, .failure: nil
            }
        }
    }

    enum Separator: Hashable {
        case beginning
        case date
        case new
        case gap
        case outage
    }

    struct Columns: Hashable {
        let time: Int
        let name: Int
        let text: Int

        var indent: Int { 1 + (time > 0 ? time + 2 : 0) + name + 2 }
    }

    /// On a narrow pane the time is dropped first, then the name is cut.
    var widths: Columns {
        let time = area.columns >= 36 ? 5 : 0
        let name = conversation.nameColumns(in: area.columns)
        let fixed = 1 + (time > 0 ? time + 2 : 0) + name + 2 + 2
        return Columns(time: time, name: name, text: max(1, area.columns - fixed))
    }

    var rowCount: Int { conversation.count }

    /// The lines of the row at `index`, preceded by its separators.
    func lines(ofRow index: Int) -> [Line] {
        guard let row = conversation.row(at: index) else { return [] }
        var lines: [Line] = []
        if index == 0, let words = beginningWords { lines.append(.separator(.beginning, words)) }
        if conversation.isHidden(row) { return lines }
        if let date = dateLine(above: index, row) { lines.append(.separator(.date, date)) }
        if row.position == conversation.newMarker { lines.append(.separator(.new, Self.newWords)) }
        switch row {
        case .gap(_, let lost):
            lines.append(.separator(.gap, Self.gapWords(lost)))
        case .restart:
            lines.append(.separator(.gap, "the network began anew: here it goes on"))
        case .outage(_, let outage):
            lines.append(.separator(.outage, words(outage)))
        case .message, .pending:
            lines += wrapped(row).enumerated().map { .text($1, isFirst: $0 == 0, row: row) }
            if case .pending(let line) = row, case .failed(let reason) = line.state {
                let words = SafeText("\(reason) \(line.id == chosenID ? chosenOffer : "/resend or /discard")")
                lines += words.wrapped(columns: widths.text).prefix(4).map { .failure($0) }
            }
        }
        return lines
    }

    /// Whether only a part of a row's text is shown.
    func isCut(_ row: ConversationRow) -> Bool { row.isMessage && wrapped(row).last?.isPart == true }

    // MARK: Authors

    /// Whether a row continues the one above: its author wrote both within a short time, with nothing between, so that
    /// the name is not repeated. Without a time on each line nothing would tell such messages from lines of one.
    func goesOnFrom(_ row: ConversationRow) -> Bool {
        guard widths.time > 0, let author = author(of: row), let time = row.time else { return false }
        let index = conversation.index(atOrAfter: row.position)
        guard row.position != conversation.newMarker, let above = conversation.shownRow(above: index),
            let other = self.author(of: above), other == author, let earlier = above.time
        else { return false }
        // An unsent line has its reason below it.
        if case .pending(let line) = above, case .failed = line.state { return false }
        let (passed, isOverflow) = time.milliseconds.subtractingReportingOverflow(earlier.milliseconds)
        guard !isOverflow, passed.magnitude <= UInt64(Self.authorTime) else { return false }
        return CivilTime(time, zone: zone).dayNumber == CivilTime(earlier, zone: zone).dayNumber
    }

    /// Who wrote a row, and where. Someone who claims the person's name is someone else.
    private func author(of row: ConversationRow) -> (name: String, isOwn: Bool, topic: String)? {
        switch row {
        case .gap, .restart, .outage: nil
        case .message(let line): (line.shownName, line.isOwn, line.topic)
        case .pending(let line): (user, true, line.topic)
        }
    }

    // MARK: The viewport

    /// What is below the pane's edge, in words; nil if nothing is.
    var wordsBelow: String? { wordsBelow(bottomEdge, rows: area.rows) }

    var viewport: [Line] { visibleLines(rows: area.rows, above: bottomEdge).lines }

    var showsMarker: Bool { viewport.contains(.separator(.new, Self.newWords)) }

    /// The scroll position `lines` above the present one, below it if negative, kept inside the conversation.
    func scrolled(up lines: Int) -> Conversation.Scroll { scroll(at: moved(bottomEdge, up: lines, rows: area.rows)) }

    var beginning: Conversation.Scroll { scroll(at: oldestEdge(rows: area.rows)) }

    var showsBeginning: Bool {
        linesAbove(settled(bottomEdge, rows: area.rows), upTo: area.rows + 1) <= area.rows
    }

    private func scroll(at edge: PaneEdge?) -> Conversation.Scroll {
        guard let edge, let row = conversation.row(at: edge.index) else { return .bottom }
        return .row(row.position, hiddenLines: edge.hidden)
    }

    private var bottomEdge: PaneEdge {
        guard case .row(let position, let hidden) = conversation.scroll else { return newestEdge }
        let index = min(conversation.index(atOrAfter: position), conversation.count - 1)
        return PaneEdge(index: index, hidden: max(0, hidden))
    }

    // MARK: Parts

    /// What can be done with the unsent line that keys act on.
    private var chosenOffer: String {
        let again = keys.label(of: .sendAgain, in: ConversationPane.self) ?? "/resend"
        let drop = keys.label(of: .dropLine, in: ConversationPane.self) ?? "/discard"
        return "\(again) sends it again, \(drop) drops it"
    }

    private var beginningWords: String? {
        switch conversation.history {
        case .unknown: nil
        case .loading: "loading older messages …"
        case .more: "older messages: " + (keys.label(of: .pageUp).map { "\($0) or " } ?? "") + "/history"
        case .offline: "older messages come when connected"
        case .complete: "the beginning"
        }
    }

    /// The words in place of missing messages; `lost` is 0 if the network may have them.
    private static func gapWords(_ lost: UInt64) -> String {
        guard lost > 0 else { return "messages may be missing: they come when connected" }
        return "\(Wording.count(Int(clamping: lost), "message")) \(lost == 1 ? "is" : "are") gone"
    }

    /// The longest form of an outage's words that fits.
    private func words(_ outage: Outage) -> String {
        let clock = CivilTime(outage.began, zone: zone).clockWithSeconds
        let length = Wording.length(outage.lasted)
        let back = "back after \(length)"
        let times = outage.count == 2 ? "lost twice" : "lost \(outage.count) times"
        let last = "\(times), last \(clock)"
        let forms =
            outage.count > 1
            ? ["connection \(last), \(back)", "\(last), \(back)", last, times]
            : ["connection lost \(clock), \(back)", "lost \(clock), \(back)", back, "outage \(length)"]
        return forms.first { $0.count <= area.columns - 7 } ?? forms[3]
    }

    private func dateLine(above index: Int, _ row: ConversationRow) -> String? {
        guard let time = row.time else { return nil }
        let civil = CivilTime(time, zone: zone)
        let earlier = conversation.message(from: index - 1, by: -1)?.time
        if let earlier, CivilTime(earlier, zone: zone).dayNumber == civil.dayNumber { return nil }
        return civil.dateLine(currentYear: CivilTime(now, zone: zone).year)
    }

    /// The lines of a message, preceded by its topic if that is not the conversation's.
    private func wrapped(_ row: ConversationRow) -> [MarkedText] {
        var lead = ""
        if case .message(let line) = row, line.topic != conversation.name { lead = "[\(line.topic)] " }
        let (text, width) = (row.text, widths.text)
        return texts?.lines(of: text, lead: lead, columns: width) { broken(text, lead, width) }
            ?? broken(text, lead, width)
    }

    private func broken(_ text: String, _ lead: String, _ width: Int) -> [MarkedText] {
        if let folded = FoldedJSON(text, columns: width) {
            return SafeText(lead + folded.words).wrapped(columns: width).map { MarkedText(text: $0, isPart: true) }
        }
        let shown = text.utf8.count > Self.characterLimit ? text.prefix(Self.characterLimit) : text[...]
        let isCut = shown.endIndex < text.endIndex
        let whole = SafeText.lines(lead + shown)
        let markup = Markup.lines(whole, lead: SafeText(lead).clusters.count, isCut: isCut)
        let goesOn = [MarkedText(text: Self.goesOn, isPart: true)]
        var lines: [MarkedText] = []
        for (line, marks) in zip(whole, markup) {
            lines += MarkedText.wrapped(line, marks, columns: width)
            lines += MarkedText.names(of: line, marks, columns: width)
            if lines.count > Self.lineLimit { return lines.prefix(Self.lineLimit) + goesOn }
        }
        return isCut ? lines + goesOn : lines
    }
}

extension ChatModel {
    func layout(of conversation: Conversation) -> ConversationLayout {
        layout(of: conversation, in: layout(on: size).main)
    }

    func layout(of conversation: Conversation, in area: Rect, texts: WrappedTexts? = nil) -> ConversationLayout {
        ConversationLayout(
            conversation: conversation, area: area, zone: zone, now: now.wall,
            chosenID: screen.view.topic == conversation.name ? chosenLine?.id : nil, keys: settings.keys,
            user: network.identity.user, texts: texts)
    }
}
