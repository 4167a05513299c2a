import Relay
import Terminal

/// The letters of one postbox, by its id, or of all. None of its keys is a letter: text typed here goes to the compose
/// pane, as it does everywhere.
struct InboxPane: Pane {
    let box: String?

    enum Action: String, KeyAction {
        static let title = "Postbox"
        static let tableName = "postbox"

        case open, undo, mark, delete, reply, nextPage, previousPage, firstPage, lastPage, filter, sortBy,
            changeOrder, refresh, markRange, markAll, markMatching, unmarkAll, write, quote, forward, save, up, down,
            toBeginning, toEnd

        var binding: KeyBinding {
            switch self {
            case .open: KeyBinding(.enter, "open the letter, or close it", hint: "read")
            case .undo: KeyBinding([.alt("u")], "undo the last deletion, for some seconds", hint: "undo")
            case .mark: KeyBinding([.plain(" "), Key(.insert)], "mark, or unmark", hint: "mark")
            case .delete:
                KeyBinding([Key(.delete), .alt("d")], "delete the marked letters, or this one", hint: "delete")
            case .reply: KeyBinding([.alt("r")], "reply to the letter", hint: "reply")
            case .nextPage: KeyBinding([.alt("n")], "next page", hint: "next page")
            case .previousPage: KeyBinding([.alt("p")], "previous page")
            case .firstPage: KeyBinding([.alt("<"), Key(.home, .control)], "first page")
            case .lastPage: KeyBinding([.alt(">"), Key(.end, .control)], "last page")
            case .filter: KeyBinding([.alt("l")], "filter letters that have some words, or is:unread", hint: "filter")
            case .sortBy: KeyBinding([.alt("b")], "sort the page by sender, by postbox, by age")
            case .changeOrder: KeyBinding([.alt("o")], "list the oldest letters first, or the newest")
            case .refresh: KeyBinding([.control("r")], "list again")
            case .markRange: KeyBinding([.alt("m")], "mark from the last mark to here")
            case .markAll: KeyBinding([.control("a")], "mark all on this page, or none")
            case .markMatching: KeyBinding([.alt("*")], "mark all that match, here or elsewhere; Esc stops")
            case .unmarkAll: KeyBinding([.alt("t")], "take all marks away, on every page")
            case .write: KeyBinding([.alt("c")], "write a letter")
            case .quote: KeyBinding([.alt("q")], "reply below what the letter says")
            case .forward: KeyBinding([.alt("f")], "send the letter on")
            case .save: KeyBinding([.alt("s")], "save the letter in a file")
            case .up: KeyBinding(.up, "up")
            case .down: KeyBinding(.down, "down")
            case .toBeginning: KeyBinding(.home, "first letter")
            case .toEnd: KeyBinding(.end, "last letter")
            }
        }

        /// Whether it waits for a page that is being fetched.
        var wait: Inbox.PageWait {
            switch self {
            case .write, .refresh, .filter, .sortBy, .undo, .unmarkAll, .markMatching: .never
            case .nextPage, .previousPage, .firstPage, .lastPage, .changeOrder: .forAnyPage
            case .open, .mark, .delete, .reply, .markRange, .markAll, .quote, .forward, .save, .up, .down,
                .toBeginning, .toEnd:
                .forItsPage
            }
        }
    }

    func perform(_ action: Action, on model: ChatModel) -> ChatEffects {
        if model.network.inbox.hold(.action(action)) { return [] }
        if model.network.inbox.finding != nil, [.nextPage, .previousPage, .firstPage, .lastPage].contains(action) {
            return model.tell("A filtered list has no pages: it has the letters of all of them.")
        }
        // Acting on the selected letter chooses it. Enter while a filter is typed only keeps that.
        if action.wait == .forItsPage, model.network.inbox.filter?.isTyped != true {
            model.network.inbox.choose(model.network.inbox.selected)
        }
        switch action {
        case .up: model.network.inbox.select(model.network.inbox.selected - 1)
        case .down: model.network.inbox.select(model.network.inbox.selected + 1)
        case .toBeginning: model.network.inbox.select(0)
        case .toEnd: model.network.inbox.select(model.network.inbox.letters.count - 1)
        case .open: open(on: model)
        case .mark:
            guard let letter = model.network.inbox.selectedLetter else { break }
            toggleMark(letter, on: model)
            model.network.inbox.choose(model.network.inbox.selected + 1)
        case .markRange: model.markRange()
        case .markAll: model.markAllShown()
        case .markMatching: return model.markMatching()
        case .unmarkAll: model.network.inbox.unmarkAll()
        case .delete:
            if model.hasHiddenMarks {
                model.askToDelete()
            } else if !model.isStillMarking() {
                let ids = model.network.inbox.lettersToDelete
                model.network.inbox.delete(ids, now: model.now.instant, isUndoable: model.hasScreen)
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
        case .filter: typeFilter(true, on: model)
        case .sortBy: model.network.inbox.sortNext()
        }
        return []
    }

    func use(of action: Action, by key: Key?, in model: ChatModel) -> KeyUse {
        if let key, !takes(key, as: action, in: model) { return .notTaken }
        return switch action {
        case .open, .mark, .delete, .reply: model.network.inbox.selectedLetter != nil ? .useful : .idle
        case .undo: model.network.inbox.deletion.undoableCount > 0 ? .useful : .idle
        case .nextPage: model.network.inbox.hasMore && model.network.inbox.finding == nil ? .useful : .idle
        case .filter, .sortBy, .changeOrder, .refresh, .previousPage, .firstPage, .lastPage, .markRange, .markAll,
            .markMatching, .unmarkAll, .write, .quote, .forward, .save, .up, .down, .toBeginning, .toEnd:
            .useful
        }
    }

    /// A space marks a letter, or continues a text being written. While a filter is typed, text and the keys that edit
    /// it belong to that, and few others have a meaning here.
    private func takes(_ key: Key, as action: Action, in model: ChatModel) -> Bool {
        if model.network.inbox.filter?.isTyped == true {
            if key.modifiers.isEmpty, case .character = key.code { return false }
            return [.open, .up, .down, .filter, .markMatching].contains(action)
        }
        return key != .plain(" ") || model.compose.isEmpty
    }

    /// While a filter is typed, keys edit it before they mean what they do everywhere.
    func keeps(_ key: Key, in model: ChatModel) -> Bool {
        guard let filter = model.network.inbox.filter, filter.isTyped else { return false }
        return filter.editor.keepsForChanging(key)
    }

    /// Typed text goes to the filter while that has the keys, otherwise to the compose pane.
    func type(_ key: Key, on model: ChatModel) -> ChatEffects {
        if var filter = model.network.inbox.filter, filter.isTyped {
            filter.edit(key)
            model.network.inbox.setFilter(filter)
            return []
        }
        return typeText(key, on: model)
    }

    /// Opens the selected letter, or closes it; keeps a filter that is being typed.
    private func open(on model: ChatModel) {
        if model.network.inbox.filter?.isTyped == true { return typeFilter(false, on: model) }
        if let open = model.network.inbox.open, open == model.network.inbox.selectedLetter?.id {
            model.network.inbox.open = nil
        } else {
            model.network.inbox.openSelected()
        }
    }

    /// Begins or ends typing the filter; an empty one is removed.
    private func typeFilter(_ isTyped: Bool, on model: ChatModel) {
        var filter = model.network.inbox.filter ?? Inbox.Filter()
        filter.isTyped = isTyped
        model.network.inbox.setFilter(isTyped || !filter.editor.isBlank ? filter : nil)
    }

    private func toggleMark(_ letter: PostboxMessage, on model: ChatModel) {
        if model.network.inbox.isMarked(letter.id) {
            model.network.inbox.unmark([letter.id])
        } else {
            model.mark([letter])
        }
    }

    func scroll(up lines: Int, on model: ChatModel) -> ChatEffects {
        if model.network.inbox.hold(.scroll(up: lines)) { return [] }
        if model.network.inbox.openLetter != nil {
            let last = InboxLayout(model: model, area: model.layout(on: model.size).main).lastReaderScroll
            model.network.inbox.readerScroll = min(max(0, model.network.inbox.readerScroll - lines), last)
        } else {
            model.network.inbox.choose(model.network.inbox.selected - lines)
        }
        return []
    }

    /// A click selects a letter, a second one opens it; one on the mark column marks it.
    func click(at place: Position, _ layout: ScreenLayout, on model: ChatModel) -> ChatEffects {
        let table = InboxLayout(model: model, area: layout.main).table
        let index = model.network.inbox.firstVisible + place.row - table.row
        guard table.contains(place), model.network.inbox.letters.indices.contains(index) else { return [] }
        if place.column - table.column < InboxLayout.markColumns {
            toggleMark(model.network.inbox.letters[index], on: model)
            model.network.inbox.choose(index)
        } else if model.network.inbox.selected == index {
            model.network.inbox.openSelected()
        } else {
            model.network.inbox.select(index)
        }
        return []
    }

    func escape(on model: ChatModel) -> Bool {
        if model.network.inbox.filter?.isTyped != true, model.network.inbox.open != nil {
            model.network.inbox.open = nil
        } else if model.network.inbox.filter != nil {
            model.network.inbox.setFilter(nil)
        } else {
            return false
        }
        return true
    }

    func settle(_ layout: ScreenLayout, on model: ChatModel) {
        // A person who has gone on to write is not to be interrupted by a question.
        if model.screen.focus != .main || model.screen.overlay != nil { model.network.inbox.dropHeld() }
        if model.screen.focus != .main, model.network.inbox.filter?.isTyped == true { typeFilter(false, on: model) }
        let table = InboxLayout(model: model, area: layout.main).table
        model.network.inbox.firstVisible = ChatModel.window(
            around: model.network.inbox.selected, from: model.network.inbox.firstVisible, rows: table.rows,
            count: model.network.inbox.letters.count)
    }

    func addressee(in model: ChatModel) -> Addressee {
        let (reply, letter) = (model.settings.keys.label(of: .reply, in: Self.self), "/post USER/POSTBOX TEXT")
        return .nobody(
            "This is the postbox: \(reply.map { "\($0) replies, " } ?? "")\(letter) writes a letter.",
            hint: letter + (reply.map { ", or \($0) to reply" } ?? ""))
    }

    func draw(in frame: Frame) { frame.drawInbox(box) }

    func position(in frame: Frame) -> String {
        let inbox = frame.model.network.inbox
        let count = inbox.letters.count
        return count == 0 ? "0/0" : "\(min(inbox.selected + 1, count))/\(count)"
    }
}
