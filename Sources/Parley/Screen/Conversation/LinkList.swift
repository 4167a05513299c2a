import Relay
import Terminal

/// The links that were in view when they were listed, so that their numbers stay while messages arrive.
struct LinkList: Hashable, Sendable {
    /// The conversation that they are in, or the heading and beginning of what is read.
    let place: String
    let title: String
    /// Each link once: newest first in a conversation, in order in what is read.
    let entries: [Entry]

    /// A link, and the name of its sender, which is empty for what is read.
    struct Entry: Hashable, Sendable {
        let link: Link
        let name: String
    }

    /// The most characters searched.
    private static let textLimit = 131_072

    init(in conversation: String, _ entries: [Entry]) {
        place = conversation
        title = "Links in \(conversation)"
        self.entries = entries
    }

    init(in reader: Reader) {
        // Two letters of one minute have the same heading.
        place = "\(reader.heading)\n\(reader.text.prefix(1_024))"
        title = "Links in what is read"
        var known: Set<Link> = []
        var entries: [Entry] = []
        var left = Self.textLimit
        for part in reader.parts {
            left -= part.count + 1
            guard left > 0 else { break }
            for link in SafeText.lines(String(part)).flatMap({ Link.places(in: $0).map(\.link) })
            where known.insert(link).inserted {
                entries.append(Entry(link: link, name: ""))
            }
        }
        self.entries = entries
    }

    /// The link with a number, from 1; nil outside.
    func link(_ number: Int) -> Link? {
        entries.indices.contains(number - 1) ? entries[number - 1].link : nil
    }

    /// The list as shown over the panes; Enter takes the selected link.
    var listing: Listing {
        var lines: [HelpText.Line] = []
        var places: [Int] = []
        for (index, entry) in entries.enumerated() {
            let name = entry.name.isEmpty ? "" : "  \(entry.name.prefix(64))"
            lines.append(.entry("\(index + 1)\(name)", entry.link.text))
            if entry.link.hidesHost { lines.append(.entry("", "↑ leads to \(entry.link.host)")) }
            if let file = entry.link.file { lines.append(.entry("", "↑ \(file)")) }
            places += Array(repeating: index, count: lines.count - places.count)
        }
        return Listing(title: title, lines: lines, selected: 0, content: .links(places))
    }
}
