import Relay
import Terminal

/// Draws the screen: a pure function of the model, the size and the time.
///
/// - Parameters:
///   - now: the monotonic time, for countdowns.
///   - texts: lines that earlier frames have wrapped. The frame is the same with and without it.
func render(
    _ model: ChatModel, size: Size, now: ContinuousClock.Instant, theme: Theme = .standard, texts: WrappedTexts? = nil
) -> Canvas {
    let frame = Frame(model: model, theme: theme, layout: model.layout(on: size), now: now, texts: texts)
    frame.draw()
    if let substitutes = theme.substitutes { frame.canvas.substitute(substitutes) }
    return frame.canvas
}

/// One frame being drawn; each part of the screen is an extension in its own file.
final class Frame {
    let model: ChatModel
    let theme: Theme
    let layout: ScreenLayout
    let now: ContinuousClock.Instant
    let texts: WrappedTexts?
    var canvas: Canvas
    /// The names of the sidebar's topics that may have to be cut; not computed if all fit.
    lazy var namesInSidebar: [SafeText] = longTopicNames

    init(
        model: ChatModel, theme: Theme, layout: ScreenLayout, now: ContinuousClock.Instant, texts: WrappedTexts? = nil
    ) {
        self.model = model
        self.theme = theme
        self.layout = layout
        self.now = now
        self.texts = texts
        canvas = Canvas(size: layout.size)
    }

    fileprivate func draw() {
        guard layout.size.rows > 0, layout.size.columns > 0 else { return }
        guard !layout.isTooSmall else { return drawTooSmall() }
        drawTitle()
        model.mainPane.draw(in: self)
        if let divider = layout.divider {
            canvas.fill(divider, with: "│", style: theme.rule)
        }
        SidebarPane().draw(in: self)
        drawTour()
        drawRule()
        ComposePane().draw(in: self)
        drawHint()
        drawOverlay()
    }

    private func drawTooSmall() {
        let needed = "\(ScreenLayout.minimum.columns)×\(ScreenLayout.minimum.rows)"
        let lines = SafeText("too small: \(needed) at least").wrapped(columns: layout.size.columns)
        write(lines, in: Rect(layout.size), indent: 0)
    }

    /// Writes as many of the lines as fit, from a column of `area` on.
    func write(_ lines: [SafeText], in area: Rect, indent: Int = 1, style: Style = .plain) {
        for (offset, line) in lines.prefix(area.rows).enumerated() {
            canvas.write(line, row: area.row + offset, column: area.column + indent, style: style)
        }
    }

    func drawSelection(_ row: Rect) { canvas.restyle(row) { $0 = theme.selection(over: $0) } }

    /// Draws a line across `area`'s first row, with words in it.
    func drawSeparator(_ words: SafeText, in area: Rect, words style: Style, rule: Style) {
        guard !area.isEmpty else { return }
        canvas.fill(area.line(0), with: "─", style: rule)
        let room = area.columns - 6
        guard room > 0, !words.isEmpty else { return }
        var column = area.column + 2
        column += canvas.write(" ", row: area.row, column: column, style: style)
        column += canvas.write(words.truncated(columns: room), row: area.row, column: column, style: style)
        canvas.write(" ", row: area.row, column: column, style: style)
    }
}

extension Rect {
    /// The row at `offset`, counted from 0.
    func line(_ offset: Int) -> Rect { Rect(row: row + offset, column: column, rows: 1, columns: columns) }
}
