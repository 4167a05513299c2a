/// A timeline as SVG: lanes one below the other, with time from left to right. Shapes or words repeat whatever a colour
/// says, so that it can be read in print.
struct LabDrawing {
    private static let width = 960
    private static let left = 110.0
    private static let right = 950.0

    private let timeline: LabTimeline
    private let lost: [LabTime]
    /// The length of the run; never zero, so that every moment has a place.
    private let length: Double

    /// Lost messages are shown where they were sent.
    init(_ report: LabReport) {
        timeline = report.timeline
        length = max(0.001, report.timeline.end.seconds)
        lost = report.lost
    }

    var svg: String {
        let lanes: [(name: String, height: Double, body: (Double) -> [String])] = [
            ("state", 22, states), ("faults", faultHeight, faults),
            ("attempts", 16, { top in timeline.attempts.points.map { tick(x($0.at), top, 16, "#333") } }),
            ("round trip", 44, roundTrips), ("queued", 44, queued), ("sent", 54, messages),
        ]
        var lines: [String] = []
        var top = 8.0
        for (name, height, body) in lanes {
            lines.append(text(4, top + min(height, 22) / 2 + 4, name))
            lines += body(top)
            top += height + 12
        }
        lines += axis(top)
        let height = Int(top) + 30
        let begin = "<svg viewBox=\"0 0 \(Self.width) \(height)\" role=\"img\" aria-label=\"Timeline of the run\">"
        return ([begin, Self.definitions] + lines + ["</svg>"]).joined(separator: "\n")
    }

    private static let definitions = """
        <defs><pattern id="broken" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">\
        <rect width="6" height="6" fill="#f3d3d0"/><path d="M0 0V6" stroke="#8b1a1a" stroke-width="2"/></pattern></defs>
        """

    private func states(_ top: Double) -> [String] {
        timeline.states.flatMap { span -> [String] in
            let (from, to) = (x(span.from), x(span.to ?? timeline.end))
            let fill =
                switch span.what.state {
                case "connected" where span.what.isSilent: "#f2e3b3"
                case "connected": "#bfe3c6"
                case "suspended", "initialized": "#e4e4e4"
                default: "url(#broken)"
                }
            let name = MarkupText.escaped(span.what.name)
            let state = rectangle(
                from, top, max(1, to - from), 22, "fill=\"\(fill)\" stroke=\"#555\"", "<title>\(name)</title>")
            // Only if the word fits, and on white, since not every pattern leaves a word legible.
            let room = Double(span.what.name.count) * 7
            guard to - from > room + 10 else { return [state] }
            return [state, rectangle(from + 3, top + 4, room, 14, "fill=\"#fff\""), text(from + 5, top + 15, name)]
        }
    }

    private static let shownFaults = 24
    private var faultHeight: Double { max(16, Double(min(timeline.faults.count, Self.shownFaults)) * 18) }

    private func faults(_ top: Double) -> [String] {
        timeline.faults.prefix(Self.shownFaults).enumerated().flatMap { index, span -> [String] in
            let y = top + Double(index) * 18
            let (from, to) = (x(span.from), x(span.to ?? timeline.end))
            let words = MarkupText.escaped(span.what.words)
            let isLate = from > Self.right - 220
            return [
                rectangle(from, y, max(2, to - from), 14, "fill=\"#f2c46d\" stroke=\"#7a5200\""),
                text(isLate ? from - 5 : max(from, to) + 5, y + 11, words, isLate ? " text-anchor=\"end\"" : ""),
            ]
        }
    }

    private func roundTrips(_ top: Double) -> [String] {
        curve(timeline.roundTrips.points.map { ($0.at, $0.value.seconds) }, top, 44, steps: false) {
            "\(LabTime(seconds: $0) ?? .zero)"
        }
    }

    private func queued(_ top: Double) -> [String] {
        curve(timeline.queued.points.map { ($0.at, Double($0.value)) }, top, 44, steps: true) { "\(Int($0))" }
    }

    private func messages(_ top: Double) -> [String] {
        let marks = timeline.marks.points.map { point in
            switch point.value {
            case .sent: tick(x(point.at), top, 14, "#345")
            case .recovered: tick(x(point.at), top + 18, 14, "#1a6b8b")
            case .doubled: symbol(x(point.at), top + 42, "2", "twice")
            }
        }
        return marks + lost.map { symbol(x($0), top + 42, "×", "missing") }
            + [text(4, top + 29, "recovered"), text(4, top + 49, "in error")]
    }

    private func axis(_ top: Double) -> [String] {
        let line = "<path d=\"M\(Self.text(Self.left)) \(Self.text(top))H\(Self.text(Self.right))\" stroke=\"#555\"/>"
        return [line]
            + (0...4).flatMap { part -> [String] in
                let moment = LabTime(seconds: length * Double(part) / 4) ?? .zero
                let place = Self.left + (Self.right - Self.left) * Double(part) / 4
                let anchor = part == 0 ? "start" : part == 4 ? "end" : "middle"
                return [
                    tick(place, top, 5, "#555"),
                    text(place, top + 19, "\(moment.fixed(digits: 1)) s", " text-anchor=\"\(anchor)\""),
                ]
            }
    }

    private func x(_ moment: LabTime) -> Double {
        Self.left + (Self.right - Self.left) * min(1, max(0, moment.seconds / length))
    }

    private func tick(_ place: Double, _ top: Double, _ height: Double, _ color: String) -> String {
        "<path d=\"M\(Self.text(place)) \(Self.text(top))v\(Self.text(height))\" stroke=\"\(color)\"/>"
    }

    private func rectangle(
        _ left: Double, _ top: Double, _ width: Double, _ height: Int, _ attributes: String, _ content: String = ""
    ) -> String {
        "<rect x=\"\(Self.text(left))\" y=\"\(Self.text(top))\" width=\"\(Self.text(width))\" height=\"\(height)\" "
            + attributes + (content.isEmpty ? "/>" : ">\(content)</rect>")
    }

    private func text(_ place: Double, _ base: Double, _ words: String, _ attributes: String = "") -> String {
        "<text x=\"\(Self.text(place))\" y=\"\(Self.text(base))\"\(attributes)>\(words)</text>"
    }

    private func symbol(_ place: Double, _ base: Double, _ sign: String, _ words: String) -> String {
        text(place, base + 8, "<title>\(words)</title>\(sign)", " text-anchor=\"middle\" fill=\"#8b1a1a\"")
    }

    private func curve(
        _ points: [(at: LabTime, value: Double)], _ top: Double, _ height: Double, steps: Bool,
        words: (Double) -> String
    ) -> [String] {
        guard let highest = points.map(\.value).max() else { return [] }
        let scale = highest > 0 ? (height - 4) / highest : 0
        var path = ""
        for (index, point) in points.enumerated() {
            let (place, level) = (Self.text(x(point.at)), Self.text(top + height - point.value * scale))
            path += index == 0 ? "M\(place) \(level)" : steps ? "H\(place)V\(level)" : "L\(place) \(level)"
        }
        if steps { path += "H\(Self.text(x(timeline.end)))" }
        return [
            "<path d=\"\(path)\" fill=\"none\" stroke=\"#234\" stroke-width=\"1.5\"/>",
            text(4, top + 32, "up to \(words(highest))", " class=\"small\""),
        ]
    }

    /// A coordinate with one decimal.
    private static func text(_ value: Double) -> String {
        let tenths = Int((value * 10).rounded())
        return tenths.isMultiple(of: 10) ? "\(tenths / 10)" : "\(tenths / 10).\(abs(tenths % 10))"
    }
}
