import Relay
import Terminal

/// The links that were in view when they were listed, so that their numbers stay while messages come.
struct LinkList: Hashable, Sendable {
    /// The conversation in which they are.
    let place: String
    /// The newest first, each once.
    let entries: [Entry]

    /// A link, and who has sent it.
    struct Entry: Hashable, Sendable {
        let link: Link
        let name: String
    }

    /// The link of a number, from 1.
    func link(_ number: Int) -> Link? {
        entries.indices.contains(number - 1) ? entries[number - 1].link : nil
    }

    /// As they are listed over the panes.
    var lines: [HelpText.Line] {
        entries.enumerated().flatMap { index, entry -> [HelpText.Line] in
            var lines = [HelpText.Line.entry("\(index + 1)  \(entry.name.prefix(64))", entry.link.text)]
            if entry.link.hidesHost { lines.append(.entry("", "↑ leads to \(entry.link.host)")) }
            if let file = entry.link.file { lines.append(.entry("", "↑ \(file.words)")) }
            return lines
        }
    }
}
