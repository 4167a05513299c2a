import Relay
import Terminal

/// A message that was found, marked in its conversation or an excerpt of that.
struct FoundMark: Hashable, Sendable {
    let conversation: String
    let position: RowPosition
    let query: SearchQuery
    /// The conversation's scroll position before; nil in an excerpt.
    var scrollBefore: Conversation.Scroll?
}

/// A part of a conversation's past from the local store, around a message that was found.
struct Excerpt: Equatable, Sendable {
    let message: FoundMessage
    /// The rows, under the name of their conversation.
    var conversation: Conversation
    /// The part being read; nil if none is.
    var request: UInt64?
    /// Whether the store has no older messages.
    var isOldest = false
    /// Whether the store has no newer messages.
    var isNewest = false
    /// Why there is nothing here.
    var failure: String?

    /// The number of messages read at once, before and after a place.
    static let portion = 100
}

/// A part of what the local store has of a conversation.
struct ExcerptPart: Equatable, Sendable {
    enum Direction: Hashable, Sendable {
        case around
        case before
        case after
    }

    var direction: Direction
    var messages: [TopicMessage]
    /// Gaps whose messages no stream has any more.
    var gaps: [KeptGap] = []
    /// Whether the store has no older messages; unknown for a part after a place.
    var isOldest = false
    /// Whether the store has no newer messages; unknown for a part before a place.
    var isNewest = false
}

/// Messages around one that was found, which the conversation itself has not loaded.
struct ExcerptPane: Pane {
    let excerpt: Excerpt

    enum Action: String, KeyAction {
        static let title = "Around what was found"
        static let tableName = "around-what-was-found"

        case escape, up, down, toBeginning, toEnd, copy, quote, findPrevious, findNext, open

        var binding: KeyBinding {
            switch self {
            case .escape: KeyBinding(.escape, "go back to what was found", hint: "back")
            case .up: KeyBinding(.up, "a line up")
            case .down: KeyBinding(.down, "a line down")
            case .toBeginning: KeyBinding(.home, "the message that was found", hint: "what was found")
            case .toEnd: KeyBinding(.end, "newest message of the conversation", hint: "newest")
            case .copy: KeyBinding(.character("y"), "copy what was found, or what /find has led to", hint: "copy")
            case .quote: KeyBinding(.character("q"), "reply: quote it in the text", hint: "quote")
            case .findPrevious:
                KeyBinding(.character("n"), "after /find: the message above that has it", hint: "above")
            case .findNext: KeyBinding(.character("N"), "after /find: the one below", hint: "below")
            case .open: KeyBinding(.enter, "go back to the text")
            }
        }
    }

    func perform(_ action: Action, on model: ChatModel) -> ChatEffects {
        switch action {
        case .up: return scroll(up: 1, on: model)
        case .down: return scroll(up: -1, on: model)
        case .toBeginning:
            model.scrollExcerptToFound()
            // What was looked for is out of view; keys act on the message that was found again.
            (model.screen.marks.selection, model.screen.marks.find) = (nil, nil)
        case .toEnd: return showNewest(on: model)
        case .copy: return message(in: model).map { model.copy(message: $0.text) } ?? []
        case .quote: if let row = message(in: model) { model.quote(row.text, of: row.author) }
        case .findPrevious: model.findNext(by: -1)
        case .findNext: model.findNext(by: 1)
        case .open: model.screen.focus = .compose
        case .escape: model.escape()
        }
        return []
    }

    /// Letters that are keys begin a text if there is nothing for these keys to act on.
    func use(of action: Action, by key: Key?, in model: ChatModel) -> KeyUse {
        switch action {
        case .copy, .quote: message(in: model) != nil ? .useful : .notTaken
        case .findPrevious, .findNext: model.screen.marks.find != nil ? .useful : .notTaken
        case .escape, .up, .down, .toBeginning, .toEnd, .open: .useful
        }
    }

    /// Once a text is begun, an action applies to what was selected or looked for before it.
    func choose(_ action: Action, on model: ChatModel) -> ChatEffects {
        let before = model.screen
        model.screen.focus = .main
        model.selectAsBeforeText()
        let isFind = action == .findPrevious || action == .findNext
        if isFind { model.screen.marks.find = model.screen.marks.find ?? model.screen.marks.findBeforeText }
        if use(of: action, by: nil, in: model) != .notTaken { return perform(action, on: model) }
        model.screen = before
        return model.tell(isFind ? ChatModel.noFindWords : model.noSelectionWords)
    }

    /// The message that keys act on: the selected one, or the one that was found.
    private func message(in model: ChatModel) -> ConversationRow? {
        model.selectedRow ?? excerpt.conversation.row(of: .message(excerpt.message.place.sequence))
    }

    func scroll(up lines: Int, on model: ChatModel) -> ChatEffects {
        let layout = model.layout(of: excerpt.conversation)
        guard !layout.area.isEmpty else { return [] }
        let scroll = layout.scrolled(up: lines)
        model.scroll(to: scroll)
        if lines > 0, layout.showsBeginning { return model.readExcerpt(.before) }
        return lines < 0 && scroll == .bottom ? model.readExcerpt(.after) : []
    }

    /// Goes to the conversation itself, and joins it if necessary.
    private func showNewest(on model: ChatModel) -> ChatEffects {
        let name = excerpt.conversation.name
        guard model.network.conversations.index(of: name) != nil else { return model.join(name) }
        model.network.conversations.update(name) { $0.scroll = .bottom }
        model.show(.conversation(name))
        return []
    }

    func addressee(in model: ChatModel) -> Addressee {
        ConversationPane(name: excerpt.conversation.name).addressee(in: model)
    }

    func draw(in frame: Frame) { frame.drawExcerpt(excerpt) }

    func position(in frame: Frame) -> String { excerpt.request == nil ? "in the past" : "reading …" }
}

extension ChatModel {
    /// Goes to a message that was found: in its conversation if that has it, else in an excerpt of it.
    func openFound(_ message: FoundMessage, _ query: SearchQuery) -> ChatEffects {
        let back = screen.trail + [screen.view]
        let name = network.conversations.home(of: message.topic) ?? message.topic
        let position = RowPosition.message(message.place.sequence)
        var mark = FoundMark(conversation: name, position: position, query: query)
        // Without a screen, the message is printed with those around it, even if they were printed before.
        if hasScreen, let conversation = network.conversations.named(name), conversation.has(message) {
            show(.conversation(name))
            scroll(to: layout(of: conversation).showing(position))
            land(at: position, in: name)
            mark.scrollBefore = conversation.scroll
        } else {
            let isPattern = (try? TopicPattern(name))?.isWildcard ?? false
            var conversation = Conversation(name: name, isPattern: isPattern)
            conversation.recognize(mention)
            show(.excerpt(Excerpt(message: message, conversation: conversation)))
        }
        screen.trail = back
        screen.marks.found = mark
        // A selection elsewhere no longer applies.
        (screen.marks.selection, screen.marks.find) = (nil, nil)
        screen.focus = .main
        return readExcerpt(.around)
    }

    /// Reads a part of what the store has, unless one is being read or there is none.
    func readExcerpt(_ direction: ExcerptPart.Direction) -> ChatEffects {
        guard let excerpt = screen.view.excerpt, excerpt.request == nil, excerpt.failure == nil else { return [] }
        var place = excerpt.message.place
        let rows = excerpt.conversation.rows
        switch direction {
        case .around: break
        case .before:
            // Older ones would push out newer ones, which could not be reached from there.
            guard !excerpt.isOldest, rows.count + Excerpt.portion <= Conversation.rowLimit,
                let first = rows.first?.position.sequence
            else { return [] }
            place.sequence = first
        case .after:
            guard !excerpt.isNewest, let last = rows.last?.position.sequence else { return [] }
            place.sequence = last
        }
        let request = newNumber()
        screen.view.excerpt?.request = request
        screen.view.excerpt?.conversation.history = direction == .after ? .unknown : .loading
        return [
            .search(
                .readAround(
                    request: request, topic: excerpt.conversation.name, place, direction, limit: Excerpt.portion))
        ]
    }

    func takeExcerpt(_ part: ExcerptPart, of request: UInt64) {
        guard var excerpt = screen.view.excerpt, excerpt.request == request else { return }
        excerpt.request = nil
        // Rows added after the last one do not move what the person looks at.
        if part.direction == .after, excerpt.conversation.scroll == .bottom,
            let last = excerpt.conversation.rows.last?.position
        {
            excerpt.conversation.scroll = .row(last, hiddenLines: 0)
        }
        let first = excerpt.conversation.rows.first?.position
        let kept = KeptTopic(messages: part.messages, gaps: part.gaps, isComplete: false, readThrough: .max)
        excerpt.conversation.restore(kept, user: network.identity.ownName)
        // What the network has beyond it is not known here.
        excerpt.conversation.history = .unknown
        if part.direction != .after { excerpt.isOldest = part.isOldest }
        if part.direction != .before { excerpt.isNewest = part.isNewest }
        // If there are too many rows, the oldest are dropped.
        if part.direction == .after, excerpt.conversation.rows.first?.position != first { excerpt.isOldest = false }
        let sequence = excerpt.message.place.sequence
        if part.direction == .around, !part.messages.contains(where: { $0.sequence == sequence }) {
            excerpt.failure = "The message is no longer kept on this machine."
        }
        screen.view = .excerpt(excerpt)
        if part.direction == .around { scrollExcerptToFound() }
    }

    func failExcerpt(_ words: String, of request: UInt64) {
        guard let excerpt = screen.view.excerpt, excerpt.request == request else { return }
        screen.view.excerpt?.request = nil
        screen.view.excerpt?.conversation.history = .unknown
        guard excerpt.conversation.rows.isEmpty else { return say(words, .failure) }
        screen.view.excerpt?.failure = words
    }

    fileprivate func scrollExcerptToFound() {
        guard let excerpt = screen.view.excerpt else { return }
        scroll(to: layout(of: excerpt.conversation).showing(.message(excerpt.message.place.sequence)))
    }
}

extension Conversation {
    /// Whether a message that was found is among the rows. One with the same sequence may be from another incarnation
    /// of the stream.
    fileprivate func has(_ message: FoundMessage) -> Bool {
        let index = index(atOrAfter: .message(message.place.sequence))
        guard case .message(let line)? = row(at: index) else { return false }
        return line.sequence == message.place.sequence && line.topic == message.topic && line.id == message.id
    }
}

extension ConversationLayout {
    /// The scroll position that shows a row in the middle, or a long one from its beginning.
    func showing(_ position: RowPosition) -> Conversation.Scroll {
        var index = conversation.index(atOrAfter: position)
        let height = height(ofRow: index)
        guard height <= area.rows else { return .row(position, hiddenLines: height - area.rows) }
        var below = (area.rows - height) / 2
        while below > 0, index + 1 < conversation.count {
            index += 1
            below -= self.height(ofRow: index)
        }
        guard below <= 0, let row = conversation.row(at: index) else { return .bottom }
        return .row(row.position, hiddenLines: -below)
    }
}
