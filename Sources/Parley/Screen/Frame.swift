import Relay
import Terminal

/// Draws the screen: a pure function of the model, the size and the time.
///
/// - Parameters:
///   - now: the monotonic time, for countdowns.
///   - texts: what earlier frames have broken into lines. With it or without, the frame is the same.
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
    /// Of the screen's size, once it is drawn on.
    var canvas = Canvas(size: Size(rows: 0, columns: 0))

    init(
        model: ChatModel, theme: Theme, layout: ScreenLayout, now: ContinuousClock.Instant, texts: WrappedTexts? = nil
    ) {
        self.model = model
        self.theme = theme
        self.layout = layout
        self.now = now
        self.texts = texts
    }

    fileprivate func draw() {
        canvas = Canvas(size: layout.size)
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

    /// Says what is wrong, on as many rows as there are; the cursor is hidden.
    private func drawTooSmall() {
        let needed = "\(ScreenLayout.minimum.columns)×\(ScreenLayout.minimum.rows)"
        let lines = SafeText("too small: \(needed) at least").wrapped(columns: layout.size.columns)
        for (row, line) in lines.prefix(layout.size.rows).enumerated() { canvas.write(line, row: row, column: 0) }
    }

    // MARK: Shared strokes

    /// A line across `area`'s first row, with words in it.
    func drawSeparator(_ words: SafeText, in area: Rect, words style: Style, rule: Style) {
        guard !area.isEmpty else { return }
        let line = Rect(row: area.row, column: area.column, rows: 1, columns: area.columns)
        canvas.fill(line, with: "─", style: rule)
        let room = area.columns - 6
        guard room > 0, !words.isEmpty else { return }
        let text = SafeText(" ") + words.truncated(columns: room) + SafeText(" ")
        canvas.write(text, row: area.row, column: area.column + 2, style: style)
    }
}
