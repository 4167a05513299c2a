import Terminal

/// A joined topic or pattern; a welcome while there is none.
struct ConversationPane: Pane {
    let name: String?

    static let title = "Conversation"
    static let keys: [KeyBinding] = [
        .bind(.up, [Key(.up)], "the message above; within a long one a line"),
        .bind(.down, [Key(.down)], "the message below"),
        .bind(.toBeginning, [Key(.home)], "oldest message"),
        .bind(.toEnd, [Key(.end)], "newest message", hint: "newest"),
        .bind(.copy, [Key(.character("y"))], "copy the selected message", hint: "copy"),
        .bind(.quote, [Key(.character("q"))], "reply: quote it in the text", hint: "quote"),
        .bind(.details, [Key(.character("i"))], "what is known of it: id, sequence, times", hint: "details"),
        .bind(.findPrevious, [Key(.character("n"))], "behind /find: the message above that has it", hint: "above"),
        .bind(.findNext, [Key(.character("N"))], "behind /find: the one below", hint: "below"),
        .bind(.sendAgain, [Key(.character("r"))], "send the line again that was not sent", hint: "send again"),
        .bind(.dropLine, [Key(.character("x"))], "drop the line that was not sent", hint: "drop"),
        .bind(.open, [Key(.enter)], "go back to the text"),
        .bind(.escape, [Key(.escape)], "go back to the text, or to what was found", hint: "back"),
    ]

    func perform(_ action: KeyAction, on model: inout ChatModel) -> ChatEffects {
        switch action {
        case .up: return goOn(by: -1, on: &model)
        case .down: return goOn(by: 1, on: &model)
        case .toBeginning: return model.scrollConversation(toBeginning: true)
        case .toEnd: return model.scrollConversation(toBeginning: false)
        case .copy: return model.copySelected()
        case .quote: model.quoteSelected()
        case .details: model.lookAtSelected()
        case .findPrevious: model.findNext(by: -1)
        case .findNext: model.findNext(by: 1)
        case .sendAgain: return model.sendChosenAgain()
        case .dropLine: return model.dropChosen()
        case .open: model.focus = .compose
        case .escape: model.escape()
        default: break
        }
        return []
    }

    /// Goes from one unsent line to the next, and from message to message; first to where a jump has led.
    private func goOn(by step: Int, on model: inout ChatModel) -> ChatEffects {
        !model.beginsAtLanding && model.chooseLine(by: step) ? [] : model.selectMessage(by: step)
    }

    /// Letters that are keys where something is unsent or selected begin a text where nothing is.
    func hasMeaning(_ action: KeyAction, in model: ChatModel) -> Bool {
        switch action {
        case .copy, .quote, .details: model.selectedRow != nil
        case .findPrevious, .findNext: model.find != nil
        case .sendAgain, .dropLine: model.chosenLine != nil
        default: true
        }
    }

    func click(at place: Position, _ layout: ScreenLayout, on model: inout ChatModel) -> ChatEffects {
        guard let name, let conversation = model.conversations.named(name) else { return [] }
        let texts = model.conversationLayout(conversation, columns: layout.main.columns)
        let lines = texts.viewport(rows: layout.main.rows).lines
        let shownRow = place.row - layout.main.row
        // The lines end at the pane's lower edge.
        let index = shownRow - (layout.main.rows - lines.count)
        if lines.indices.contains(index), case .text(let text, _, let row) = lines[index], text.isPart,
            let reader = model.reader(of: row)
        {
            model.read(reader)
        } else {
            model.landing = nil
            model.chooseLine(at: shownRow)
            if model.chosenLine == nil, lines.indices.contains(index) {
                model.selectMessage(at: lines[index], in: name)
            }
        }
        return []
    }

    func wholeText(in model: ChatModel) -> Reader? {
        name.flatMap { model.conversations.named($0) }.flatMap { model.cutMessage(in: $0) }
    }

    func scroll(up lines: Int, on model: inout ChatModel) -> ChatEffects { model.scrollConversation(up: lines) }

    func showNewest(on model: inout ChatModel) -> ChatEffects { model.scrollConversation(toBeginning: false) }

    func addressee(in model: ChatModel) -> Addressee {
        guard let name else { return .nobody("Join a topic first: /join chat.lobby") }
        guard model.conversations.named(name)?.isPattern == false else {
            return .nobody("\(name) is a pattern for many topics. /join the one to write to.")
        }
        // Without a screen the core refuses the line, and keeps it with the reason.
        guard model.hasScreen, let words = model.readOnlyWords(of: name) else { return .topic(name) }
        return .nobody("\(words). Ask the network's administrator for access.")
    }

    func placeholder(in model: ChatModel) -> String {
        guard let name else { return "/join TOPIC" }
        if model.conversations.named(name)?.isPattern == true { return "/join a topic to write" }
        return model.readOnlyWords(of: name) ?? "write to \(name)"
    }

    func draw(in frame: Frame) {
        guard let name else { return frame.drawWelcome() }
        if let conversation = frame.model.conversations.named(name) { frame.drawConversation(conversation) }
    }

    func position(in frame: Frame) -> String {
        guard let name else { return "" }
        guard let conversation = frame.model.conversations.named(name), conversation.scroll != .bottom else {
            return "⇣ bottom"
        }
        if conversation.unread > 0 { return "↓ \(Wording.compact(conversation.unread)) new" }
        let area = frame.layout.main
        let texts = frame.model.conversationLayout(conversation, columns: area.columns)
        return texts.wordsBelow(rows: area.rows) ?? "⇣ bottom"
    }

    func isUseful(_ action: KeyAction, in model: ChatModel) -> Bool {
        switch action {
        case .toEnd: name.map { model.conversations.named($0)?.scroll != .bottom } ?? false
        case .escape: !model.trail.isEmpty
        case .copy, .quote, .details, .findPrevious, .findNext: hasMeaning(action, in: model)
        case .sendAgain, .dropLine: model.chosenLine != nil
        default: true
        }
    }

    func sidebarIndex(in model: ChatModel) -> Int? {
        name.map { (model.conversations.place(of: $0) ?? 0) + 1 }
    }
}
