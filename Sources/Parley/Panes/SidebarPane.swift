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
    ]

    func perform(_ action: KeyAction, on model: inout ChatModel) -> [ChatEffect] {
        let cursor = model.sidebar.cursor
        switch action {
        case .up: model.sidebar.cursor -= model.sidebarRow(at: cursor - 1)?.isSelectable == true ? 1 : 0
        case .down: model.sidebar.cursor += model.sidebarRow(at: cursor + 1)?.isSelectable == true ? 1 : 0
        case .toBeginning: model.sidebar.cursor = 1
        case .toEnd: model.sidebar.cursor = model.sidebarCount - 1
        case .open: return open(cursor, on: &model)
        default: break
        }
        return []
    }

    func scroll(up lines: Int, on model: inout ChatModel) -> [ChatEffect] {
        model.sidebar.cursor = min(max(1, model.sidebar.cursor - lines), model.sidebarCount - 1)
        return []
    }

    func click(at place: Position, _ layout: ScreenLayout, on model: inout ChatModel) -> [ChatEffect] {
        guard let area = layout.sidebar else { return [] }
        let row = model.sidebar.firstVisible + place.row - area.row
        guard let target = model.sidebarRow(at: row), target.isSelectable else { return [] }
        model.sidebar.cursor = row
        return open(row, on: &model)
    }

    /// Opens what a row names.
    private func open(_ index: Int, on model: inout ChatModel) -> [ChatEffect] {
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

    func draw(in frame: inout Frame) {
        if let area = frame.layout.sidebar { frame.drawSidebar(area) }
    }
}
