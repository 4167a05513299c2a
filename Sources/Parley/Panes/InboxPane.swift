import Terminal

/// The letters of one postbox, by its id, or of all. None of its keys is a letter: a sentence that is typed here goes to
/// the text, as it does everywhere.
struct InboxPane: Pane {
    let box: String?

    static let title = "Postbox"
    static let keys: [KeyBinding] = [
        .bind(.open, [Key(.enter)], "open the letter, or close it", hint: "read"),
        .bind(.mark, [.plain(" "), Key(.insert)], "mark, or unmark", hint: "mark"),
        .bind(.delete, [Key(.delete), .alt("d")], "delete the marked letters, or this one", hint: "delete"),
        .bind(.reply, [.alt("r")], "reply", hint: "reply"),
        .bind(.write, [.alt("c")], "write a letter"),
        .bind(.nextPage, [.alt("n")], "next page", hint: "next page"),
        .bind(.previousPage, [.alt("p")], "previous page"),
        .bind(.refresh, [.control("r")], "list again"),
        .bind(.markAll, [.control("a")], "mark all on this page, or none"),
        .bind(.up, [Key(.up)], "up"),
        .bind(.down, [Key(.down)], "down"),
        .bind(.toBeginning, [Key(.home)], "first letter"),
        .bind(.toEnd, [Key(.end)], "last letter"),
    ]

    func perform(_ action: KeyAction, on model: inout ChatModel) -> [ChatEffect] {
        if model.inbox.hold(.action(action)) { return [] }
        switch action {
        case .up: select(model.inbox.selected - 1, on: &model)
        case .down: select(model.inbox.selected + 1, on: &model)
        case .toBeginning: select(0, on: &model)
        case .toEnd: select(model.inbox.letters.count - 1, on: &model)
        case .open:
            if model.inbox.open != nil, model.inbox.open == model.inbox.selectedLetter?.id {
                model.inbox.open = nil
            } else {
                model.inbox.openSelected()
            }
        case .mark:
            guard let letter = model.inbox.selectedLetter else { break }
            toggleMark(letter.id, on: &model)
            model.inbox.selected = min(model.inbox.selected + 1, model.inbox.letters.count - 1)
        case .markAll:
            let all = Set(model.inbox.letters.map(\.id))
            model.inbox.marked = model.inbox.marked == all ? [] : all
        case .delete: model.askToDelete()
        case .reply: model.reply()
        case .write: model.beginLetter()
        case .nextPage: return model.nextPage()
        case .previousPage: return model.previousPage()
        case .refresh: return model.refreshInbox()
        default: break
        }
        return []
    }

    /// A space marks; while something is being written it goes on with that.
    func takes(_ key: Key, as action: KeyAction, in model: ChatModel) -> Bool {
        key != .plain(" ") || model.compose.isEmpty
    }

    /// Selects a letter; an open reader follows.
    private func select(_ index: Int, on model: inout ChatModel) {
        let before = model.inbox.selected
        model.inbox.selected = index
        model.inbox.clampSelection()
        if model.inbox.open != nil, model.inbox.selected != before { model.inbox.openSelected() }
    }

    private func toggleMark(_ id: String, on model: inout ChatModel) {
        if model.inbox.marked.remove(id) == nil { model.inbox.marked.insert(id) }
    }

    /// Scrolls the open letter, or moves in the table.
    func scroll(up lines: Int, on model: inout ChatModel) -> [ChatEffect] {
        if model.inbox.hold(.scroll(up: lines)) { return [] }
        if model.inbox.openLetter != nil {
            let last = InboxLayout(model: model, area: model.layout(on: model.size).main).lastReaderScroll
            model.inbox.readerScroll = min(max(0, model.inbox.readerScroll - lines), last)
        } else {
            model.inbox.selected -= lines
            model.inbox.clampSelection()
        }
        return []
    }

    /// A click selects a letter, a second one opens it; one on the mark column marks it.
    func click(at place: Position, _ layout: ScreenLayout, on model: inout ChatModel) -> [ChatEffect] {
        let table = InboxLayout(model: model, area: layout.main).table
        let index = model.inbox.firstVisible + place.row - table.row
        guard table.contains(place), model.inbox.letters.indices.contains(index) else { return [] }
        if place.column - table.column < InboxLayout.markColumns {
            toggleMark(model.inbox.letters[index].id, on: &model)
            model.inbox.selected = index
        } else if model.inbox.selected == index {
            model.inbox.openSelected()
        } else {
            model.inbox.selected = index
            if model.inbox.open != nil { model.inbox.openSelected() }
        }
        return []
    }

    func escape(on model: inout ChatModel) -> Bool {
        guard model.inbox.open != nil else { return false }
        model.inbox.open = nil
        return true
    }

    func settle(_ layout: ScreenLayout, on model: inout ChatModel) {
        // Whoever has gone on to write is not to be asked something in the middle of it.
        if model.focus != .main || model.overlay != nil { model.inbox.dropHeld() }
        let table = InboxLayout(model: model, area: layout.main).table
        model.inbox.firstVisible = ChatModel.window(
            around: model.inbox.selected, from: model.inbox.firstVisible, rows: table.rows,
            count: model.inbox.letters.count)
    }

    func wholeText(in model: ChatModel) -> Reader? {
        guard let letter = model.inbox.openLetter else { return nil }
        let box = model.inbox.name(ofBox: letter.postboxId)
        return model.reader(letter.message, from: letter.from, in: box, at: letter.createdAt)
    }

    func addressee(in model: ChatModel) -> Addressee {
        let reply = model.settings.keys.label(of: .reply, in: Self.self).map { "\($0) replies, " } ?? ""
        return .nobody("This is the postbox: \(reply)/post USER/POSTBOX TEXT writes a letter.")
    }

    func placeholder(in model: ChatModel) -> String {
        let reply = model.settings.keys.label(of: .reply, in: Self.self).map { ", or \($0) to reply" } ?? ""
        return "/post USER/POSTBOX TEXT" + reply
    }

    func draw(in frame: inout Frame) { frame.drawInbox(box) }

    func position(in frame: Frame) -> String {
        let inbox = frame.model.inbox
        let count = inbox.letters.count
        return count == 0 ? "0/0" : "\(min(inbox.selected + 1, count))/\(count)"
    }

    func isUseful(_ action: KeyAction, in model: ChatModel) -> Bool {
        switch action {
        case .open, .mark, .delete, .reply: model.inbox.selectedLetter != nil
        case .nextPage: model.inbox.hasMore
        default: true
        }
    }

    func sidebarIndex(in model: ChatModel) -> Int? {
        let heading = model.conversations.count + 1
        guard let box, let index = model.inbox.boxes.firstIndex(where: { $0.id == box }) else { return heading }
        return heading + 1 + index
    }
}
