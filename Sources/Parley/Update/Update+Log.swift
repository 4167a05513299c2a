import Relay
import Terminal

extension ChatModel {
    /// The log's layout in a pane of `columns`.
    func logLayout(columns: Int) -> LogLayout { LogLayout(log: log, columns: columns, zone: zone) }

    /// Where the person looks in the connection log; nil while it is closed.
    var logScroll: LogScroll? {
        guard case .log(let scroll)? = overlay else { return nil }
        return scroll
    }

    /// Opens the connection log at its end. What is typed still goes to the text.
    mutating func openLog() {
        overlay = .log(.end)
        pane = .compose
    }

    mutating func closeLog() {
        if logScroll != nil { overlay = nil }
    }

    /// Scrolls the log up by lines, down when negative.
    mutating func scrollLog(up lines: Int) {
        guard let scroll = logScroll else { return }
        let area = layout(on: size).main
        overlay = .log(logLayout(columns: area.columns).scrolled(scroll, up: lines, rows: area.rows))
    }

    /// A key while the log is open: the keys that move in it, and everything that has to do with the text.
    mutating func pressOverLog(_ key: Key, isSecondInterrupt: Bool) -> [ChatEffect] {
        let area = layout(on: size).main
        guard let action = KeyBinding.action(of: key, in: .log) else {
            if let action = KeyBinding.action(of: key, in: .compose) {
                return perform(action, isSecondInterrupt: isSecondInterrupt)
            }
            _ = compose.editor.handle(key)
            return []
        }
        switch action {
        case .up: scrollLog(up: 1)
        case .down: scrollLog(up: -1)
        case .pageUp: scrollLog(up: max(1, area.rows - 1))
        case .pageDown: scrollLog(up: -max(1, area.rows - 1))
        case .toBeginning: overlay = .log(logLayout(columns: area.columns).beginning(rows: area.rows))
        case .toEnd: overlay = .log(.end)
        case .escape, .connectionLog: closeLog()
        case .redraw, .suspend, .quit, .interrupt, .help:
            return perform(action, isSecondInterrupt: isSecondInterrupt)
        case .nextPane where completion != nil:
            return perform(action, isSecondInterrupt: false)
        default:
            // Whatever goes elsewhere leaves the log.
            closeLog()
            return perform(action, isSecondInterrupt: false)
        }
        return []
    }
}
