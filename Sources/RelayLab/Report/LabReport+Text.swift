extension LabReport {
    /// The report as lines for a terminal of so many columns: no colours, nothing that moves the cursor.
    ///
    /// - Parameter ascii: whether nothing but ASCII is drawn with.
    public func lines(columns: Int = 80, ascii: Bool = false) -> [String] {
        var lines = ["\(MarkupText.plain(title)): \(outcome)", MarkupText.plain(circumstances), ""]
        lines += strips(columns: max(40, columns), ascii: ascii)
        lines.append("")
        let longest = rows.map(\.words.count).max() ?? 0
        lines += rows.map { _, words, value in
            words + String(repeating: " ", count: longest - words.count + 2) + (ascii && value == "–" ? "-" : value)
        }
        if !verdict.findings.isEmpty {
            lines.append("")
            lines += verdict.findings.map { MarkupText.plain($0.words) }
        }
        return ascii ? lines.map(Self.ascii) : lines
    }

    /// The timeline alone, a lane each line.
    public func strips(columns: Int, ascii: Bool = false) -> [String] {
        run.timeline.strips(columns: columns, ascii: ascii, lost: run.timesOfLost)
    }

    private static func ascii(_ line: String) -> String {
        String(line.map { $0.isASCII ? $0 : $0 == "·" ? "-" : "?" })
    }
}

extension LabTimeline {
    /// How many columns the names of the lanes take in lines of so many.
    public static func nameColumns(columns: Int) -> Int { columns < 44 ? 9 : 12 }

    /// The timeline as lines for a terminal, a lane each.
    ///
    /// - Parameters:
    ///   - columns: so many columns each takes at most, though not less than a name and some cells need.
    ///   - ascii: whether nothing but ASCII is drawn with.
    ///   - lost: when those messages were sent that were lost.
    ///   - now: the moment up to which it is drawn; nil for the newest event's.
    public func strips(columns: Int, ascii: Bool = false, lost: [LabTime] = [], until now: LabTime? = nil) -> [String] {
        let name = Self.nameColumns(columns: columns)
        let strip = LabStrip(self, columns: max(6, columns - name - (columns < 44 ? 9 : 12)), ascii: ascii, until: now)
        var lanes = [("state", strip.states, ""), ("faults", strip.faults, "")]
        lanes.append(("attempts", strip.attempts, attempts.points.isEmpty ? "" : strip.attemptCount))
        lanes.append(("round trip", strip.roundTrips, strip.longestRoundTrip))
        lanes.append(("queued", strip.queued, strip.mostQueued))
        lanes.append(("sent", strip.density(.sent), ""))
        lanes.append(("recovered", strip.density(.recovered), ""))
        lanes.append(("twice", strip.density(.doubled), ""))
        lanes.append(("missing", strip.density(lost), ""))
        return lanes.map { lane, cells, words in
            let margin = String(repeating: " ", count: max(1, name - lane.count))
            return (lane + margin).prefix(name) + cells + (words.isEmpty ? "" : "  " + words)
        }
    }
}

/// A timeline in cells of a terminal: each cell is a part of the time.
struct LabStrip {
    private let timeline: LabTimeline
    private let columns: Int
    private let ascii: Bool
    private let length: Int64

    private let end: LabTime

    /// - Parameter now: the moment up to which it is drawn; nil for the newest event's.
    init(_ timeline: LabTimeline, columns: Int, ascii: Bool, until now: LabTime? = nil) {
        self.timeline = timeline
        self.columns = columns
        self.ascii = ascii
        end = max(now ?? timeline.end, timeline.end)
        length = max(1, end.microseconds)
    }

    private func column(_ moment: LabTime) -> Int {
        let moment = min(max(0, moment.microseconds), length)
        return min(columns - 1, Int(Double(moment) / Double(length) * Double(columns)))
    }

    /// The worst state of each cell: what is short must not vanish.
    var states: String {
        var cells = [(rank: Int, cell: Character)](repeating: (0, " "), count: columns)
        for stretch in timeline.states {
            let (rank, cell): (Int, Character) =
                switch stretch.status.state {
                case "connected" where stretch.status.isSilent: (2, ascii ? "-" : "▓")
                case "connected": (1, ascii ? "=" : "█")
                case "initialized": (1, ascii ? "." : "·")
                case "suspended": (3, ascii ? "z" : "▒")
                case "disconnected": (5, ascii ? "X" : "×")
                default: (4, ascii ? "~" : "░")
                }
            for index in column(stretch.from)...max(column(stretch.from), column(stretch.to ?? end))
            where rank >= cells[index].rank {
                cells[index] = (rank, cell)
            }
        }
        return String(cells.map(\.cell))
    }

    var faults: String {
        var cells = [Character](repeating: ascii ? "." : "·", count: columns)
        for fault in timeline.faults {
            for index in column(fault.from)...max(column(fault.from), column(fault.to ?? end)) {
                cells[index] = ascii ? "#" : "▓"
            }
        }
        return String(cells)
    }

    var attempts: String {
        var cells = [Character](repeating: " ", count: columns)
        for point in timeline.attempts.points { cells[column(point.at)] = ascii ? "|" : "│" }
        return String(cells)
    }

    var attemptCount: String { "\(timeline.attempts.points.count)" }

    var roundTrips: String {
        levels(timeline.roundTrips.points.map { ($0.at, Double($0.value.microseconds)) }, lasts: false)
    }

    var longestRoundTrip: String { timeline.roundTrips.points.map(\.value).max().map { "\($0)" } ?? "" }

    var queued: String { levels(timeline.queued.points.map { ($0.at, Double($0.value)) }, lasts: true) }

    var mostQueued: String { timeline.queued.points.map(\.value).max().map { "\($0)" } ?? "" }

    /// How many of a kind there were in each cell.
    func density(_ mark: LabTimeline.Mark) -> String {
        density(timeline.marks.points.lazy.filter { $0.value == mark }.map(\.at))
    }

    /// How many of these moments there are in each cell.
    func density(_ moments: some Sequence<LabTime>) -> String {
        var counts = [Double](repeating: 0, count: columns)
        for moment in moments { counts[column(moment)] += 1 }
        return bars(counts)
    }

    /// The highest value of each cell.
    ///
    /// - Parameter lasts: whether a value counts until the next one.
    private func levels(_ points: [(at: LabTime, value: Double)], lasts: Bool) -> String {
        var cells = [Double](repeating: 0, count: columns)
        for (index, point) in points.enumerated() {
            let first = column(point.at)
            let next = index + 1 < points.count ? column(points[index + 1].at) : columns - 1
            for cell in first...max(first, lasts ? next : first) { cells[cell] = max(cells[cell], point.value) }
        }
        return bars(cells)
    }

    private func bars(_ values: [Double]) -> String {
        let levels: [Character] = Array(ascii ? "_.-=*#@%" : "▁▂▃▄▅▆▇█")
        guard let highest = values.max(), highest > 0 else { return String(repeating: " ", count: columns) }
        return String(
            values.map { value -> Character in
                guard value > 0 else { return " " }
                return levels[min(levels.count - 1, Int(value / highest * Double(levels.count)))]
            })
    }
}
