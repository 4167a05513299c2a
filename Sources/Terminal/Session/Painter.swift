import CTerminal

/// Brings ncurses's screen from one canvas to the next, writing only the cells that differ.
struct Painter {
    let palette: ColorPalette
    private let pairLimit: Int
    private let isUTF8: Bool
    private var inks: [Style: Ink] = [:]
    private var pairs: [ColorPair: Int32] = [:]
    private var shown: Canvas
    private var isCursorShown: Bool?
    var writesLinks = false
    /// The linked cells of the last frame that are still to be written.
    private var links: [LinkDifference.Run] = []
    /// If automatic margins cannot be switched off, ncurses writes the last cell of the last row one column too early
    /// and pushes it into place; after half of a wide character that fails.
    private let insertsCorner: Bool
    private var hasTooFewPairs = false
    private var frames = 0
    private var startsOver = false

    private static let framesBetweenColorResets = 300

    private struct Ink {
        var attributes: UInt32
        var pair: Int32
    }

    private struct ColorPair: Hashable {
        var foreground: Int32
        var background: Int32
    }

    init(size: Size, colors: Bool, isUTF8: Bool) {
        self.isUTF8 = isUTF8
        insertsCorner = cterminal_capability("rmam") == nil || cterminal_capability("smam") == nil
        shown = Canvas(size: size)
        let hasColors = colors && has_colors() && start_color() == OK
        if hasColors { use_default_colors() }
        palette = ColorPalette(count: hasColors ? Int(cterminal_colors()) : 0)
        pairLimit = hasColors ? min(Int(cterminal_color_pairs()), 4096) : 0
    }

    /// Starts over on a blank window of another size, or after the screen's content was lost.
    mutating func reset(size: Size) {
        werase(cterminal_standard_window())
        shown = Canvas(size: size)
        isCursorShown = nil
        startsOver = true
        cterminal_forget_screen()
    }

    /// Sets the cursor's visibility again: another program, or a signal handler, changed it behind ncurses's back.
    mutating func restoreCursor() {
        let isShown = isCursorShown ?? true
        curs_set(isShown ? 0 : 1)
        curs_set(isShown ? 1 : 0)
    }

    /// Writes the difference into ncurses; returns the number of cells that changed.
    mutating func draw(_ canvas: Canvas) -> Int {
        frames += 1
        if hasTooFewPairs, frames > Self.framesBetweenColorResets {
            (hasTooFewPairs, frames) = (false, 0)
            pairs.removeAll()
            inks.removeAll()
            reset(size: shown.size)
        }
        var canvas = canvas.size == shown.size ? canvas : Canvas(canvas, clippedTo: shown.size)
        if insertsCorner { canvas.narrowCornerNeighbour() }
        let difference = CanvasDifference(from: shown, to: canvas)
        for run in difference.runs {
            for column in run.columns { put(canvas[run.row, column], row: run.row, column: column) }
        }
        let hasLinks = writesLinks && !(canvas.links.isEmpty && shown.links.isEmpty)
        links = writesLinks ? LinkDifference(from: shown, to: canvas, difference).runs : []
        shown = canvas
        // A terminal moves cells with their links, of which ncurses knows nothing.
        idlok(cterminal_standard_window(), difference.rows > 3 && !hasLinks)
        idcok(cterminal_standard_window(), !hasLinks)
        placeCursor(canvas.cursor)
        wnoutrefresh(cterminal_standard_window())
        return difference.cells
    }

    private mutating func put(_ cell: Cell, row: Int, column: Int) {
        let width = cell.cluster.width
        guard width > 0 else { return }
        let ink = ink(for: cell.style)
        let (base, mark1, mark2, mark3, mark4) = drawable(cell.cluster)
        let row = Int32(row)
        let column = Int32(column)
        if width == 1 || isWide(base) {
            cterminal_put(row, column, base, mark1, mark2, mark3, mark4, ink.attributes, ink.pair)
        } else {
            // A flag's halves, or a substitute and a blank, have one column each for the C library.
            let second = base == 0xFFFD || base == 0x3F ? 0x20 : mark1
            cterminal_put(row, column, base, 0, 0, 0, 0, ink.attributes, ink.pair)
            cterminal_put(row, column + 1, second, 0, 0, 0, 0, ink.attributes, ink.pair)
        }
    }

    private func isWide(_ base: UInt32) -> Bool {
        base != 0xFFFD && base != 0x3F && !(0x1F1E6...0x1F1FF).contains(base)
    }

    /// The cluster's scalars, or a substitute if the C library disagrees about the width and would shift the row.
    private func drawable(_ cluster: Cluster) -> (UInt32, UInt32, UInt32, UInt32, UInt32) {
        let scalars = cluster.scalars
        let base = scalars.0
        if base < 0x7F, scalars.1 == 0 { return (base, 0, 0, 0, 0) }
        guard isUTF8 else { return (base < 0x7F ? base : 0x3F, 0, 0, 0, 0) }
        let expected = (0x1F1E6...0x1F1FF).contains(base) ? 1 : cluster.width
        return Int(cterminal_width(base)) == expected ? scalars : (0xFFFD, 0, 0, 0, 0)
    }

    /// What has to be sent before ncurses redraws everything: that all rows scroll. While the size changes, a terminal
    /// may be given a scroll region for a size that it no longer has. Some keep that region, so that what is drawn
    /// below it would push up what is above. While the shell's screen is shown this would move the shell's cursor;
    /// there ncurses sends it itself once its own screen is shown.
    mutating func takeResetBytes() -> [UInt8] {
        defer { startsOver = false }
        guard startsOver, !isendwin() else { return [] }
        return Self.collected { cterminal_capability_bytes("csr", 0, cterminal_lines() - 1, $0, $1) }
    }

    /// What has to be sent past ncurses after it has sent the frame: the linked cells again, between the sequences that
    /// make links of them, and the cursor back to where ncurses left it.
    mutating func takeLinkBytes() -> [UInt8] {
        guard !links.isEmpty else { return [] }
        defer { links = [] }
        let (row, column) = (cterminal_cursor_row(), cterminal_cursor_column())
        var bytes: [UInt8] = []
        for run in links {
            bytes += Self.placing(Int32(run.row), Int32(run.columns.lowerBound))
            if let target = run.target { bytes += target.opening }
            for column in run.columns {
                let cell = shown[run.row, column]
                bytes += attributes(ink(for: cell.style))
                bytes.append(cell.cluster.ascii)
            }
            if run.target != nil { bytes += LinkTarget.closing }
        }
        bytes += attributes(Ink(attributes: 0, pair: 0))
        return bytes + Self.placing(row, column)
    }

    private static func placing(_ row: Int32, _ column: Int32) -> [UInt8] {
        collected { cterminal_capability_bytes("cup", row, column, $0, $1) }
    }

    /// Empty if the terminal has these attributes already.
    private func attributes(_ ink: Ink) -> [UInt8] {
        Self.collected { cterminal_attribute_bytes(ink.attributes, ink.pair, $0, $1) }
    }

    private static func collected(_ write: (UnsafeMutablePointer<UInt8>?, Int) -> Int) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: 256) { buffer, count in
            count = write(buffer.baseAddress, buffer.count)
        }
    }

    private mutating func placeCursor(_ cursor: Position?) {
        let place = cursor.flatMap { shown.bounds.contains($0) ? $0 : nil }
        if isCursorShown != (place != nil) {
            isCursorShown = place != nil
            curs_set(place == nil ? 0 : 1)
        }
        if let place { wmove(cterminal_standard_window(), Int32(place.row), Int32(place.column)) }
    }

    // MARK: colours

    private mutating func ink(for style: Style) -> Ink {
        var style = style
        style.link = 0
        if let ink = inks[style] { return ink }
        let foreground = palette.index(of: style.foreground)
        let background = palette.index(of: style.background)
        var attributes: UInt32 = 0
        if style.attributes.contains(.bold) || foreground.needsBold { attributes |= cterminal_attribute_bold() }
        if style.attributes.contains(.dim) { attributes |= cterminal_attribute_dim() }
        if style.attributes.contains(.italic) { attributes |= cterminal_attribute_italic() }
        if style.attributes.contains(.underline) { attributes |= cterminal_attribute_underline() }
        if style.attributes.contains(.reverse) { attributes |= cterminal_attribute_reverse() }
        let pair = pair(ColorPair(foreground: foreground.number, background: background.number))
        let ink = Ink(attributes: attributes, pair: pair)
        if inks.count >= 8192 { inks.removeAll() }
        inks[style] = ink
        return ink
    }

    private mutating func pair(_ colors: ColorPair) -> Int32 {
        if colors.foreground == -1, colors.background == -1 { return 0 }
        if let pair = pairs[colors] { return pair }
        // Once all pairs are in use, new ones are drawn plain until a later frame starts over.
        let number = Int32(pairs.count + 1)
        guard number < pairLimit, cterminal_define_pair(number, colors.foreground, colors.background) else {
            hasTooFewPairs = pairLimit > 1
            return 0
        }
        pairs[colors] = number
        return number
    }
}
