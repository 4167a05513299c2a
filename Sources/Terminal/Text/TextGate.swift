/// The gate's state while a text passes through it, scalar by scalar, so that the result depends on nothing else.
struct TextGate {
    private var line = SafeText.empty
    private var current: Cluster?
    private var lastClass: UInt8 = 0
    private var isJoined = false
    private var endsWithReturn = false

    private static let tabStop = 4

    mutating func line(_ text: String) -> SafeText {
        if let plain = Self.plain(text) { return plain }
        for scalar in text.unicodeScalars {
            if breaksLine(scalar) { begin(.blank) } else { pass(scalar, expandsTabs: false) }
        }
        return takeLine()
    }

    mutating func lines(_ text: String) -> [SafeText] {
        if let plain = Self.plain(text) { return [plain] }
        var lines: [SafeText] = []
        for scalar in text.unicodeScalars {
            if breaksLine(scalar) { lines.append(takeLine()) } else { pass(scalar, expandsTabs: true) }
        }
        lines.append(takeLine())
        return lines
    }

    /// A shortcut for characters that stand alone, whose properties need not be looked up.
    private static func plain(_ text: String) -> SafeText? {
        var clusters: [Cluster] = []
        clusters.reserveCapacity(text.utf8.count)
        for scalar in text.unicodeScalars {
            guard TextWidth.isPlain(scalar.value) else { return nil }
            clusters.append(Cluster(base: scalar.value, width: 1))
        }
        return SafeText(clusters: clusters, width: clusters.count)
    }

    /// Whether a line ends with a scalar; CR LF ends one line.
    private mutating func breaksLine(_ scalar: Unicode.Scalar) -> Bool {
        let isSecondHalf = scalar == "\n" && endsWithReturn
        endsWithReturn = scalar == "\r"
        return scalar.breaksLine && !isSecondHalf
    }

    private mutating func pass(_ scalar: Unicode.Scalar, expandsTabs: Bool) {
        switch TextWidth.kind(of: scalar) {
        case .dropped, .lineBreak: break
        case .tab:
            begin(.blank)
            while expandsTabs, (line.width + 1) % Self.tabStop != 0 { begin(.blank) }
        case .blank: begin(.blank)
        case .joiner: isJoined = current.map { TextWidth.isPictograph($0.base) } ?? false
        case .mark: put(mark: scalar)
        case .regionalIndicator: putFlagHalf(scalar.value)
        case .unknown: begin(.replacement)
        case .base(let width): put(base: scalar.value, width: width)
        }
    }

    private mutating func put(base: UInt32, width: Int) {
        if let previous = current {
            if isJoined, TextWidth.isPictograph(base) {
                isJoined = false
                return
            }
            if TextWidth.isSkinTone(base), TextWidth.isPictograph(previous.base) { return }
            // Some vowel signs of Indic scripts take a column of their own but still compose.
            if previous.count == 1, (0x9BE...0x1B35).contains(base),
                let composed = Composition.compose(previous.base, base)
            {
                current = Cluster(base: composed, width: previous.width)
                return
            }
        }
        begin(Cluster(base: base, width: width))
    }

    private mutating func putFlagHalf(_ value: UInt32) {
        if var flag = current, flag.count == 1, (0x1F1E6...0x1F1FF).contains(flag.base), flag.width == 1 {
            flag = Cluster(base: flag.base, width: 2)
            _ = flag.append(value)
            current = flag
        } else {
            begin(Cluster(base: value, width: 1))
        }
    }

    private mutating func put(mark: Unicode.Scalar) {
        // A mark at the beginning has nothing to combine with; U+25CC is the customary placeholder.
        var cluster = current ?? Cluster(base: 0x25CC, width: 1)
        let markClass = mark.properties.canonicalCombiningClass.rawValue
        let isBlocked = cluster.count > 1 && (lastClass == 0 || lastClass >= markClass)
        if (0x1F1E6...0x1F1FF).contains(cluster.base) { return }
        if !isBlocked, let composed = Composition.compose(cluster.base, mark.value) {
            cluster = cluster.replacing(base: composed)
        } else if cluster.append(mark.value) {
            lastClass = markClass
        }
        current = cluster
    }

    private mutating func begin(_ cluster: Cluster) {
        if let current { line.append(current) }
        current = cluster
        lastClass = 0
        isJoined = false
    }

    private mutating func takeLine() -> SafeText {
        if let current { line.append(current) }
        defer { (line, current, lastClass, isJoined) = (.empty, nil, 0, false) }
        return line
    }
}
