import Terminal

/// A line of a message on the screen: its text, and the kinds of its parts.
struct MarkedText: Hashable, Sendable {
    let text: SafeText
    /// The kinds of its parts; where two overlap, the later one counts.
    var runs: [Run] = []
    /// Whether it stands for something that is not shown, and that a key opens.
    var isPart = false

    /// A part of the line, in its columns.
    struct Run: Hashable, Sendable {
        let columns: Range<Int>
        let kind: Markup.Kind
    }

    /// The links that it shows, or shows a part of, from the left.
    var links: [Link] {
        runs.compactMap { run in if case .link(let link) = run.kind { link } else { nil } }
    }

    /// Breaks a line into lines of at most `columns`; the further lines of a quoted one are indented.
    static func wrapped(_ text: SafeText, _ line: Markup.Line, columns: Int) -> [MarkedText] {
        // A narrow pane has no room for the indent.
        let indent = line.indent * 4 <= columns ? line.indent : 0
        var next = 0
        return text.lineBreaks(columns: columns, indent: indent).enumerated().map { number, place in
            let margin = number == 0 ? 0 : indent
            var marked = MarkedText(text: margin > 0 ? SafeText.spaces(margin) + text.part(place) : text.part(place))
            if let kind = line.kind { marked.runs.append(Run(columns: margin..<marked.text.width, kind: kind)) }
            while next < line.parts.count, line.parts[next].place.upperBound <= place.lowerBound { next += 1 }
            var (column, cluster) = (margin, place.lowerBound)
            for part in line.parts[next...] {
                guard part.place.lowerBound < place.upperBound else { break }
                let shown = part.place.clamped(to: place)
                column += width(of: text, cluster..<shown.lowerBound)
                let begin = column
                column += width(of: text, shown)
                cluster = shown.upperBound
                marked.runs.append(Run(columns: begin..<column, kind: part.kind))
            }
            return marked
        }
    }

    /// The lines below a line that name the pictures and files its links lead to, if an address takes several lines, in
    /// which a name is hard to see.
    static func names(of text: SafeText, _ line: Markup.Line, columns: Int) -> [MarkedText] {
        let indent = line.indent * 4 <= columns ? line.indent : 0
        return line.parts.compactMap { part in
            guard case .link(let link) = part.kind, width(of: text, part.place) > columns - indent,
                let file = link.file
            else { return nil }
            let name = SafeText.spaces(indent) + SafeText("↑ \(file)").shortened(columns: columns - indent)
            return MarkedText(text: name, runs: [Run(columns: indent..<name.width, kind: .note)])
        }
    }

    private static func width(of text: SafeText, _ places: Range<Int>) -> Int {
        text.clusters[places].reduce(0) { $0 + $1.width }
    }
}
