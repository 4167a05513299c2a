extension SafeText {
    /// The longest beginning that fits into `columns`; a wide character that would stick out is left out.
    public func prefix(columns: Int) -> SafeText {
        if width <= columns { return self }
        var used = 0
        var end = 0
        while end < clusters.count, used + clusters[end].width <= columns {
            used += clusters[end].width
            end += 1
        }
        return SafeText(clusters: Array(clusters[..<end]), width: used)
    }

    /// The longest end that fits into `columns`.
    public func suffix(columns: Int) -> SafeText {
        if width <= columns { return self }
        var used = 0
        var start = clusters.count
        while start > 0, used + clusters[start - 1].width <= columns {
            used += clusters[start - 1].width
            start -= 1
        }
        return SafeText(clusters: Array(clusters[start...]), width: used)
    }

    /// The text right of the first `columns`; the right half of a wide character that is cut becomes a space.
    public func dropFirst(columns: Int) -> SafeText {
        guard columns > 0 else { return self }
        var passed = 0
        var start = 0
        while start < clusters.count, passed < columns {
            passed += clusters[start].width
            start += 1
        }
        let rest = SafeText(clusters: Array(clusters[start...]), width: max(0, width - passed))
        return passed > columns ? SafeText.spaces(passed - columns) + rest : rest
    }

    /// The text in at most `columns`, with an ellipsis at the end if it was cut.
    public func truncated(columns: Int) -> SafeText {
        if width <= columns { return self }
        guard columns > 0 else { return .empty }
        var text = prefix(columns: columns - 1)
        text.append(Cluster(base: 0x2026, width: 1))
        return text
    }

    /// The text in at most `columns`, with an ellipsis in its middle if it was cut, so that texts with the same
    /// beginning stay distinct. With fewer than three columns, the end is cut.
    public func shortened(columns: Int) -> SafeText {
        if width <= columns { return self }
        guard columns >= 3 else { return truncated(columns: columns) }
        var text = prefix(columns: columns / 2)
        text.append(Cluster(base: 0x2026, width: 1))
        return text + suffix(columns: columns - text.width)
    }

    /// The text in exactly `columns`: cut with an ellipsis, or padded with spaces on its right.
    public func padded(columns: Int) -> SafeText {
        let text = truncated(columns: columns)
        return text + .spaces(columns - text.width)
    }

    /// Breaks the text into lines of at most `columns`, between words if possible. A wide character that is wider than
    /// the line has a line of its own. There is always at least one line; `columns` below 1 count as 1.
    public func wrapped(columns: Int) -> [SafeText] {
        if width <= max(1, columns) { return [self] }
        return lineBreaks(columns: columns).map { part($0) }
    }

    /// The lines that `wrapped(columns:)` breaks the text into, as ranges of `clusters`. The space at a break is in no
    /// line.
    ///
    /// - Parameter indent: the columns by which all lines but the first are shorter.
    public func lineBreaks(columns: Int, indent: Int = 0) -> [Range<Int>] {
        let whole = max(1, columns)
        if width <= whole { return [0..<clusters.count] }
        var lines: [Range<Int>] = []
        var start = 0
        var used = 0
        var lastBlank: Int?
        // Leading spaces are an indentation, not a place to break.
        var isBegun = false
        for (place, cluster) in clusters.enumerated() {
            var room: Int { lines.isEmpty ? whole : max(1, whole - indent) }
            if used + cluster.width > room, place > start {
                if cluster.isBlank {
                    // The space at the break is the break.
                    lines.append(start..<place)
                    (start, used, lastBlank, isBegun) = (place + 1, 0, nil, false)
                    continue
                }
                if let blank = lastBlank {
                    lines.append(start..<blank)
                    start = blank + 1
                    used = clusters[start..<place].reduce(0) { $0 + $1.width }
                    isBegun = start < place
                } else {
                    lines.append(start..<place)
                    (start, used, isBegun) = (place, 0, false)
                }
                lastBlank = nil
            }
            // Two wide characters can still be too many after a carried-over word.
            if used + cluster.width > room, place > start {
                lines.append(start..<place)
                (start, used, isBegun) = (place, 0, false)
            }
            if !cluster.isBlank { isBegun = true } else if isBegun { lastBlank = place }
            used += cluster.width
        }
        lines.append(start..<clusters.count)
        return lines
    }

    /// The text of a range of its clusters.
    public func part(_ places: Range<Int>) -> SafeText {
        places == clusters.indices ? self : SafeText(clusters[places.clamped(to: clusters.indices)])
    }

    private init(_ slice: ArraySlice<Cluster>) {
        self.init(clusters: Array(slice), width: slice.reduce(0) { $0 + $1.width })
    }
}
