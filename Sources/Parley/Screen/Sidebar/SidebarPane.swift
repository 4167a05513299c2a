import Terminal

/// The joined topics and the postboxes.
struct SidebarPane: Pane {
    static let title = "Topics"
    static let keys: [KeyBinding] = [
        .bind(.open, [Key(.enter)], "open", hint: "open"),
        .bind(.up, [Key(.up)], "up"),
        .bind(.down, [Key(.down)], "down"),
        .bind(.toBeginning, [Key(.home)], "first"),
        .bind(.toEnd, [Key(.end)], "last"),
        .bind(.moveUp, [Key(.up, .shift), .alt("k")], "move the topic up"),
        .bind(.moveDown, [Key(.down, .shift), .alt("j")], "move the topic down"),
        .bind(.changeOrder, [.alt("o")], "order the topics by activity, or by hand"),
    ]

    func perform(_ action: KeyAction, on model: inout ChatModel) -> ChatEffects {
        let cursor = model.sidebar.cursor
        switch action {
        case .up: model.sidebar.cursor -= model.sidebarRow(at: cursor - 1)?.isSelectable == true ? 1 : 0
        case .down: model.sidebar.cursor += model.sidebarRow(at: cursor + 1)?.isSelectable == true ? 1 : 0
        case .toBeginning: model.sidebar.cursor = 1
        case .toEnd: model.sidebar.cursor = model.sidebarCount - 1
        case .open: return open(cursor, on: &model)
        case .moveUp: move(by: -1, on: &model)
        case .moveDown: move(by: 1, on: &model)
        case .changeOrder: changeOrder(on: &model)
        default: break
        }
        return []
    }

    /// Moves the selected topic, and the cursor with it.
    private func move(by step: Int, on model: inout ChatModel) {
        guard case .topic(let index) = model.sidebarRow(at: model.sidebar.cursor) else { return }
        guard model.conversations.order == .byHand else {
            model.say("The topics stand by activity; order them by hand to move them.")
            return
        }
        if model.conversations.move(model.conversations.all[index].name, by: step) { model.sidebar.cursor += step }
    }

    /// Orders the topics the other way; the cursor stays on its topic.
    private func changeOrder(on model: inout ChatModel) {
        var name: String?
        if case .topic(let index) = model.sidebarRow(at: model.sidebar.cursor) {
            name = model.conversations.all[index].name
        }
        let isByHand = model.conversations.order == .byHand
        model.conversations.show(in: isByHand ? .byActivity : .byHand)
        if let place = name.flatMap({ model.conversations.place(of: $0) }) { model.sidebar.cursor = place + 1 }
        model.say(isByHand ? "The topic with the newest message stands first." : "The topics stand as you put them.")
    }

    func scroll(up lines: Int, on model: inout ChatModel) -> ChatEffects {
        model.sidebar.cursor = min(max(1, model.sidebar.cursor - lines), model.sidebarCount - 1)
        return []
    }

    func click(at place: Position, _ layout: ScreenLayout, on model: inout ChatModel) -> ChatEffects {
        guard let area = layout.sidebar else { return [] }
        let row = model.sidebar.firstVisible + place.row - area.row
        guard let target = model.sidebarRow(at: row), target.isSelectable else { return [] }
        model.sidebar.cursor = row
        return open(row, on: &model)
    }

    /// Opens what a row names.
    private func open(_ index: Int, on model: inout ChatModel) -> ChatEffects {
        switch model.sidebarRow(at: index) {
        case .topic(let place):
            model.show(.conversation(model.conversations.all[place].name))
            model.focus = .compose
        case .allLetters:
            model.focus = .main
            return model.openInbox(nil)
        case .postbox(let place):
            model.focus = .main
            return model.openInbox(model.inbox.boxes[place].id)
        case .topicsHeading, nil: break
        }
        return []
    }

    func settle(_ layout: ScreenLayout, on model: inout ChatModel) {
        if model.focus != .sidebar { model.sidebar.cursor = model.view.pane.sidebarIndex(in: model) ?? 1 }
        model.sidebar.cursor = min(max(0, model.sidebar.cursor), model.sidebarCount - 1)
        guard let area = layout.sidebar else { return }
        model.sidebar.firstVisible = ChatModel.window(
            around: model.sidebar.cursor, from: model.sidebar.firstVisible, rows: area.rows, count: model.sidebarCount)
    }

    func draw(in frame: Frame) {
        if let area = frame.layout.sidebar { frame.drawSidebar(area) }
    }
}
