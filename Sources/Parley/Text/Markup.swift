import Terminal

/// The markup that people type: code in backquotes, fenced blocks of code, quoted lines, and links. It is found but
/// never changed: everything stays on the screen as it was typed.
///
/// Anyone can write a text, so the work on one only grows with its length.
enum Markup {
    enum Kind: Hashable, Sendable {
        case code
        /// The line before a block of code, and the one after it.
        case fence
        case quote
        case link(Link)
        /// A note of the program on the text above it.
        case note
    }

    /// A part of a line, in the clusters of the line.
    struct Part: Hashable, Sendable {
        let place: Range<Int>
        let kind: Kind
    }

    /// A line of a text, as it was sent.
    struct Line: Hashable, Sendable {
        /// The kind of the line, apart from its parts.
        var kind: Kind?
        /// Parts of it, in order and without overlaps.
        var parts: [Part] = []
        /// The indentation of its further lines on the screen, in columns.
        var indent = 0
    }

    private static let indentLimit = 8

    /// The kinds of a text's lines.
    ///
    /// - Parameters:
    ///   - lead: how many clusters of the first line precede the text.
    ///   - isCut: whether the text continues after the last line: a link at its end may do so too, and is left out.
    static func lines(_ lines: [SafeText], lead: Int = 0, isCut: Bool = false) -> [Line] {
        var isFenced = false
        var found: [Line] = []
        found.reserveCapacity(lines.count)
        for (number, text) in lines.enumerated() {
            let start = number == 0 ? lead : 0
            var line = Line()
            if isFence(text, from: start, closes: isFenced) {
                isFenced.toggle()
                line.kind = .fence
            } else if isFenced {
                line.kind = .code
                line.parts = links(in: text, from: start)
            } else {
                let marker = quoteMarker(text, from: start)
                if marker > 0 {
                    line.kind = .quote
                    line.indent = start == 0 ? min(marker, indentLimit) : 0
                }
                line.parts = parts(of: text, from: start + marker)
            }
            found.append(line)
        }
        // Punctuation after it may belong to the address, if that continues.
        if isCut, let last = lines.last, let part = found.last?.parts.last, case .link = part.kind,
            !last.clusters[part.place.upperBound...].contains(where: \.isBlank)
        {
            found[found.count - 1].parts.removeLast()
        }
        return found
    }

    // MARK: Lines

    /// Whether a line is a fence: three backquotes, followed by no others if it opens a block of code.
    private static func isFence(_ line: SafeText, from start: Int, closes: Bool) -> Bool {
        let rest = line.clusters[min(start, line.clusters.count)...].drop(while: \.isBlank)
        guard rest.prefix(3).count == 3, rest.prefix(3).allSatisfy(isBackquote) else { return false }
        return closes || !rest.drop(while: isBackquote).contains(where: isBackquote)
    }

    /// How many clusters mark a line as quoted: `> `, possibly repeated. Without a space, as in `>_<`, they mark
    /// nothing.
    private static func quoteMarker(_ line: SafeText, from start: Int) -> Int {
        let rest = line.clusters[min(start, line.clusters.count)...]
        guard rest.first?.ascii == UInt8(ascii: ">") else { return 0 }
        let marker = rest.prefix { $0.ascii == UInt8(ascii: ">") || $0.isBlank }
        return marker.count == rest.count || marker.last?.isBlank == true ? marker.count : 0
    }

    // MARK: Parts of lines

    private static func links(in line: SafeText, from start: Int) -> [Part] {
        Link.places(in: line).filter { $0.place.lowerBound >= start }.map {
            Part(place: $0.place, kind: .link($0.link))
        }
    }

    /// Code and links of a line; a link in code stays one, and the code continues after it.
    private static func parts(of line: SafeText, from start: Int) -> [Part] {
        let links = links(in: line, from: start)
        var parts: [Part] = []
        var next = 0
        for span in spans(of: line, from: start) {
            while next < links.count, links[next].place.lowerBound < span.lowerBound {
                parts.append(links[next])
                next += 1
            }
            var begin = span.lowerBound
            // No link extends beyond a backquote.
            while next < links.count, links[next].place.lowerBound < span.upperBound {
                let link = links[next].place
                if begin < link.lowerBound { parts.append(Part(place: begin..<link.lowerBound, kind: .code)) }
                parts.append(links[next])
                begin = link.upperBound
                next += 1
            }
            if begin < span.upperBound { parts.append(Part(place: begin..<span.upperBound, kind: .code)) }
        }
        return parts + links[next...]
    }

    /// Code with its backquotes: as many end it as begin it, so that it can contain others.
    private static func spans(of line: SafeText, from start: Int) -> [Range<Int>] {
        let clusters = line.clusters
        var runs: [Range<Int>] = []
        for place in min(start, clusters.count)..<clusters.count where isBackquote(clusters[place]) {
            if let last = runs.last, last.upperBound == place {
                runs[runs.count - 1] = last.lowerBound..<place + 1
            } else {
                runs.append(place..<place + 1)
            }
        }
        // From the end, so that the next run of the same length is known at each.
        var nextOfLength: [Int: Int] = [:]
        var closing = [Int?](repeating: nil, count: runs.count)
        for index in runs.indices.reversed() {
            closing[index] = nextOfLength[runs[index].count]
            nextOfLength[runs[index].count] = index
        }
        var spans: [Range<Int>] = []
        for (run, end) in zip(runs, closing) where run.lowerBound >= spans.last?.upperBound ?? 0 {
            if let end { spans.append(run.lowerBound..<runs[end].upperBound) }
        }
        return spans
    }

    private static func isBackquote(_ cluster: Cluster) -> Bool { cluster.ascii == UInt8(ascii: "`") }
}
