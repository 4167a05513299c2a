import Relay
import Terminal

extension ChatModel {
    /// The log's layout in a pane of `columns`.
    func logLayout(columns: Int) -> LogLayout { LogLayout(log: network.log, columns: columns, zone: zone) }

    /// Where the person looks in the connection log; nil while it is closed.
    var logScroll: LogScroll? {
        guard case .log(let scroll)? = screen.overlay else { return nil }
        return scroll
    }

    /// Opens the connection log at its end. What is typed still goes to the text.
    func openLog() {
        screen.overlay = .log(.end)
        screen.focus = .compose
    }

    func closeLog() {
        if logScroll != nil { screen.overlay = nil }
    }
}
