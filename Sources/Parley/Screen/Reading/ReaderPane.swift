import Relay
import Terminal

/// A message or letter that is read in full, however long it is.
struct Reader: Equatable, Sendable {
    /// The author, the place and the time.
    let heading: String
    /// The author if it is someone else; nil for the person's own message, and for one without a name.
    let author: String?
    let text: String
    /// The file name proposed for saving a letter; nil for a message.
    let fileName: String?
    /// The letter, if it was sent from here: quoting it begins another to its recipient.
    var sent: KeptLetter?
    /// Whether only the beginning is here.
    var isCut = false
    /// Its lines; a very long one is split into several, so that only what is near the viewport is measured.
    let parts: [Substring]
    fileprivate(set) var place = Place.beginning
    fileprivate(set) var find: Find?
    fileprivate var focus = Focus.compose

    enum Place: Hashable, Sendable {
        case beginning
        case edge(PaneEdge)
        case end
    }

    struct Find: Hashable, Sendable {
        let text: TextFind
        fileprivate(set) var line: Line?
    }

    /// A line of a part, on a pane of some width.
    struct Line: Hashable, Comparable, Sendable {
        let part: Int
        let number: Int

        static func < (left: Line, right: Line) -> Bool { (left.part, left.number) < (right.part, right.number) }
    }

    /// The most characters of a part.
    static let partLength = 4_096

    init(_ text: String, heading: String, author: String? = nil, fileName: String? = nil) {
        self.fileName = fileName
        self.heading = heading
        self.author = author
        self.text = text
        var parts: [Substring] = []
        for line in text.split(omittingEmptySubsequences: false, whereSeparator: \.breaksLine) {
            var rest = line
            repeat {
                var part = rest.prefix(Self.partLength)
                if part.endIndex < rest.endIndex, let blank = part.lastIndex(where: \.isWhitespace) {
                    part = part[...blank]
                }
                parts.append(part)
                rest = rest[part.endIndex...]
            } while !rest.isEmpty
        }
        self.parts = parts
    }
}

/// A letter, or a message that a conversation shows in part, in full.
struct ReaderPane: Pane {
    let reader: Reader

    enum Action: String, KeyAction {
        static let title = "A message as a whole"
        static let tableName = "a-message-as-a-whole"

        case escape, up, down, toBeginning, toEnd, findNext, findPrevious, copy, quote, open

        var binding: KeyBinding {
            switch self {
            case .escape: KeyBinding(.escape, "close it", hint: "close")
            case .up: KeyBinding(.up, "a line up", hint: "scroll")
            case .down: KeyBinding(.down, "a line down")
            case .toBeginning: KeyBinding(.home, "its beginning", hint: "beginning")
            case .toEnd: KeyBinding(.end, "its end", hint: "end")
            case .findNext: KeyBinding(.character("n"), "after /find: the next line that has it", hint: "next")
            case .findPrevious: KeyBinding(.character("N"), "after /find: the one before", hint: "before")
            case .copy: KeyBinding(.character("y"), "copy it", hint: "copy")
            case .quote: KeyBinding(.character("q"), "reply: quote it in the text", hint: "quote")
            case .open: KeyBinding(.enter, "go back to the text")
            }
        }
    }

    func perform(_ action: Action, on model: ChatModel) -> ChatEffects {
        switch action {
        case .up: return scroll(up: 1, on: model)
        case .down: return scroll(up: -1, on: model)
        case .toBeginning: look(at: .beginning, on: model)
        case .toEnd: look(at: .end, on: model)
        case .findNext: findNext(by: 1, on: model)
        case .findPrevious: findNext(by: -1, on: model)
        case .copy: return model.copy(message: reader.text)
        case .quote:
            if let letter = reader.sent {
                model.quote(reader.text, sent: letter)
            } else {
                model.quote(reader.text, of: reader.author)
            }
        case .open: model.screen.focus = .compose
        case .escape: model.escape()
        }
        return []
    }

    /// A letter is answered with a letter, not quoted in a line; a sent one is followed by another.
    func use(of action: Action, by key: Key?, in model: ChatModel) -> KeyUse {
        switch action {
        case .findNext, .findPrevious: reader.find != nil ? .useful : .notTaken
        case .quote: reader.sent != nil || model.screen.trail.last?.conversation != nil ? .useful : .notTaken
        case .escape, .up, .down, .toBeginning, .toEnd, .copy, .open: .useful
        }
    }

    func choose(_ action: Action, on model: ChatModel) -> ChatEffects {
        guard use(of: action, by: nil, in: model) != .notTaken else {
            return model.tell(action == .quote ? "A letter is answered in its postbox." : ChatModel.noFindWords)
        }
        model.screen.focus = .main
        return perform(action, on: model)
    }

    // MARK: Finding

    /// Finds a text, from the beginning on.
    func find(_ words: String, on model: ChatModel) { findNext(Reader.Find(text: TextFind(words)), by: 1, on: model) }

    /// Goes to the next match, or to the previous one if `step` is negative.
    func findNext(by step: Int, on model: ChatModel) {
        if let find = reader.find { findNext(find, by: step, on: model) }
    }

    private func findNext(_ find: Reader.Find, by step: Int, on model: ChatModel) {
        let layout = layout(on: model)
        model.screen.view.reader?.find = find
        if let line = layout.line(with: find, by: step) {
            model.screen.view.reader?.find?.line = line
            model.screen.view.reader?.place = layout.place(showing: line)
            model.screen.focus = .main
        } else if find.line == nil {
            model.screen.view.reader?.find = nil
            model.say("Nothing in this message has \(find.text.words).", .failure)
        } else {
            model.say("No line \(step > 0 ? "below" : "above") has \(find.text.words).")
        }
    }

    private func layout(on model: ChatModel) -> ReaderLayout {
        ReaderLayout(reader: reader, area: model.layout(on: model.size).main)
    }

    private func look(at place: Reader.Place, on model: ChatModel) { model.screen.view.reader?.place = place }

    func scroll(up lines: Int, on model: ChatModel) -> ChatEffects {
        let layout = layout(on: model)
        let edge = layout.moved(layout.edge, up: lines, rows: layout.area.rows)
        look(at: edge.map { .edge($0) } ?? .end, on: model)
        return []
    }

    func escape(on model: ChatModel) -> Bool {
        model.screen.view = model.screen.trail.popLast() ?? model.fallbackView
        model.screen.focus = reader.focus
        return true
    }

    /// A line goes where it would go from the view below.
    func addressee(in model: ChatModel) -> Addressee {
        let below = model.screen.viewBelowReader
        return below.reader == nil ? below.pane.addressee(in: model) : .noTopic
    }

    func draw(in frame: Frame) { frame.drawReader(reader) }

    func position(in frame: Frame) -> String {
        let layout = ReaderLayout(reader: reader, area: frame.layout.main)
        return layout.wordsBelow(layout.edge, rows: layout.area.rows) ?? "⇣ end"
    }
}

extension ChatModel {
    /// Shows in full a message that the conversation shows in part, the selected one or else the lowest in view, or a
    /// letter; closes it if it is open.
    func readWhole() {
        if let reader = screen.view.reader {
            _ = ReaderPane(reader: reader).escape(on: self)
            return
        }
        if screen.view.isInbox {
            if network.inbox.openLetter == nil { network.inbox.openSelected() }
            if network.inbox.openLetter?.isUnreadable == true { return sayUnreadable() }
        }
        guard let reader = wholeText else { return say("Every message in view is whole.") }
        read(reader)
    }

    func read(_ text: Reader) {
        if screen.view.excerpt?.request != nil { return say("One moment: more is being read.") }
        var reader = text
        reader.focus = screen.focus
        screen.trail.append(screen.view)
        screen.view = .reader(reader)
        screen.focus = .main
    }

    /// What can be read in full: the open letter, or a message that is shown in part.
    var wholeText: Reader? {
        if let conversation = conversationInView { return cutMessage(in: conversation) }
        if let letter = screen.view.search?.openLetter { return reader(of: letter) }
        guard screen.view.isInbox, let letter = network.inbox.openLetter, !letter.isUnreadable else { return nil }
        return reader(
            letter.message, from: letter.from, in: network.inbox.fullName(ofBox: letter.postboxId),
            at: letter.createdAt, about: letter.subject, fileName: letter.fileName)
    }

    /// A message that a conversation shows in part: the one selected now, or when the text was begun, else the lowest
    /// in view.
    private func cutMessage(in conversation: Conversation) -> Reader? {
        let layout = layout(of: conversation)
        if let selected = selectedRow ?? rowBeforeText, layout.isCut(selected) { return reader(of: selected) }
        var seen: RowPosition?
        for case .text(_, _, let row) in layout.viewport.reversed() where row.position != seen {
            seen = row.position
            if layout.isCut(row) { return reader(of: row) }
        }
        return nil
    }

    func reader(of row: ConversationRow) -> Reader? {
        switch row {
        case .message(let line):
            reader(Self.readable(line.text), from: line.name, in: line.topic, at: line.time, of: row.author)
        case .pending(let line):
            reader(Self.readable(line.text), from: network.identity.user, in: line.topic, at: line.composedAt)
        case .gap, .restart, .outage: nil
        }
    }

    /// A message's text as it is read in full: JSON with a line for each value.
    private static func readable(_ text: String) -> String { FoldedJSON.indented(text) ?? text }

    func reader(
        _ text: String, from name: String?, in place: String, at time: Timestamp, of author: String? = nil,
        about subject: String? = nil, fileName: String? = nil
    ) -> Reader {
        let stamp = CivilTime(time, zone: zone).stamp
        let from = name.flatMap { $0.isEmpty ? nil : $0 } ?? "?"
        let heading = "from \(SafeText(name: from)) in \(place.prefix(64)), \(stamp)\(LetterSubject.suffix(subject))"
        return Reader(text, heading: heading, author: author, fileName: fileName)
    }
}
