import Relay
import Terminal

/// A joined topic or pattern; a welcome while there is none.
struct ConversationPane: Pane {
    let name: String?

    enum Action: String, KeyAction {
        static let title = "Conversation"
        static let tableName = "conversation"

        case up, down, toBeginning, toEnd, copy, quote, details, findPrevious, findNext, sendAgain, dropLine, open,
            escape

        var binding: KeyBinding {
            switch self {
            case .up: KeyBinding(.up, "the message above; within a long one a line")
            case .down: KeyBinding(.down, "the message below")
            case .toBeginning: KeyBinding(.home, "oldest message")
            case .toEnd: KeyBinding(.end, "newest message", hint: "newest")
            case .copy: KeyBinding(.character("y"), "copy the selected message", hint: "copy")
            case .quote: KeyBinding(.character("q"), "reply: quote it in the text", hint: "quote")
            case .details: KeyBinding(.character("i"), "what is known of it: id, sequence, times", hint: "details")
            case .findPrevious:
                KeyBinding(.character("n"), "after /find: the message above that has it", hint: "above")
            case .findNext: KeyBinding(.character("N"), "after /find: the one below", hint: "below")
            case .sendAgain: KeyBinding(.character("r"), "send the line again that was not sent", hint: "send again")
            case .dropLine: KeyBinding(.character("x"), "drop the line that was not sent", hint: "drop")
            case .open: KeyBinding(.enter, "go back to the text")
            case .escape: KeyBinding(.escape, "go back to the text, or to what was found", hint: "back")
            }
        }
    }

    func perform(_ action: Action, on model: ChatModel) -> ChatEffects {
        switch action {
        case .up: return goOn(by: -1, on: model)
        case .down: return goOn(by: 1, on: model)
        case .toBeginning: return model.scrollConversation(toBeginning: true)
        case .toEnd: return model.scrollConversation(toBeginning: false)
        case .copy: return model.selectedRow.map { model.copy(message: $0.text) } ?? []
        case .quote: if let row = model.selectedRow { model.quote(row) }
        case .details: if let row = model.selectedRow { model.lookAt(row) }
        case .findPrevious: model.findNext(by: -1)
        case .findNext: model.findNext(by: 1)
        case .sendAgain: return model.sendChosenAgain()
        case .dropLine: return model.dropChosen()
        case .open: model.screen.focus = .compose
        case .escape: model.escape()
        }
        return []
    }

    /// Goes to the next unsent line, if there is one, else to the next message; first to where a jump has led.
    private func goOn(by step: Int, on model: ChatModel) -> ChatEffects {
        !model.beginsAtLanding && model.chooseLine(by: step) ? [] : model.selectMessage(by: step)
    }

    /// With nothing unsent or selected, the letters that act on it begin a text.
    func use(of action: Action, by key: Key?, in model: ChatModel) -> KeyUse {
        switch action {
        case .copy, .quote, .details: model.selectedRow != nil ? .useful : .notTaken
        case .findPrevious, .findNext: model.screen.marks.find != nil ? .useful : .notTaken
        case .sendAgain, .dropLine: model.chosenLine != nil ? .useful : .notTaken
        case .toEnd: name == nil || model.topicInView?.scroll == .bottom ? .idle : .useful
        case .escape: model.screen.trail.isEmpty ? .idle : .useful
        case .up, .down, .toBeginning, .open: .useful
        }
    }

    /// Once a text is begun, an action applies to the message that was selected before it, and a find goes on with its
    /// words; an action for unsent lines applies to these, whatever is selected.
    func choose(_ action: Action, on model: ChatModel) -> ChatEffects {
        let before = model.screen
        model.screen.focus = .main
        model.selectAsBeforeText()
        switch action {
        case .findPrevious, .findNext:
            model.screen.marks.find = model.screen.marks.find ?? model.screen.marks.findBeforeText
        case .sendAgain where model.chosenLine == nil, .dropLine where model.chosenLine == nil:
            (model.screen.marks.selection, model.screen.marks.find) = (nil, nil)
        default: break
        }
        if use(of: action, by: nil, in: model) != .notTaken { return perform(action, on: model) }
        model.screen = before
        switch action {
        case .copy, .quote, .details: model.say(model.noSelectionWords)
        case .findPrevious, .findNext: model.say(ChatModel.noFindWords)
        case .sendAgain, .dropLine: model.say("Nothing is unsent here.")
        case .up, .down, .toBeginning, .toEnd, .open, .escape: break
        }
        return []
    }

    func click(at place: Position, _ layout: ScreenLayout, on model: ChatModel) -> ChatEffects {
        guard let name, let conversation = model.network.conversations.named(name) else { return [] }
        let lines = model.layout(of: conversation, in: layout.main).viewport
        let shownRow = place.row - layout.main.row
        // The lines end at the pane's lower edge.
        let index = shownRow - (layout.main.rows - lines.count)
        if lines.indices.contains(index), case .text(let text, _, let row) = lines[index], text.isPart,
            let reader = model.reader(of: row)
        {
            model.read(reader)
        } else {
            model.screen.marks.landing = nil
            model.chooseLine(at: shownRow)
            if model.chosenLine == nil, lines.indices.contains(index), let row = lines[index].row {
                model.select(row)
            }
        }
        return []
    }

    func scroll(up lines: Int, on model: ChatModel) -> ChatEffects { model.scrollConversation(up: lines) }

    func addressee(in model: ChatModel) -> Addressee {
        guard let name else { return .nobody("Join a topic first: /join chat.lobby", hint: "/join TOPIC") }
        let joined = model.network.conversations.isPattern(name)
        guard joined == false || joined == nil && (try? TopicPattern(name))?.isWildcard == false else {
            let words = "\(name) is a pattern for many topics. /join the one to write to."
            return .nobody(words, hint: "/join a topic to write")
        }
        guard joined != nil else {
            return .nobody("\(name) is not joined. /join \(name) to write there.", hint: "/join \(name) to write")
        }
        // Without a screen the core refuses the line, and keeps it with the reason.
        guard model.hasScreen, let words = model.readOnlyWords(of: name) else { return .topic(name) }
        return .nobody("\(words). Ask the network's administrator for access.", hint: words)
    }

    func draw(in frame: Frame) {
        guard let name else { return frame.drawWelcome() }
        if let conversation = frame.model.network.conversations.named(name) { frame.drawConversation(conversation) }
    }

    func position(in frame: Frame) -> String {
        guard let name else { return "" }
        guard !frame.model.network.conversations.isAtBottom(name),
            let conversation = frame.model.network.conversations.named(name)
        else { return "⇣ bottom" }
        if conversation.unread > 0 { return "↓ \(Wording.compact(conversation.unread)) new" }
        return frame.model.layout(of: conversation, in: frame.layout.main, texts: frame.texts).wordsBelow ?? "⇣ bottom"
    }
}
