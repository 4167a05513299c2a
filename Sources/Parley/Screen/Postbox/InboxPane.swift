import Relay
import Terminal

/// The letters of one postbox, by its id, or of all. None of its keys is a letter: a sentence that is typed here goes
/// to the text, as it does everywhere.
struct InboxPane: Pane {
    let box: String?

    static let title = "Postbox"
    static let keys: [KeyBinding] = [
        .bind(.open, [Key(.enter)], "open the letter, or close it", hint: "read"),
        .bind(.undo, [.alt("u")], "undo the last deletion, for some seconds", hint: "undo"),
        .bind(.mark, [.plain(" "), Key(.insert)], "mark, or unmark", hint: "mark"),
        .bind(.delete, [Key(.delete), .alt("d")], "delete the marked letters, or this one", hint: "delete"),
        .bind(.reply, [.alt("r")], "reply to the letter", hint: "reply"),
        .bind(.nextPage, [.alt("n")], "next page", hint: "next page"),
        .bind(.previousPage, [.alt("p")], "previous page"),
        .bind(.firstPage, [.alt("<"), Key(.home, .control)], "first page"),
        .bind(.lastPage, [.alt(">"), Key(.end, .control)], "last page"),
        .bind(.filter, [.alt("l")], "filter letters that have some words, or is:unread", hint: "filter"),
        .bind(.sortBy, [.alt("b")], "sort the page by sender, by postbox, by age"),
        .bind(.changeOrder, [.alt("o")], "list the oldest letters first, or the newest"),
        .bind(.refresh, [.control("r")], "list again"),
        .bind(.markRange, [.alt("m")], "mark from the last mark to here"),
        .bind(.markAll, [.control("a")], "mark all on this page, or none"),
        .bind(.markMatching, [.alt("*")], "mark all that match, here or elsewhere; Esc stops"),
        .bind(.unmarkAll, [.alt("t")], "take all marks away, on every page"),
        .bind(.write, [.alt("c")], "write a letter"),
        .bind(.quote, [.alt("q")], "reply below what the letter says"),
        .bind(.forward, [.alt("f")], "send the letter on"),
        .bind(.save, [.alt("s")], "save the letter in a file"),
        .bind(.up, [Key(.up)], "up"),
        .bind(.down, [Key(.down)], "down"),
        .bind(.toBeginning, [Key(.home)], "first letter"),
        .bind(.toEnd, [Key(.end)], "last letter"),
    ]

    func perform(_ action: KeyAction, on model: inout ChatModel) -> ChatEffects {
        if model.inbox.hold(.action(action)) { return [] }
        if model.inbox.finding != nil, [.nextPage, .previousPage, .firstPage, .lastPage].contains(action) {
            model.say("A filtered list has no pages: it has the letters of all of them.")
            return []
        }
        switch action {
        case .up: select(model.inbox.selected - 1, on: &model)
        case .down: select(model.inbox.selected + 1, on: &model)
        case .toBeginning: select(0, on: &model)
        case .toEnd: select(model.inbox.letters.count - 1, on: &model)
        case .open: open(on: &model)
        case .mark:
            guard let letter = model.inbox.selectedLetter else { break }
            toggleMark(letter, on: &model)
            model.inbox.selected = min(model.inbox.selected + 1, model.inbox.letters.count - 1)
        case .markRange: model.markRange()
        case .markAll: model.markAllShown()
        case .markMatching: return model.markMatching()
        case .unmarkAll: model.inbox.unmarkAll()
        case .delete:
            if model.hasHiddenMarks {
                model.askToDelete()
            } else if !model.isStillMarking() {
                let ids = model.inbox.lettersToDelete
                model.inbox.delete(ids, now: model.now.instant, isUndoable: model.hasScreen)
            }
        case .undo: model.undoDeletion()
        case .reply: model.reply()
        case .quote: model.reply(quotes: true)
        case .forward: model.forward()
        case .save: model.proposeFile()
        case .write: model.beginLetter()
        case .nextPage: return model.nextPage()
        case .previousPage: return model.previousPage()
        case .firstPage: return model.firstPage()
        case .lastPage: return model.lastPage()
        case .refresh: return model.refreshInbox()
        case .changeOrder: return model.changeLetterOrder()
        case .filter: typeFilter(true, on: &model)
        case .sortBy: model.inbox.sortNext()
        default: break
        }
        return []
    }

    /// A space marks; while something is being written it goes on with that. Text and the keys that edit it are the
    /// filter's while that is being typed: only the rows are gone through meanwhile.
    func takes(_ key: Key, as action: KeyAction, in model: ChatModel) -> Bool {
        if model.inbox.filter?.isTyped == true {
            if key.modifiers.isEmpty, case .character = key.code { return false }
            return [.open, .up, .down, .filter, .markMatching].contains(action)
        }
        return key != .plain(" ") || model.compose.isEmpty
    }

    /// Within the words of a filter that is typed, keys change these before they mean what they do everywhere.
    func keeps(_ key: Key, in model: ChatModel) -> Bool {
        guard let filter = model.inbox.filter, filter.isTyped else { return false }
        return filter.editor.keepsForChanging(key)
    }

    /// What is typed goes to the filter while that has the keys, otherwise to the text.
    func type(_ key: Key, on model: inout ChatModel) -> ChatEffects {
        if var filter = model.inbox.filter, filter.isTyped {
            filter.edit(key)
            model.inbox.setFilter(filter)
            return []
        }
        guard key.modifiers.isEmpty, case .character = key.code else { return [] }
        model.focus = .compose
        return ComposePane().type(key, on: &model)
    }

    /// Opens the selected letter, or closes it; keeps a filter that is being typed.
    private func open(on model: inout ChatModel) {
        if model.inbox.filter?.isTyped == true { return typeFilter(false, on: &model) }
        if model.inbox.open != nil, model.inbox.open == model.inbox.selectedLetter?.id {
            model.inbox.open = nil
        } else {
            model.inbox.openSelected()
        }
    }

    /// Has the filter take what is typed, or leaves it as it is; one that says nothing goes.
    private func typeFilter(_ isTyped: Bool, on model: inout ChatModel) {
        var filter = model.inbox.filter ?? Inbox.Filter()
        filter.isTyped = isTyped
        model.inbox.setFilter(isTyped || !filter.editor.isBlank ? filter : nil)
    }

    /// Selects a letter; an open reader follows.
    private func select(_ index: Int, on model: inout ChatModel) {
        let before = model.inbox.selected
        model.inbox.selected = index
        model.inbox.clampSelection()
        if model.inbox.open != nil, model.inbox.selected != before { model.inbox.openSelected() }
    }

    private func toggleMark(_ letter: PostboxMessage, on model: inout ChatModel) {
        if model.inbox.isMarked(letter.id) { model.inbox.unmark([letter.id]) } else { model.mark([letter]) }
    }

    /// Scrolls the open letter, or moves in the table.
    func scroll(up lines: Int, on model: inout ChatModel) -> ChatEffects {
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
    func click(at place: Position, _ layout: ScreenLayout, on model: inout ChatModel) -> ChatEffects {
        let table = InboxLayout(model: model, area: layout.main).table
        let index = model.inbox.firstVisible + place.row - table.row
        guard table.contains(place), model.inbox.letters.indices.contains(index) else { return [] }
        if place.column - table.column < InboxLayout.markColumns {
            toggleMark(model.inbox.letters[index], on: &model)
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
        if model.inbox.filter?.isTyped != true, model.inbox.open != nil {
            model.inbox.open = nil
            return true
        }
        guard model.inbox.filter != nil else { return false }
        model.inbox.setFilter(nil)
        return true
    }

    func settle(_ layout: ScreenLayout, on model: inout ChatModel) {
        // Whoever has gone on to write is not to be asked something in the middle of it.
        if model.focus != .main || model.overlay != nil { model.inbox.dropHeld() }
        if model.focus != .main, model.inbox.filter?.isTyped == true { typeFilter(false, on: &model) }
        let table = InboxLayout(model: model, area: layout.main).table
        model.inbox.firstVisible = ChatModel.window(
            around: model.inbox.selected, from: model.inbox.firstVisible, rows: table.rows,
            count: model.inbox.letters.count)
    }

    func wholeText(in model: ChatModel) -> Reader? {
        guard let letter = model.inbox.openLetter, !letter.isUnreadable else { return nil }
        let box = model.inbox.fullName(ofBox: letter.postboxId)
        return model.reader(
            letter.message, from: letter.from, in: box, at: letter.createdAt, about: letter.subject,
            fileName: letter.fileName)
    }

    func addressee(in model: ChatModel) -> Addressee {
        let reply = model.settings.keys.label(of: .reply, in: Self.self).map { "\($0) replies, " } ?? ""
        return .nobody("This is the postbox: \(reply)/post USER/POSTBOX TEXT writes a letter.")
    }

    func placeholder(in model: ChatModel) -> String {
        let reply = model.settings.keys.label(of: .reply, in: Self.self).map { ", or \($0) to reply" } ?? ""
        return "/post USER/POSTBOX TEXT" + reply
    }

    func draw(in frame: Frame) { frame.drawInbox(box) }

    func position(in frame: Frame) -> String {
        let inbox = frame.model.inbox
        let count = inbox.letters.count
        return count == 0 ? "0/0" : "\(min(inbox.selected + 1, count))/\(count)"
    }

    func isUseful(_ action: KeyAction, in model: ChatModel) -> Bool {
        switch action {
        case .open, .mark, .delete, .reply: model.inbox.selectedLetter != nil
        case .undo: model.inbox.deletion.undoableCount > 0
        case .nextPage: model.inbox.hasMore && model.inbox.finding == nil
        default: true
        }
    }

    func sidebarIndex(in model: ChatModel) -> Int? {
        let heading = model.conversations.count + 1
        guard let box, let index = model.inbox.boxes.firstIndex(where: { $0.id == box }) else { return heading }
        return heading + 1 + index
    }
}
