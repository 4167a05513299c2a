import Relay
import Terminal

/// The items offered, and which of them match the query.
struct Palette: Sendable {
    enum Kind: Hashable, Sendable {
        case commands, places
    }

    let kind: Kind
    let items: [PaletteItem]
    private let texts: [FuzzyText]
    private(set) var editor = LineEditor(limit: 1_024, historyLimit: 0)
    /// The indices in `items` of those that match, best first.
    private(set) var found: [Int]
    private(set) var selected = 0
    var firstVisible = 0
    /// Why the typed command cannot be run.
    var failure: String?

    init(_ kind: Kind, _ items: [PaletteItem]) {
        self.kind = kind
        self.items = items
        texts = items.map { FuzzyText($0.title, detail: $0.detail) }
        found = Array(items.indices)
    }

    var query: FuzzyQuery { FuzzyQuery(typedCommand.map { "/\($0)" } ?? editor.text) }

    var selectedItem: PaletteItem? { found.indices.contains(selected) ? items[found[selected]] : nil }

    /// The name of a command that was typed with a space after it: its arguments follow.
    var typedCommand: String? {
        let text = editor.text
        guard kind == .commands, text.hasPrefix("/"), let space = text.firstIndex(of: " ") else { return nil }
        return text[text.index(after: text.startIndex)..<space].lowercased()
    }

    /// Handles a key of the query, which has one line: there is no quoted insert and no history search.
    mutating func edit(_ key: Key) {
        guard key != .control("v") else { return }
        let before = editor.text
        let isTaken = editor.handle(key)
        editor.endSearch()
        if isTaken, editor.text != before { find() }
    }

    mutating func insert(_ text: String) {
        editor.insert(String(text.map { $0.breaksLine ? " " : $0 }))
        find()
    }

    mutating func set(_ text: String) {
        editor.text = text
        find()
    }

    mutating func select(_ row: Int) { selected = min(max(0, row), max(0, found.count - 1)) }

    private mutating func find() {
        if let typedCommand {
            found = items.indices.filter { index in
                guard case .command(let entry) = items[index].target else { return false }
                return entry.name == typedCommand
            }
        } else {
            found = FuzzyQuery(editor.text).ranked(texts)
        }
        selected = 0
        firstVisible = 0
        failure = nil
    }
}

extension Palette: Equatable {
    static func == (left: Palette, right: Palette) -> Bool {
        left.kind == right.kind && left.selected == right.selected && left.firstVisible == right.firstVisible
            && left.failure == right.failure && left.editor.cursor == right.editor.cursor
            && left.editor.text == right.editor.text && left.found == right.found && left.items == right.items
    }
}

/// The palette: typing some letters chooses a command, a key's action or a place. It covers the panes.
struct PalettePane: Pane {
    let palette: Palette

    enum Action: String, KeyAction {
        static let title = "Commands and places to go"
        static let tableName = "commands-and-places-to-go"

        case open, escape, up, down, nextPane, previousPane, pageUp, pageDown

        var binding: KeyBinding {
            switch self {
            case .open: KeyBinding(.enter, "do it, or go there", hint: "choose")
            case .escape: KeyBinding([Key(.escape), .control("c")], "close it", hint: "close")
            case .up: KeyBinding([Key(.up), .control("p")], "up", hint: "up")
            case .down: KeyBinding([Key(.down), .control("n")], "down", hint: "down")
            case .nextPane: KeyBinding(.tab, "down; after a /command: complete it")
            case .previousPane: KeyBinding(.backTab, "up")
            case .pageUp: KeyBinding(.pageUp, "page up")
            case .pageDown: KeyBinding(.pageDown, "page down")
            }
        }
    }

    func perform(_ action: Action, on model: ChatModel) -> ChatEffects {
        switch action {
        case .open: return choose(on: model)
        case .escape: model.screen.overlay = nil
        case .up, .previousPane: return scroll(up: 1, on: model)
        case .down: return scroll(up: -1, on: model)
        case .nextPane: return complete(on: model)
        case .pageUp: return scroll(up: pageRows(model), on: model)
        case .pageDown: return scroll(up: -pageRows(model), on: model)
        }
        return []
    }

    /// Within the query the key edits that, as in any text.
    func keeps(_ key: Key, in model: ChatModel) -> Bool { palette.editor.keepsForChanging(key) }

    func type(_ key: Key, on model: ChatModel) -> ChatEffects {
        model.palette?.edit(key)
        return []
    }

    func scroll(up rows: Int, on model: ChatModel) -> ChatEffects {
        model.palette?.select(palette.selected - rows)
        return []
    }

    /// A click chooses a row; one outside closes the palette.
    func click(at place: Position, _ layout: ScreenLayout, on model: ChatModel) -> ChatEffects {
        let places = PaletteLayout(layout)
        guard places.box.contains(place) else {
            model.screen.overlay = nil
            return []
        }
        let row = palette.firstVisible + place.row - places.list.row
        guard places.list.contains(place), palette.found.indices.contains(row) else { return [] }
        model.palette?.select(row)
        return model.palette.map { PalettePane(palette: $0).choose(on: model) } ?? []
    }

    func settle(_ layout: ScreenLayout, on model: ChatModel) {
        let first = ChatModel.window(
            around: palette.selected, from: palette.firstVisible, rows: PaletteLayout(layout).list.rows,
            count: palette.found.count)
        if first != palette.firstVisible { model.palette?.firstVisible = first }
    }

    func draw(in frame: Frame) { frame.drawPalette(palette) }

    func position(in frame: Frame) -> String {
        palette.found.isEmpty ? "0/0" : "\(palette.selected + 1)/\(palette.found.count)"
    }

    func use(of action: Action, by key: Key?, in model: ChatModel) -> KeyUse {
        switch action {
        case .open: palette.selectedItem != nil ? .useful : .idle
        case .up, .down: palette.found.count > 1 ? .useful : .idle
        case .escape, .nextPane, .previousPane, .pageUp, .pageDown: .useful
        }
    }

    private func pageRows(_ model: ChatModel) -> Int {
        max(1, PaletteLayout(model.layout(on: model.size)).list.rows - 1)
    }

    /// Completes a command's argument if possible, else goes on to the next row.
    private func complete(on model: ChatModel) -> ChatEffects {
        guard palette.typedCommand != nil,
            let completion = CommandCompletion.of(
                palette.editor.text, topics: model.network.conversations.all.map(\.name))
        else { return scroll(up: -1, on: model) }
        model.palette?.set(completion.text)
        if !completion.choices.isEmpty { model.say(completion.choices.joined(separator: "  ")) }
        return []
    }

    private func choose(on model: ChatModel) -> ChatEffects {
        if palette.typedCommand != nil { return run(palette.editor.text, on: model) }
        guard let item = palette.selectedItem else { return [] }
        if case .command(let entry) = item.target {
            // A command that a key stands for is run at once, as by that key.
            guard entry.argument != .none, !EverywhereKey.stand(for: entry) else {
                return run("/\(entry.name)", on: model)
            }
            // The text being written stays as it is: the arguments are typed here.
            model.palette?.set("/\(entry.name) ")
            return []
        }
        model.screen.overlay = nil
        switch item.target {
        case .command: break
        case .everywhere(let action):
            model.noteChoice(item.target)
            return model.perform(action)
        case .editing(let action):
            model.noteChoice(item.target)
            model.screen.focus = .compose
            return action.binding.keys.first.map { ComposePane().type($0, on: model) } ?? []
        case .own(let table, let place):
            model.noteChoice(item.target)
            let panes: [any Pane] = [ComposePane(), SidebarPane(), model.screen.view.pane]
            guard let pane = panes.first(where: { $0.tableName == table }) else {
                let subject = item.note.isEmpty ? item.title : item.note
                return model.tell("\(subject): that belongs to another part of the screen, \(item.detail).")
            }
            return pane.choose(at: place, on: model)
        case .place(let place): return model.go(to: place)
        case .line(let topic, let position): return model.goToLine(position, in: topic)
        case .elsewhere(let chat, let destination): return .screen(.showChat(chat, destination))
        case .person(let name): model.writeTo(name)
        }
        return []
    }

    /// Runs a command. An invalid one stays, with what is wrong below it.
    private func run(_ text: String, on model: ChatModel) -> ChatEffects {
        do {
            guard let command = try SlashCommand.parse(text) else { return [] }
            model.screen.overlay = nil
            if let item = palette.selectedItem { model.noteChoice(item.target) }
            return model.run(command)
        } catch {
            model.palette?.failure = error.words
            return []
        }
    }
}

extension Pane {
    fileprivate var tableName: String { Action.tableName }

    fileprivate func choose(at place: Int, on model: ChatModel) -> ChatEffects {
        let actions = Action.allCases
        return actions.indices.contains(place) ? choose(actions[place], on: model) : []
    }
}

extension LineEditor {
    /// Whether a key that has another meaning elsewhere edits the text: deletes what is after the cursor, or
    /// capitalizes a word there. After a number it is always meant for the text.
    func keepsForChanging(_ key: Key) -> Bool {
        switch key {
        case .control("k"): cursor < count
        case .alt("u"): pendingArgument != nil || text.dropFirst(cursor).contains { $0.isLetter || $0.isNumber }
        default: false
        }
    }
}

extension ChatModel {
    var palette: Palette? {
        get { if case .palette(let palette)? = screen.overlay { palette } else { nil } }
        set { screen.overlay = newValue.map { .palette($0) } }
    }

    func togglePalette(_ kind: Palette.Kind) {
        palette = palette?.kind == kind ? nil : Palette(kind, kind == .commands ? commandItems() : placeItems())
    }
}
