import Terminal

struct SidebarPane: Pane {
    enum Action: String, KeyAction {
        static let title = "Topics"
        static let tableName = "topics"

        case open, up, down, toBeginning, toEnd, moveUp, moveDown, changeOrder

        var binding: KeyBinding {
            switch self {
            case .open: KeyBinding(.enter, "open", hint: "open")
            case .up: KeyBinding(.up, "up")
            case .down: KeyBinding(.down, "down")
            case .toBeginning: KeyBinding(.home, "first")
            case .toEnd: KeyBinding(.end, "last")
            case .moveUp: KeyBinding([Key(.up, .shift), .alt("k")], "move the topic up")
            case .moveDown: KeyBinding([Key(.down, .shift), .alt("j")], "move the topic down")
            case .changeOrder: KeyBinding([.alt("o")], "order the topics by activity, or by hand")
            }
        }
    }

    func perform(_ action: Action, on model: ChatModel) -> ChatEffects {
        let cursor = model.screen.sidebar.cursor
        switch action {
        case .up: model.screen.sidebar.cursor = model.sidebarRow(from: cursor, by: -1)
        case .down: model.screen.sidebar.cursor = model.sidebarRow(from: cursor, by: 1)
        case .toBeginning: model.screen.sidebar.cursor = model.sidebarRow(from: -1, by: 1)
        case .toEnd: model.screen.sidebar.cursor = model.sidebarCount - 1
        case .open: return open(cursor, on: model)
        case .moveUp: move(by: -1, on: model)
        case .moveDown: move(by: 1, on: model)
        case .changeOrder: changeOrder(on: model)
        }
        return []
    }

    func choose(_ action: Action, on model: ChatModel) -> ChatEffects {
        model.screen.focus = .sidebar
        return perform(action, on: model)
    }

    private func move(by step: Int, on model: ChatModel) {
        guard case .topic(let index) = model.sidebarRow(at: model.screen.sidebar.cursor) else { return }
        guard !model.network.conversations.isByActivity else {
            return model.say("The topics are sorted by activity; order them by hand to move them.")
        }
        if model.network.conversations.move(model.network.conversations.all[index].name, by: step) {
            model.screen.sidebar.cursor += step
        }
    }

    private func changeOrder(on model: ChatModel) {
        var name: String?
        if case .topic(let index) = model.sidebarRow(at: model.screen.sidebar.cursor) {
            name = model.network.conversations.all[index].name
        }
        let isByHand = !model.network.conversations.isByActivity
        model.network.conversations.show(byActivity: isByHand)
        if let place = name.flatMap({ model.network.conversations.place(of: $0) }) {
            model.screen.sidebar.cursor = model.sidebarStart + place + 1
        }
        model.say(isByHand ? "The topic with the newest message comes first." : "The topics are in your own order.")
    }

    func scroll(up lines: Int, on model: ChatModel) -> ChatEffects {
        let first = model.sidebarRow(from: -1, by: 1)
        let cursor = min(max(first, model.screen.sidebar.cursor - lines), model.sidebarCount - 1)
        let isSelectable = model.sidebarRow(at: cursor)?.isSelectable == true
        model.screen.sidebar.cursor = isSelectable ? cursor : model.sidebarRow(from: cursor, by: lines > 0 ? -1 : 1)
        return []
    }

    func click(at place: Position, _ layout: ScreenLayout, on model: ChatModel) -> ChatEffects {
        guard let area = layout.sidebar else { return [] }
        let row = model.screen.sidebar.firstVisible + place.row - area.row
        guard let target = model.sidebarRow(at: row), target.isSelectable else { return [] }
        model.screen.sidebar.cursor = row
        return open(row, on: model)
    }

    private func open(_ index: Int, on model: ChatModel) -> ChatEffects {
        switch model.sidebarRow(at: index) {
        case .topic(let place):
            model.show(.conversation(model.network.conversations.all[place].name))
            model.screen.focus = .compose
        case .allLetters:
            model.screen.focus = .main
            return model.openInbox(nil)
        case .postbox(let place):
            model.screen.focus = .main
            return model.openInbox(model.network.inbox.boxes[place].id)
        case .chat(let place): return .screen(.showChat(place, .last))
        case .topicElsewhere(let chat, let place):
            return .screen(.showChat(chat, .place(.topic(model.window.chats[chat].topics[place].name))))
        case .lettersElsewhere(let chat): return .screen(.showChat(chat, .place(.letters(nil))))
        case .topicsHeading, nil: break
        }
        return []
    }

    func settle(_ layout: ScreenLayout, on model: ChatModel) {
        if model.screen.focus != .sidebar {
            model.screen.sidebar.cursor = model.shownSidebarIndex ?? model.sidebarStart + 1
        }
        model.screen.sidebar.cursor = min(max(0, model.screen.sidebar.cursor), model.sidebarCount - 1)
        guard let area = layout.sidebar else { return }
        model.screen.sidebar.firstVisible = ChatModel.window(
            around: model.screen.sidebar.cursor, from: model.screen.sidebar.firstVisible, rows: area.rows,
            count: model.sidebarCount)
    }

    func draw(in frame: Frame) {
        if let area = frame.layout.sidebar { frame.drawSidebar(area) }
    }
}
