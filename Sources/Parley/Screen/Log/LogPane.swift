import Relay
import Terminal

/// The connection log. It covers the main pane; the text can be written meanwhile.
struct LogPane: Pane {
    let edge: LogScroll

    enum Action: String, KeyAction {
        static let title = "Connection log"
        static let tableName = "connection-log"

        case escape, up, down, toBeginning, toEnd

        var binding: KeyBinding {
            switch self {
            case .escape: KeyBinding(.escape, "close it", hint: "close")
            case .up: KeyBinding(.up, "a line up", hint: "scroll")
            case .down: KeyBinding(.down, "a line down")
            case .toBeginning: KeyBinding(.home, "oldest entry", hint: "oldest")
            case .toEnd: KeyBinding(.end, "newest entry, and those that follow", hint: "newest")
            }
        }
    }

    func perform(_ action: Action, on model: ChatModel) -> ChatEffects {
        let area = model.layout(on: model.size).main
        switch action {
        case .up: return scroll(up: 1, on: model)
        case .down: return scroll(up: -1, on: model)
        case .toBeginning: model.logScroll = model.logLayout(columns: area.columns).beginning(rows: area.rows)
        case .toEnd: model.logScroll = .end
        case .escape: model.closeLog()
        }
        return []
    }

    func keeps(_ key: Key, in model: ChatModel) -> Bool {
        let compose = ComposePane()
        if compose.keeps(key, in: model) { return true }
        let action = model.settings.keys.action(of: key, in: ComposePane.self)
        guard let action, action == .complete || action == .completePrevious else { return false }
        return compose.use(of: action, by: key, in: model) == .useful
    }

    func type(_ key: Key, on model: ChatModel) -> ChatEffects {
        let compose = ComposePane()
        if let action = model.settings.keys.action(of: key, in: ComposePane.self) {
            return compose.perform(action, on: model)
        }
        return compose.type(key, on: model)
    }

    /// The compose pane's own keys come before those that edit its text.
    func edit(_ key: Key, for pressed: [Key], on model: ChatModel) -> ChatEffects {
        let isOwn = pressed.count == 1 && model.settings.keys.action(of: pressed[0], in: ComposePane.self) != nil
        return isOwn ? type(pressed[0], on: model) : ComposePane().type(key, on: model)
    }

    func scroll(up lines: Int, on model: ChatModel) -> ChatEffects {
        let area = model.layout(on: model.size).main
        model.logScroll = model.logLayout(columns: area.columns).scrolled(edge, up: lines, rows: area.rows)
        return []
    }

    func draw(in frame: Frame) { frame.drawLog(edge) }

    func position(in frame: Frame) -> String {
        let area = frame.layout.main
        return frame.model.logLayout(columns: area.columns).wordsBelow(edge, rows: area.rows) ?? "⇣ newest"
    }

    func use(of action: Action, by key: Key?, in model: ChatModel) -> KeyUse {
        action != .toEnd || edge != .end ? .useful : .idle
    }
}

extension ChatModel {
    func logLayout(columns: Int) -> LogLayout { LogLayout(log: network.log, columns: columns, zone: zone) }

    /// The scroll position of the connection log; nil while it is closed.
    var logScroll: LogScroll? {
        get { if case .log(let scroll)? = screen.overlay { scroll } else { nil } }
        set { screen.overlay = newValue.map { .log($0) } }
    }

    /// Opens the connection log at its end. What is typed still goes to the text.
    func openLog() {
        logScroll = .end
        screen.focus = .compose
    }

    func closeLog() {
        if logScroll != nil { screen.overlay = nil }
    }
}
