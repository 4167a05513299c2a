extension LabTimeline {
    /// How many of the columns the names of the lanes take.
    public static func nameColumns(columns: Int) -> Int { columns < 44 ? 9 : 12 }

    /// The timeline up to a moment, nil for the newest event's; one line per lane, with space for a name and some
    /// cells.
    func strips(columns: Int, ascii: Bool = false, lost: [LabTime] = [], until now: LabTime? = nil) -> [String] {
        let name = Self.nameColumns(columns: columns)
        let strip = LabStrip(
            columns: max(6, columns - name - (columns < 44 ? 9 : 12)), ascii: ascii, end: max(now ?? end, end))
        func moments(_ mark: Mark) -> [LabTime] { marks.points.filter { $0.value == mark }.map(\.at) }
        let trips = roundTrips.points.map { (at: $0.at, value: Double($0.value.microseconds)) }
        let waiting = queued.points.map { (at: $0.at, value: Double($0.value)) }
        let tries = attempts.points.map(\.at)
        let longest = roundTrips.points.map(\.value).max().map { "\($0)" } ?? ""
        let most = queued.points.map(\.value).max().map { "\($0)" } ?? ""
        let lanes = [
            ("state", strip.states(states), ""),
            ("faults", strip.spans(faults.map { ($0.from, $0.to) }, over: ascii ? "." : "·", ascii ? "#" : "▓"), ""),
            (
                "attempts", strip.spans(tries.map { ($0, $0) }, over: " ", ascii ? "|" : "│"),
                tries.isEmpty ? "" : "\(tries.count)"
            ),
            ("round trip", strip.levels(trips, lasts: false), longest),
            ("queued", strip.levels(waiting, lasts: true), most),
            ("sent", strip.density(moments(.sent)), ""), ("recovered", strip.density(moments(.recovered)), ""),
            ("twice", strip.density(moments(.doubled)), ""), ("missing", strip.density(lost), ""),
        ]
        return lanes.map { lane, cells, words in
            let margin = String(repeating: " ", count: max(1, name - lane.count))
            return (lane + margin).prefix(name) + cells + (words.isEmpty ? "" : "  " + words)
        }
    }
}

/// Draws lanes in cells, each of which is a part of the time.
private struct LabStrip {
    let columns: Int
    let ascii: Bool
    let end: LabTime

    private func column(_ moment: LabTime) -> Int {
        let length = max(1, end.microseconds)
        let moment = min(max(0, moment.microseconds), length)
        return min(columns - 1, Int(Double(moment) / Double(length) * Double(columns)))
    }

    private func cells(_ from: LabTime, _ to: LabTime?) -> ClosedRange<Int> {
        column(from)...max(column(from), column(to ?? end))
    }

    /// The worst state of each cell, so that short ones do not vanish.
    func states(_ states: [LabTimeline.Span<LabStatus>]) -> String {
        var lane = [(rank: Int, cell: Character)](repeating: (0, " "), count: columns)
        for span in states {
            let (rank, cell): (Int, Character) =
                switch span.what.state {
                case "connected" where span.what.isSilent: (2, ascii ? "-" : "▓")
                case "connected": (1, ascii ? "=" : "█")
                case "initialized": (1, ascii ? "." : "·")
                case "suspended": (3, ascii ? "z" : "▒")
                case "disconnected": (5, ascii ? "X" : "×")
                default: (4, ascii ? "~" : "░")
                }
            for index in cells(span.from, span.to) where rank >= lane[index].rank { lane[index] = (rank, cell) }
        }
        return String(lane.map(\.cell))
    }

    func spans(_ spans: [(from: LabTime, to: LabTime?)], over empty: Character, _ filled: Character) -> String {
        var lane = [Character](repeating: empty, count: columns)
        for span in spans { for index in cells(span.from, span.to) { lane[index] = filled } }
        return String(lane)
    }

    func density(_ moments: [LabTime]) -> String {
        var counts = [Double](repeating: 0, count: columns)
        for moment in moments { counts[column(moment)] += 1 }
        return bars(counts)
    }

    /// The highest value of each cell; lasting ones count until the next.
    func levels(_ points: [(at: LabTime, value: Double)], lasts: Bool) -> String {
        var lane = [Double](repeating: 0, count: columns)
        for (index, point) in points.enumerated() {
            let next = index + 1 < points.count ? points[index + 1].at : end
            for cell in cells(point.at, lasts ? next : point.at) { lane[cell] = max(lane[cell], point.value) }
        }
        return bars(lane)
    }

    private func bars(_ values: [Double]) -> String {
        let levels: [Character] = Array(ascii ? "_.-=*#@%" : "▁▂▃▄▅▆▇█")
        guard let highest = values.max(), highest > 0 else { return String(repeating: " ", count: columns) }
        return String(
            values.map { value -> Character in
                value > 0 ? levels[min(levels.count - 1, Int(value / highest * Double(levels.count)))] : " "
            })
    }
}
